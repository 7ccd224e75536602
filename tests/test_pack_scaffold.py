"""CSV files become fixtures, questions become tasks, and bad files get a message that says where."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from tests.packs_on_disk import task, write_pack
from veredicto_verifier.errors import PackFault
from veredicto_verifier.packs.builtin import BUILTIN, materialise
from veredicto_verifier.packs.cli import pack_app
from veredicto_verifier.packs.loading import load_pack
from veredicto_verifier.packs.scaffold import scaffold, write_files
from veredicto_verifier.packs.tables import column_type, read_table, vary
from veredicto_verifier.registry import VERIFIERS

TYPES = [
    (["1", "-20", None], "BIGINT"),
    (["0"], "BIGINT"),
    (["007"], "VARCHAR"),
    (["1", "2.50"], "DECIMAL(18, 2)"),
    (["1" * 30 + ".25"], "DECIMAL(32, 2)"),
    (["1" * 40 + ".25"], "VARCHAR"),
    (["1e3"], "VARCHAR"),
    (["2026-02-28", None], "DATE"),
    (["2026-02-30"], "VARCHAR"),
    (["true", "false"], "BOOLEAN"),
    (["true", "1"], "VARCHAR"),
    ([None, None], "VARCHAR"),
]


@pytest.mark.parametrize(("cells", "kind"), TYPES)
def test_a_column_gets_the_narrowest_type(cells: list[str | None], kind: str) -> None:
    assert column_type(cells) == kind


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_a_table_becomes_a_script(tmp_path: Path) -> None:
    table = read_table(written(tmp_path / "My Data.csv", "Id,Order,Who says\n1,2.5,O'Hara\n2,,\n"))
    assert table.script() == (
        "CREATE TABLE my_data (id BIGINT, order_ DECIMAL(18, 1), who_says VARCHAR);\n"
        "INSERT INTO my_data VALUES\n  (1, 2.5, 'O''Hara'),\n  (2, NULL, NULL);\n"
    )


BAD_TABLES = {
    "empty": ("", "empty"),
    "header-only": ("a,b\n", "no rows"),
    "ragged": ("a,b\n1\n", "row 2 has 1 cells"),
    "twins": ("a b,A-B\n1,2\n", "one name"),
    "nameless": ("a,?\n1,2\n", "cannot name"),
    "unclosed": ('a,b\n"1,2\n', "not a CSV file"),
}


@pytest.mark.parametrize(("text", "message"), BAD_TABLES.values(), ids=BAD_TABLES)
def test_a_bad_table_says_why(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(PackFault, match=message):
        read_table(written(tmp_path / "t.csv", text))


def test_a_variation_keeps_keys_with_their_rows_and_the_columns_values(tmp_path: Path) -> None:
    lines = "".join(f"{index},{index % 7},{index * 10}\n" for index in range(100))
    table = read_table(written(tmp_path / "t.csv", "id,owner_id,amount\n" + lines))
    first, second = vary(table, 1), vary(table, 2)
    assert first == vary(table, 1)
    assert first.rows != second.rows
    assert 40 < len(first.rows) < 95
    kept = {row[0]: row for row in table.rows}
    assert all(kept[row[0]][1] == row[1] for row in first.rows)
    assert sorted(row[2] or "" for row in first.rows) == sorted(kept[row[0]][2] or "" for row in first.rows)
    assert any(kept[row[0]][2] != row[2] for row in first.rows)


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\r\n\0"), max_size=20), min_size=1))
def test_any_text_in_a_cell_stays_within_its_literal(cells: list[str]) -> None:
    kind = column_type(cells)
    if kind == "VARCHAR":
        return
    assert all(set(cell) <= set("0123456789-.truefals") for cell in cells)


def questions(path: Path, *rows: dict[str, str]) -> Path:
    return written(path, "\n".join(json.dumps(row) for row in rows))


SCAFFOLDS = {
    "math": ({"question": "6 times 7?", "answer": "42"}, {"answer": "42"}),
    "json": (
        {"question": "Which RFC?", "answer": '{"rfc": "XAXX010101000"}'},
        {"schema": {"type": "object", "required": ["rfc"]}, "expected": {"rfc": "XAXX010101000"}},
    ),
    "python": (
        {"question": "Add two numbers.", "answer": "assert add(1, 2) == 3", "entry": "add"},
        {"format": "asserts", "entry": "add", "tests": "assert add(1, 2) == 3"},
    ),
}


@pytest.mark.parametrize("verifier", SCAFFOLDS)
def test_questions_become_tasks_with_a_test_split(tmp_path: Path, verifier: str) -> None:
    row, spec = SCAFFOLDS[verifier]
    path = questions(tmp_path / "q.jsonl", *[row | {"category": "c", "difficulty": "0.5"}] * 6)
    files = scaffold("made", verifier, data=[], questions=path)
    train = [json.loads(line) for line in files["tasks/train.jsonl"].splitlines()]
    test = [json.loads(line) for line in files["tasks/test.jsonl"].splitlines()]
    assert [one["id"] for one in train] == ["0001", "0002", "0003", "0004", "0006"]
    assert [one["id"] for one in test] == ["0005"]
    assert test[0]["spec"] == spec
    assert (test[0]["category"], test[0]["difficulty"]) == ("c", 0.5)
    assert row["question"] in test[0]["prompt"]


BAD_QUESTIONS = {
    "no-answer": ("math", {"question": "?"}, "question 1 has no answer"),
    "not-an-object": ("json", {"question": "?", "answer": "[1]"}, "JSON object"),
    "no-entry": ("python", {"question": "?", "answer": "assert True"}, "entry"),
    "no-number": ("math", {"question": "?", "answer": "1", "difficulty": "hard"}, "difficulty"),
    "bad-split": ("math", {"question": "?", "answer": "1", "split": "../x"}, "split"),
    "no-data": ("sql", {"question": "?", "answer": "SELECT 1"}, "--data"),
    "no-scaffold": ("cfdi", {"question": "?", "answer": "1"}, "choose from"),
}


@pytest.mark.parametrize(("verifier", "row", "message"), BAD_QUESTIONS.values(), ids=BAD_QUESTIONS)
def test_a_bad_question_says_why(tmp_path: Path, verifier: str, row: dict[str, str], message: str) -> None:
    with pytest.raises(PackFault, match=message):
        scaffold("made", verifier, data=[], questions=questions(tmp_path / "q.jsonl", row))


def test_a_pack_is_never_written_over_files(tmp_path: Path) -> None:
    written(tmp_path / "mine", "mine")
    with pytest.raises(PackFault, match="holds files"):
        write_files({"pack.toml": ""}, tmp_path)


def test_the_commands_speak_json_and_end_with_one_on_errors(tmp_path: Path) -> None:
    good = write_pack(tmp_path / "good", {"tasks/train.jsonl": task("1", verifier="math", spec={"answer": "1"})})
    bad = write_pack(tmp_path / "bad", {"tasks/train.jsonl": task("1", verifier="none")})
    data = ["--data-dir", str(tmp_path / "data")]
    runner = CliRunner()
    listed = runner.invoke(pack_app, ["list", "--packs", str(good), "--json", *data])
    assert {*BUILTIN, "small"} == {one["name"] for one in json.loads(listed.stdout)["packs"]}
    assert runner.invoke(pack_app, ["check", str(good), "--json"]).exit_code == 0
    checked = runner.invoke(pack_app, ["check", str(bad), "--json"])
    assert checked.exit_code == 1
    assert json.loads(checked.stdout)["findings"]["small"][0]["code"] == "task.unknown_verifier"
    items = runner.invoke(pack_app, ["export", "small", "--packs", str(good), *data])
    assert json.loads(items.stdout)["task"]["ref"].startswith("small@sha256:")
    missing = runner.invoke(pack_app, ["show", "other", "--packs", str(good), *data])
    assert missing.exit_code == 2
    assert "no pack is named 'other'" in missing.output


@pytest.mark.parametrize("name", BUILTIN)
def test_a_built_in_pack_is_written_once_and_every_task_is_taken(tmp_path: Path, name: str) -> None:
    folder = materialise(name, tmp_path)
    before = (folder / "pack.toml").stat().st_mtime_ns
    assert materialise(name, tmp_path) == folder
    assert (folder / "pack.toml").stat().st_mtime_ns == before
    assert [path.name for path in tmp_path.iterdir()] == [folder.name]
    pack = load_pack(folder, VERIFIERS)
    assert (pack.name, pack.refused) == (name, ())
    assert pack.tasks["train"]
    assert pack.tasks["test"]
    assert load_pack(materialise(name, tmp_path / "again"), VERIFIERS).digest == pack.digest
