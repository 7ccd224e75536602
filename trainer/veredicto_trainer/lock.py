"""One trainer at a time in an output folder: two would write into each other's logs, recordings and checkpoints."""

from __future__ import annotations

import errno
import fcntl
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from veredicto_trainer.errors import CheckpointFault

FILE = ".lock"
WITHOUT_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)
"""What file systems answer that have no locks, some network ones."""

log = logging.getLogger(__name__)


@contextmanager
def sole_trainer(output: Path) -> Iterator[None]:
    """Hold an output folder, which is made if it is missing; the kernel lets go of it however the process ends.

    Raises:
        CheckpointFault: another trainer holds it.
    """
    output.mkdir(parents=True, exist_ok=True)
    with (output / FILE).open("a") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise CheckpointFault(
                f"another trainer is at work in {output}; wait until it has ended, or choose another output"
            ) from error
        except OSError as error:
            if error.errno not in WITHOUT_LOCKS:
                raise
            log.warning("the file system of %s has no locks: see to it that no other trainer works there", output)
        yield
