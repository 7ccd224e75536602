"""Packs are loaded line by line, named by content, found by ref, listed without gold, and checked."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.packs_on_disk import MANIFEST, VERIFIERS, task, write_pack
from veredicto_verifier.errors import InvalidRequest, NotFound, PackFault, TaskFault
from veredicto_verifier.packs.checking import check_pack
from veredicto_verifier.packs.exporting import export_folder, score_items
from veredicto_verifier.packs.loading import PACK_NAME, SPLIT_NAME, TASK_ID, load_pack
from veredicto_verifier.packs.pack import Pack
from veredicto_verifier.packs.shelf import REF, Shelf
from veredicto_verifier.verifiers import all_criteria


def loaded(folder: Path, **files: str | bytes) -> Pack:
    names = {name.replace("__", "/").replace("_jsonl", ".jsonl"): content for name, content in files.items()}
    return load_pack(write_pack(folder, names), VERIFIERS)


def shelf_of(folder: Path, files: dict[str, str | bytes], *more: Path) -> Shelf:
    return Shelf.load([write_pack(folder, files), *more], cache=None, verifiers=VERIFIERS)


BROKEN_LINES = {
    "not-json": (b'{"id": ', "task.malformed"),
    "not-utf8": (b'{"id": "x\xff"}', "task.malformed"),
    "not-an-object": (b"[1, 2]", "task.malformed"),
    "nan": (b'{"id": NaN}', "task.malformed"),
    "infinite": (b'{"id": "a", "difficulty": 1e999}', "task.malformed"),
    "lone-surrogate": (task("a", prompt="x").replace("x", "\\ud800").encode(), "task.malformed"),
    "deep": (b"[" * 100_000, "task.malformed"),
    "no-prompt": (task("a", prompt=None).encode(), "task.malformed"),
    "two-prompts": (task("a", messages=[{"role": "user", "content": "?"}]).encode(), "task.malformed"),
    "no-messages": (task("a", prompt=None, messages=[]).encode(), "task.malformed"),
    "bad-id": (task("a/b").encode(), "task.malformed"),
    "unknown-field": (task("a", catgory="x").encode(), "task.malformed"),
    "unknown-verifier": (task("a", verifier="sqll").encode(), "task.unknown_verifier"),
    "bad-spec": (task("a", spec={"answer": 7}).encode(), "task.spec_invalid"),
    "unknown-fixture": (task("a", spec={"answer": "1", "fixtures": ["small/none"]}).encode(), "task.unknown_fixture"),
    "foreign-fixture": (task("a", spec={"answer": "1", "fixtures": ["other/bank"]}).encode(), "task.unknown_fixture"),
    "taken-id": (task("good").encode(), "task.malformed"),
}


@pytest.mark.parametrize(("line", "code"), BROKEN_LINES.values(), ids=BROKEN_LINES)
def test_a_broken_line_is_refused_alone(tmp_path: Path, line: bytes, code: str) -> None:
    lines = b"\n".join([task("good").encode(), line, task("also-good").encode()])
    pack = loaded(tmp_path / "p", tasks__train_jsonl=lines)
    assert list(pack.tasks["train"]) == ["good", "also-good"]
    assert [(refusal.where, refusal.code) for refusal in pack.refused] == [("tasks/train.jsonl:2", code)]
    assert 10 < len(pack.refused[0].message) < 400


BROKEN_PACKS = {
    "no-manifest": {"pack.toml": None, "notes.txt": ""},
    "not-toml": {"pack.toml": "name = "},
    "not-utf8": {"pack.toml": b'name = "\xff"'},
    "no-version": {"pack.toml": 'name = "small"\nlicence = "CC0"\nlanguage = "en"\n'},
    "bad-name": {"pack.toml": MANIFEST.replace("small", "Small Pack")},
    "unknown-field": {"pack.toml": MANIFEST + 'lang = "en"\n'},
}


@pytest.mark.parametrize("files", BROKEN_PACKS.values(), ids=BROKEN_PACKS)
def test_a_pack_without_a_readable_manifest_is_skipped(tmp_path: Path, files: dict[str, str | None]) -> None:
    folder = write_pack(tmp_path / "bad", {name: text for name, text in files.items() if text is not None})
    if files["pack.toml"] is None:
        (folder / "pack.toml").unlink()
    with pytest.raises(PackFault, match=r"pack\.toml"):
        load_pack(folder, VERIFIERS)
    shelf = shelf_of(tmp_path / "good", {"tasks/test.jsonl": task("1")}, folder)
    assert "small" in shelf.packs
    assert len(shelf.faults) == 1
    assert str(folder) in shelf.faults[0]


def test_a_second_pack_of_a_name_is_skipped(tmp_path: Path) -> None:
    second = write_pack(tmp_path / "second", {"tasks/test.jsonl": task("2")})
    shelf = shelf_of(tmp_path / "first", {"tasks/test.jsonl": task("1")}, second)
    assert list(shelf.packs["small"].tasks["test"]) == ["1"]
    assert "loaded from" in shelf.faults[0]


def test_a_folder_of_packs_is_taken_apart(tmp_path: Path) -> None:
    write_pack(tmp_path / "all" / "one", {"pack.toml": MANIFEST.replace("small", "one")})
    write_pack(tmp_path / "all" / "two", {"pack.toml": MANIFEST.replace("small", "two")})
    shelf = Shelf.load([tmp_path / "all", tmp_path / "none"], cache=None, verifiers=VERIFIERS)
    assert {"one", "two"} <= set(shelf.packs)
    assert "nor a folder of packs" in shelf.faults[0]


def test_a_link_out_of_the_pack_is_a_fault(tmp_path: Path) -> None:
    folder = write_pack(tmp_path / "p", {})
    (tmp_path / "secret").write_text("x")
    (folder / "fixtures").mkdir()
    (folder / "fixtures" / "bank.sql").symlink_to(tmp_path / "secret")
    with pytest.raises(PackFault, match="link"):
        load_pack(folder, VERIFIERS)


def test_the_digest_is_what_sha256sum_says_of_the_files(tmp_path: Path) -> None:
    pack = loaded(tmp_path / "p", tasks__train_jsonl=task("1"), fixtures__a="A", fixtures__b="B")
    (tmp_path / "p" / ".hidden").write_text("not part of the pack")
    command = "find . -type f ! -path '*/.*' -printf '%P\\0' | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum"
    printed = subprocess.run(command, shell=True, cwd=tmp_path / "p", capture_output=True, text=True, check=True)
    assert pack.digest == "sha256:" + printed.stdout.split()[0]
    assert load_pack(tmp_path / "p", VERIFIERS).digest == pack.digest


def test_the_digest_changes_with_content_and_with_names(tmp_path: Path) -> None:
    digests = {
        loaded(tmp_path / "1", fixtures__a="A").digest,
        loaded(tmp_path / "2", fixtures__a="B").digest,
        loaded(tmp_path / "3", fixtures__b="A").digest,
    }
    assert len(digests) == 3


def test_a_fixture_is_named_by_pack_and_file(tmp_path: Path) -> None:
    line = task("1", spec={"answer": "1", "fixtures": ["small/bank", "small/eu/bank"]})
    files = {"tasks/test.jsonl": line, "fixtures/bank.sql": "SELECT 1", "fixtures/eu/bank.sql": "SELECT 2"}
    shelf = shelf_of(tmp_path / "p", files)
    found = shelf.fixtures(["small/bank", "small/eu/bank", "small/none", "none/bank", "", "/"])
    assert set(found) == {"small/bank", "small/eu/bank"}
    assert found["small/bank"].digest == "sha256:" + hashlib.sha256(b"SELECT 1").hexdigest()
    assert found["small/bank"].path.read_text() == "SELECT 1"


def test_two_files_of_one_fixture_name_are_reported(tmp_path: Path) -> None:
    pack = loaded(tmp_path / "p", **{"fixtures/bank.sql": "1", "fixtures/bank.txt": "2"})
    assert [refusal.where for refusal in pack.refused] == ["fixtures/bank.txt"]


def test_a_ref_finds_its_task_with_and_without_a_pin(tmp_path: Path) -> None:
    shelf = shelf_of(tmp_path / "p", {"tasks/test.jsonl": task("0007", category="sums")})
    pack = shelf.packs["small"]
    for ref in ("small/test/0007", f"small@{pack.digest}/test/0007"):
        found, its_pack = shelf.find(ref)
        assert (found.id, found.split, found.category, found.where) == ("0007", "test", "sums", "tasks/test.jsonl:1")
        assert its_pack is pack


UNKNOWN_REFS = [
    "",
    "small",
    "small/test",
    "small/test/0008",
    "small/train/0007",
    "other/test/0007",
    "small/test/0007/",
    "small/test/0007\n",
    "small/test/../test/0007",
    "small@sha256:" + "0" * 64 + "/test/0007",
    "small@sha256:12/test/0007",
    "SMALL/test/0007",
    "small//0007",
]


@pytest.mark.parametrize("ref", UNKNOWN_REFS)
def test_an_unknown_ref_says_so(tmp_path: Path, ref: str) -> None:
    shelf = shelf_of(tmp_path / "p", {"tasks/test.jsonl": task("0007")})
    with pytest.raises(TaskFault) as raised:
        shelf.find(ref)
    assert raised.value.code == "task.unknown_ref"


EMPTY = Shelf({})


@given(st.text(max_size=300))
def test_any_text_as_a_ref_is_answered_with_a_fault(ref: str) -> None:
    with pytest.raises(TaskFault) as raised:
        EMPTY.find(ref)
    assert raised.value.code == "task.unknown_ref"
    assert len(raised.value.message) < 400


@given(
    st.from_regex(PACK_NAME, fullmatch=True),
    st.none() | st.from_regex(r"sha256:[0-9a-f]{64}", fullmatch=True),
    st.from_regex(SPLIT_NAME, fullmatch=True),
    st.from_regex(TASK_ID, fullmatch=True),
)
def test_a_ref_is_taken_apart_as_it_was_put_together(pack: str, pin: str | None, split: str, task_id: str) -> None:
    ref = f"{pack}@{pin}/{split}/{task_id}" if pin else f"{pack}/{split}/{task_id}"
    assert len(ref) <= 256
    parts = REF.fullmatch(ref)
    assert parts is not None
    assert parts.group("pack", "pin", "split", "id") == (pack, pin, split, task_id)


def test_a_refused_task_answers_with_its_own_fault(tmp_path: Path) -> None:
    shelf = shelf_of(tmp_path / "p", {"tasks/test.jsonl": task("1", spec={"answer": 7})})
    with pytest.raises(TaskFault) as raised:
        shelf.find("small/test/1")
    assert raised.value.code == "task.spec_invalid"
    assert raised.value.message.startswith("$.answer: ")
    assert raised.value.message.endswith("(small/test/1, tasks/test.jsonl:1)")


def pages(shelf: Shelf, **query: str | int | None) -> Iterator[list[str]]:
    cursor = None
    while True:
        page = shelf.tasks_page("small", cursor=cursor, **query)  # type: ignore[arg-type]
        yield [one.ref for one in page.tasks]
        cursor = page.next_cursor
        if cursor is None:
            return


def test_pages_hold_every_task_once_in_order(tmp_path: Path) -> None:
    train = "\n".join(task(str(index), category="ab"[index % 2]) for index in range(10))
    shelf = shelf_of(tmp_path / "p", {"tasks/train.jsonl": train, "tasks/test.jsonl": task("0")})
    assert [ref for page in pages(shelf, split="train", limit=3) for ref in page] == [
        f"small/train/{index}" for index in range(10)
    ]
    assert [len(page) for page in pages(shelf, split="train", limit=5)] == [5, 5]
    assert [len(page) for page in pages(shelf, limit=4)] == [4, 4, 3]
    assert [len(page) for page in pages(shelf, category="a", split="train", limit=4)] == [4, 1]
    assert list(pages(shelf, category="none")) == [[]]


def test_a_listing_says_what_it_cannot_answer(tmp_path: Path) -> None:
    shelf = shelf_of(tmp_path / "p", {"tasks/train.jsonl": task("1"), "tasks/test.jsonl": task("1")})
    with pytest.raises(NotFound):
        shelf.tasks_page("other")
    with pytest.raises(NotFound):
        shelf.tasks_page("small", split="dev")
    with pytest.raises(NotFound):
        shelf.demonstrations("small", "test")
    with pytest.raises(NotFound):
        shelf.examples("other")
    for wrong in ({"cursor": "train/9"}, {"cursor": "train/1", "split": "test"}, {"limit": 0}, {"limit": 1001}):
        with pytest.raises(InvalidRequest):
            shelf.tasks_page("small", **wrong)  # type: ignore[arg-type]


def test_nothing_that_a_shelf_lists_holds_gold(tmp_path: Path) -> None:
    gold = "the-only-gold"
    files = {
        "tasks/train.jsonl": task("1", spec={"answer": gold}),
        "tasks/test.jsonl": task("2", spec={"answer": gold}, prompt=None, messages=[{"role": "user", "content": "?"}]),
        "tasks/dev.jsonl": task("3", spec={"answer": gold}, verifier="none"),
    }
    shelf = shelf_of(tmp_path / "p", files)
    listed = [*shelf.infos(), shelf.tasks_page("small"), shelf.examples("small"), shelf.demonstrations("small")]
    assert gold not in "".join(one.model_dump_json() for one in listed)
    assert "?" in shelf.tasks_page("small", split="test").model_dump_json()
    assert shelf.infos()[0].refused == 1


def test_a_demonstration_of_another_split_is_refused(tmp_path: Path) -> None:
    shown = [{"prompt": "Question 1?", "completion": "1"}, {"prompt": "question  2?", "completion": "2"}]
    lines = "\n".join(json.dumps(one) for one in shown)
    files = {
        "tasks/train.jsonl": task("1"),
        "tasks/test.jsonl": task("2"),
        "examples.jsonl": lines,
        "demonstrations/train.jsonl": lines + '\n{"prompt": "?"}',
        "demonstrations/test.jsonl": lines,
    }
    shelf = shelf_of(tmp_path / "p", files)
    for page in (shelf.demonstrations("small"), shelf.examples("small")):
        assert [one.completion for one in page.demonstrations] == ["1"]
    assert [one.where for one in shelf.packs["small"].refused] == [
        "examples.jsonl:2",
        "demonstrations/train.jsonl:2",
        "demonstrations/train.jsonl:3",
    ]


def test_a_check_runs_every_gold_and_reports_in_order(tmp_path: Path) -> None:
    files = {
        "tasks/train.jsonl": "\n".join(
            [
                task("1"),
                task("2", spec={"answer": "broken"}),
                task("3", spec={"answer": "endless", "limits": {"cpu_s": 0.05}}),
                task("4", spec={"answer": "huge"}),
                task("5", verifier="none"),
                task("6", prompt="question  1?"),
            ]
        ),
        "tasks/test.jsonl": task("1"),
    }
    ticks: list[None] = []
    findings = check_pack(
        load_pack(write_pack(tmp_path / "p", files), VERIFIERS), VERIFIERS, lambda: ticks.append(None)
    )
    assert [(one.level, one.where, one.code) for one in findings] == [
        ("error", "tasks/train.jsonl:5", "task.unknown_verifier"),
        ("error", "tasks/train.jsonl:2", "task.gold_failed"),
        ("error", "tasks/train.jsonl:3", "task.gold_timeout"),
        ("error", "tasks/train.jsonl:4", "task.gold_timeout"),
        ("lint", "tasks/test.jsonl:1", "lint.overlap"),
        ("lint", "tasks/train.jsonl:6", "lint.twin"),
    ]
    assert len(ticks) == 6


def test_a_pack_without_tasks_is_an_error_of_the_check(tmp_path: Path) -> None:
    assert [one.code for one in check_pack(loaded(tmp_path / "p"), VERIFIERS)] == ["task.malformed"]


def test_an_exported_folder_has_the_same_digest(tmp_path: Path) -> None:
    pack = loaded(tmp_path / "p", tasks__train_jsonl=task("1"), fixtures__eu__bank="x")
    export_folder(pack, tmp_path / "copy")
    assert load_pack(tmp_path / "copy", VERIFIERS).digest == pack.digest
    with pytest.raises(PackFault, match="holds files"):
        export_folder(pack, tmp_path / "copy")


def test_exported_items_are_pinned_and_without_gold(tmp_path: Path) -> None:
    shelf = shelf_of(tmp_path / "p", {"tasks/train.jsonl": task("1"), "tasks/test.jsonl": task("2", category="c")})
    pack = shelf.packs["small"]
    lines = [json.loads(line) for line in score_items(pack, "test")]
    assert lines == [
        {
            "id": "test/2",
            "prompt": "Question 2?",
            "completion": "",
            "task": {"ref": f"small@{pack.digest}/test/2", "category": "c"},
        }
    ]
    assert shelf.find(lines[0]["task"]["ref"])[0].id == "2"
    assert "42" not in "".join(score_items(pack, None)).replace(pack.digest, "")
    assert '"spec": {"answer": "42"}' in "".join(score_items(pack, None, gold=True))
    assert len(list(score_items(pack, None))) == 2


def test_messages_name_no_spec_value(tmp_path: Path) -> None:
    pack = loaded(tmp_path / "p", tasks__train_jsonl=task("1", spec={"answer": "g0ld", "unknown": "s3cret"}))
    assert re.search("g0ld|s3cret", pack.refused[0].message) is None


def test_a_fixture_of_a_criterion_is_looked_for_when_the_pack_loads(tmp_path: Path) -> None:
    def nested(fixture: str) -> str:
        criteria = [{"name": "one", "verifier": "equal", "spec": {"answer": "1", "fixtures": [fixture]}}]
        return task(fixture[-1], verifier="all", spec={"criteria": criteria})

    lines = "\n".join([nested("small/a"), nested("small/b")])
    folder = write_pack(tmp_path / "p", {"tasks/train.jsonl": lines, "fixtures/a.csv": "1"})
    pack = load_pack(folder, {**VERIFIERS, "all": all_criteria.VERIFIER})
    assert list(pack.tasks["train"]) == ["a"]
    assert [(refusal.id, refusal.code) for refusal in pack.refused] == [("b", "task.unknown_fixture")]
