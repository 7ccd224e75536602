"""A folder that is written twice is the old one or the new one, never half of either."""

from __future__ import annotations

from pathlib import Path

import pytest

from veredicto_trainer.checkpoints import write_folder
from veredicto_trainer.errors import CheckpointFault


def fill(text: str, folder: Path) -> None:
    (folder / "weights").write_text(text, encoding="utf-8")


def test_a_folder_of_the_same_name_is_replaced_and_nothing_else_is_left(tmp_path: Path) -> None:
    for text in ("old", "new"):
        write_folder(tmp_path / "step-1", lambda folder, text=text: fill(text, folder))  # type: ignore[misc]
    assert [path.name for path in tmp_path.iterdir()] == ["step-1"]
    assert (tmp_path / "step-1" / "weights").read_text(encoding="utf-8") == "new"


def test_an_old_folder_survives_whole_when_the_new_one_cannot_be_written(tmp_path: Path) -> None:
    write_folder(tmp_path / "step-1", lambda folder: fill("old", folder))

    def refuse(folder: Path) -> None:
        fill("half", folder)
        raise OSError(28, "No space left on device")

    with pytest.raises(CheckpointFault, match="No space left"):
        write_folder(tmp_path / "step-1", refuse)
    assert [path.name for path in tmp_path.iterdir()] == ["step-1"]
    assert (tmp_path / "step-1" / "weights").read_text(encoding="utf-8") == "old"
