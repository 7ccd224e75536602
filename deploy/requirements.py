"""Print the requirements of some extras of pyproject.toml, so that an image installs them before the sources.

python3 requirements.py pyproject.toml verifier[,dev…]
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path


def requirements(pyproject: Path, extras: list[str]) -> list[str]:
    """The project's own requirements and those of the extras."""
    project = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]
    return [*project["dependencies"], *(line for extra in extras for line in project["optional-dependencies"][extra])]


if __name__ == "__main__":
    print("\n".join(requirements(Path(sys.argv[1]), sys.argv[2].split(","))))  # noqa: T201
