"""The schemas and catalogues of the cfdi verifier: built from SAT's files and checked."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from lxml import etree

from tests.cfdi_mutants import base_text
from veredicto_verifier.verifiers.cfdi import VERIFIER as CFDI
from veredicto_verifier.verifiers.cfdi import schemas
from veredicto_verifier.verifiers.cfdi.build import build_schemas
from veredicto_verifier.verifiers.cfdi.build_tables import TABLES
from veredicto_verifier.verifiers.cfdi.catalogues import TABLES as TABLES_FOLDER
from veredicto_verifier.verifiers.cfdi.catalogues import load_catalogues
from veredicto_verifier.verifiers.cfdi.rfc import check_digit


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("cfdi") / "data"
    build_schemas(target)
    return target


def test_the_build_is_the_same_every_time(folder: Path, tmp_path: Path) -> None:
    build_schemas(tmp_path / "again")
    assert (folder / "manifest.json").read_bytes() == (tmp_path / "again" / "manifest.json").read_bytes()
    assert (folder / "manifest.json").read_bytes() == (schemas.data_folder() / "manifest.json").read_bytes()


def test_the_build_leaves_a_used_folder_alone(folder: Path) -> None:
    with pytest.raises(FileExistsError, match="not empty"):
        build_schemas(folder)


def test_no_schema_keeps_a_long_enumeration_or_a_link_out_of_the_folder(folder: Path) -> None:
    for path in folder.glob("xsd/**/*.xsd"):
        schema = etree.parse(path)
        for simple in schema.iter("{http://www.w3.org/2001/XMLSchema}simpleType"):
            assert len(simple.findall(".//{http://www.w3.org/2001/XMLSchema}enumeration")) <= 300
        for link in schema.iter("{http://www.w3.org/2001/XMLSchema}import"):
            assert (path.parent / link.get("schemaLocation", "")).resolve().is_relative_to(folder.resolve())


def test_a_changed_or_missing_file_makes_the_folder_incomplete(tmp_path: Path) -> None:
    target = tmp_path / "data"
    build_schemas(target)
    assert schemas.is_complete(target)
    changed = target / "sets" / "c_ClaveUnidad.txt"
    changed.write_text(changed.read_text() + "ZZ9\n")
    assert not schemas.is_complete(target)
    changed.unlink()
    assert not schemas.is_complete(target)
    assert not schemas.is_complete(tmp_path / "nowhere")


ROOTS = [str(Path(__file__).parent.parent / root) for root in ("proto", "services")]


def fresh_process(script: str, *arguments: str, tmp: Path) -> subprocess.Popen[str]:
    code = f"import sys; sys.path[:0] = {ROOTS!r}\n{script}"
    environment = {"PATH": "/usr/bin:/bin", "TMPDIR": str(tmp)}
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(process: subprocess.Popen[str]) -> str:
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    return output.strip()


JUDGE_WITHOUT_SATCFDI = """
import sys
from pathlib import Path
sys.modules["satcfdi"] = None
from veredicto_verifier.verifiers.cfdi import VERIFIER, schemas
from veredicto_verifier.verifier import Answer, Completion, Context
schemas.PREBUILT = Path(sys.argv[1])
task = VERIFIER.prepare(VERIFIER.spec.model_validate(VERIFIER.example), Context())
print(schemas.data_folder(), VERIFIER.grade(task, Answer(VERIFIER.good, Completion(VERIFIER.good))).passed)
"""
BUILD_ON_FIRST_USE = """
from pathlib import Path
from veredicto_verifier.verifiers.cfdi import schemas
schemas.PREBUILT = Path("/nonexistent")
print(schemas.data_folder(), schemas.data_digest())
"""


def test_a_prebuilt_folder_is_used_and_satcfdi_is_not_needed(folder: Path, tmp_path: Path) -> None:
    assert finished(fresh_process(JUDGE_WITHOUT_SATCFDI, str(folder), tmp=tmp_path)) == f"{folder} True"
    assert list(tmp_path.iterdir()) == []


def test_processes_that_start_together_build_one_folder(tmp_path: Path) -> None:
    processes = [fresh_process(BUILD_ON_FIRST_USE, tmp=tmp_path) for _ in range(3)]
    answers = {finished(process) for process in processes}
    assert len(answers) == 1
    built = Path(answers.pop().split()[0])
    assert list(tmp_path.iterdir()) == [built]
    assert built.stat().st_mode & 0o077 == 0


def test_a_damaged_or_open_folder_is_built_again(tmp_path: Path) -> None:
    built, digest = finished(fresh_process(BUILD_ON_FIRST_USE, tmp=tmp_path)).split()
    (Path(built) / "sets" / "c_ClaveUnidad.txt").write_text("ZZ9\n")
    assert finished(fresh_process(BUILD_ON_FIRST_USE, tmp=tmp_path)).split() == [built, digest]
    Path(built).chmod(0o777)
    assert finished(fresh_process(BUILD_ON_FIRST_USE, tmp=tmp_path)).split() == [built, digest]
    assert Path(built).stat().st_mode & 0o077 == 0
    assert list(tmp_path.iterdir()) == [Path(built)]


def test_the_digests_name_schemas_and_tables() -> None:
    digests = CFDI.data()
    assert sorted(digests) == ["schemas", "tables"]
    assert all(len(digest) == 64 for digest in digests.values())


def test_every_table_is_committed_and_names_its_source() -> None:
    assert sorted(path.stem for path in TABLES_FOLDER.glob("*.tsv")) == sorted(TABLES)
    for path in TABLES_FOLDER.glob("*.tsv"):
        first = path.read_text(encoding="utf-8").splitlines()[0]
        assert "phpcfdi/resources-sat-catalogs (Unlicense), snapshot 2026-" in first


def test_the_catalogues_hold_what_sat_publishes() -> None:
    catalogues = load_catalogues()
    assert (len(catalogues.postal_codes), len(catalogues.products), len(catalogues.units)) == (95749, 52747, 2418)
    assert (len(catalogues.regimenes), len(catalogues.usos), len(catalogues.rates)) == (19, 24, 19)
    assert catalogues.currencies["MXN"] == 2
    assert catalogues.currencies["JPY"] == 0
    assert "98" not in catalogues.formas_pago


def test_validation_gives_the_tree_back_as_it_came() -> None:
    text = base_text("simple").replace("</cfdi:Comprobante>", "<cfdi:Addenda><nota/></cfdi:Addenda></cfdi:Comprobante>")
    root = etree.fromstring(text.replace(' Moneda="', ' Sello="" Moneda="').encode())
    before = etree.tostring(root)
    assert schemas.schema_faults(root) == []
    assert etree.tostring(root) == before


RFCS = ["EKU9003173C9", "XIQB891116QE4", "H&E951128469", "IAÑL750210963", "CACX7605101P8"]


@pytest.mark.parametrize("rfc", RFCS)
def test_the_check_digit_of_a_published_rfc_fits(rfc: str) -> None:
    assert check_digit(rfc) == rfc[-1]


def test_the_manifest_names_the_version_of_satcfdi(folder: Path) -> None:
    assert json.loads((folder / "manifest.json").read_text())["satcfdi"].count(".") == 2
