"""A killed process, a full disk, a broken store: no answered record is lost, nothing is answered without one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.ledger.entries import record, scored, segment_files
from veredicto_verifier.errors import LedgerUnavailable
from veredicto_verifier.ledger.lines import RecordId, hash_of
from veredicto_verifier.ledger.reading import LedgerReader
from veredicto_verifier.ledger.verification import verify

ROOT = Path(__file__).parent.parent.parent

APPEND_FOREVER = """
import asyncio, sys
from pathlib import Path
from tests.ledger.entries import open_writer, scored

async def client(writer, first):
    for number in range(first, 1_000_000):
        for record in await writer.append([scored(number), scored(number + 1)]):
            print(record, flush=True)

async def main():
    writer = open_writer(Path(sys.argv[1]), segment_bytes=4_000)
    await asyncio.gather(*(client(writer, 1000 * client_number) for client_number in range(3)))

asyncio.run(main())
"""

FILL_THE_DISK = """
import asyncio, resource, sys
from pathlib import Path
from tests.ledger.entries import open_writer, scored
from veredicto_verifier.errors import LedgerUnavailable

def limit(num_bytes):
    resource.setrlimit(resource.RLIMIT_FSIZE, (num_bytes, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))

async def main():
    writer = open_writer(Path(sys.argv[1]))
    limit(int(sys.argv[2]))
    refused = answered = 0
    for number in range(400):
        try:
            step = number if sys.argv[3] == "texts" else 0  # the same texts again: then it is the segment that fills
            for record in await writer.append([scored(step), scored(step + 1, completion=f"{step}" * 60)]):
                print(record)
            answered += 1
        except LedgerUnavailable:
            refused += 1
            assert not writer.healthy
            if refused == 3:
                break
    assert answered > 0 and refused == 3, (answered, refused)
    limit(1 << 30)
    await writer.append([])
    assert writer.healthy
    for record in await writer.append([scored(9), scored(10)]):
        print(record)
    writer.close()

asyncio.run(main())
"""


def started(script: str, *arguments: str) -> subprocess.Popen[str]:
    paths = os.pathsep.join(str(ROOT / name) for name in ("", "proto", "services"))
    return subprocess.Popen(
        [sys.executable, "-c", script, *arguments],
        env={**os.environ, "PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def is_recorded(folder: Path, name: str) -> bool:
    position = RecordId.parse(name)
    path = folder / "ledger" / f"{position.writer}-{position.segment:06d}.jsonl"
    line = path.read_bytes().splitlines()[position.seq]
    return RecordId.of(*position[:3], hash_of(line)) == position


@pytest.mark.parametrize("num_answers", [1, 7, 60, 200])
def test_a_kill_in_the_middle_of_appending_loses_no_answered_record(tmp_path: Path, num_answers: int) -> None:
    answered = []
    for _ in range(2):
        with started(APPEND_FOREVER, str(tmp_path)) as process:
            assert process.stdout is not None
            for _ in range(num_answers):
                answered.append(process.stdout.readline().strip())
            process.kill()
            answered += [name for name in process.stdout.read().split("\n") if name.count("-") == 3 and len(name) > 30]
    whole = [name for name in answered if len(name.split("-")[-1]) == 16]
    assert len(whole) >= 2 * num_answers
    found = verify(tmp_path)
    assert found.faults == []
    assert [name for name in whole if not is_recorded(tmp_path, name)] == []
    assert verify(tmp_path, head=whole[-1]).holds
    more = record(tmp_path, [scored(1)])
    assert verify(tmp_path, head=more[0]).writers == 3
    assert LedgerReader(tmp_path).runs()[0].records >= len(whole)


@pytest.mark.parametrize(
    ("num_bytes", "what"), [(40_000, "texts"), (60_000, "texts"), (42_000, "segment"), (50_001, "segment")]
)
def test_a_full_disk_refuses_and_later_goes_on_in_the_same_chain(tmp_path: Path, num_bytes: int, what: str) -> None:
    with started(FILL_THE_DISK, str(tmp_path), str(num_bytes), what) as process:
        output, errors = process.communicate(timeout=100)
    assert process.returncode == 0, errors
    answered = output.split()
    found = verify(tmp_path, head=answered[-1])
    assert found.faults == []
    assert found.notes == []
    assert [name for name in answered if not is_recorded(tmp_path, name)] == []
    assert found.records == len(answered)
    assert len(segment_files(tmp_path)) == (4 if what == "segment" else 1)


def test_a_broken_text_store_refuses_to_start(tmp_path: Path) -> None:
    (tmp_path / "texts.sqlite").write_bytes(b"this is no database, but long enough to look like one" * 100)
    with pytest.raises(LedgerUnavailable, match="cannot be written"):
        record(tmp_path, [scored(1)])
    assert segment_files(tmp_path) == []
