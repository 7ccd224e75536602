"""What a verdict on an invoice costs: against a bare parse with SAT's slim schema, against xmlschema, in memory.

python bench/cfdi.py

Every ratio is of medians of bursts that take turns, so that a busy machine slows both sides. CPU time throughout. The
bare side reads the same invoice with seal attributes filled in, since without them SAT's schema refuses it.
"""

from __future__ import annotations

import importlib.resources
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import xmlschema
from lxml import etree

sys.path.append(str(Path(__file__).parent.parent))

from figures import Figure, publish

from tests.cfdi_builder import build_invoice
from tests.cfdi_requests import ISR_10, IVA_HELD, line, request
from veredicto_verifier.verifier import Answer, Completion, Context, Grade
from veredicto_verifier.verifiers.cfdi import VERIFIER as CFDI
from veredicto_verifier.verifiers.cfdi.build import INVOICE, ROOT
from veredicto_verifier.verifiers.cfdi.schemas import SEAL, data_folder, load_schema

BURSTS, BURST = 60, 10
FLOOD = 5_000
LARGE = {"max_bytes": 4_194_304, "max_elements": 100_000}
MEBIBYTE = 1 << 20


def invoice(num_lines: int) -> tuple[dict[str, Any], str]:
    """A request and its invoice: some lines with a discount, some with withheld taxes."""
    lines = [
        line(
            descripcion=f"Servicio de consultoría número {number}",
            no_identificacion=f"SKU-{number:04}",
            unidad="Servicio",
            cantidad="2",
            valor_unitario=f"{100 + number % 900}.5{number % 10}",
            **({"retenciones": [ISR_10, IVA_HELD]} if number % 3 == 0 else {}),
            **({"descuento": "10.00"} if number % 4 == 0 else {}),
        )
        for number in range(num_lines)
    ]
    asked = request(conceptos=lines, serie="A", folio="1001", condiciones_de_pago="Contado")
    return asked, build_invoice(asked)


def judge(spec: dict[str, Any]) -> Callable[[str], Grade]:
    task = CFDI.prepare(CFDI.spec.model_validate(spec), Context())
    return lambda text: CFDI.grade(task, Answer(text, Completion(text)))


def seconds(*acts: Callable[[], object], bursts: int = BURSTS, burst: int = BURST) -> list[float]:
    """Median CPU seconds of each act; their bursts take turns."""
    spent: list[list[float]] = [[] for _ in acts]
    for _ in range(bursts):
        for act, own in zip(acts, spent, strict=True):
            started = time.process_time()
            for _ in range(burst):
                act()
            own.append((time.process_time() - started) / burst)
    return [statistics.median(own) for own in spent]


def sealed(text: str) -> bytes:
    filled = "".join(f' {name}="{value or "x"}"' for name, value in SEAL.items())
    return text.replace(' Moneda="', f'{filled} Moneda="').encode()


def speeds() -> list[Figure]:
    asked, text = invoice(8)
    accepts, schema, content = judge({"request": asked}), load_schema(), sealed(text)
    assert accepts(text).passed
    assert schema.validate(etree.fromstring(content))
    slim = xmlschema.XMLSchema(data_folder() / "xsd" / INVOICE, allow="local")
    assert slim.is_valid(etree.fromstring(content))
    full = sat_schema()
    assert full.is_valid(etree.fromstring(content))
    bare, verdict = seconds(lambda: schema.validate(etree.fromstring(content)), lambda: accepts(text))
    slim_s, full_s = seconds(lambda: slim.is_valid(content), lambda: full.is_valid(content), bursts=5, burst=2)
    print(f"{len(text.encode())} bytes, 8 lines: bare {bare * 1e6:.0f} µs, verdict {verdict * 1e6:.0f} µs")
    return [
        Figure("verdict_to_bare_parse_and_xsd", verdict / bare, "at most", 4, "x"),
        Figure("xmlschema_slim_to_verdict", slim_s / verdict, "at least", 5, "x"),
        Figure("xmlschema_full_to_verdict", full_s / verdict, "at least", 20, "x"),
    ]


def sat_schema() -> Any:
    """SAT's own schema with its catalogues whole; its parts are not checked themselves, which takes half a minute."""
    source = importlib.resources.files("satcfdi").joinpath(*ROOT.parts, *Path(INVOICE).parts)
    return xmlschema.XMLSchema(str(source), allow="local", validation="skip")


def faults() -> list[Figure]:
    asked, text = invoice(10)
    judged = judge({"request": asked})
    postal = text.replace('LugarExpedicion="06600"', 'LugarExpedicion="00001"')
    products = text.replace('ClaveProdServ="80101500"', 'ClaveProdServ="99999999"')
    assert judged(text).passed
    for wrong, code in ((postal, "cfdi.40126"), (products, "cfdi.40162")):
        assert code in {check.code for check in judged(wrong).checks}
    right, one, ten = seconds(lambda: judged(text), lambda: judged(postal), lambda: judged(products))
    return [
        Figure("wrong_postal_code_to_right", one / right, "at most", 2, "x"),
        Figure("ten_wrong_products_to_right", ten / right, "at most", 2, "x"),
    ]


def flood() -> list[Figure]:
    _asked, text = invoice(FLOOD)
    refused = judge({})(text)
    assert [check.code for check in refused.checks if not check.passed] == ["cfdi.too_large"]
    answered = judge(LARGE)
    started = time.process_time()
    assert answered(text).passed
    spent = time.process_time() - started
    return [Figure("5000_lines_cpu_s", spent, "at most", 2, "s")]


WORKER = """
import json, sys, time
from pathlib import Path

def resident():
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    sizes = {line.split(":")[0]: line.split()[1] for line in lines[1:]}
    return {name: int(sizes[name]) * 1024 for name in ("Rss", "Pss")}

bare = resident()
started = time.process_time()
import veredicto_verifier.worker_loop
imported, at_import = time.process_time(), resident()
from veredicto_verifier.verifier import Answer, Completion, Context
from veredicto_verifier.verifiers.cfdi import VERIFIER as cfdi
task = cfdi.prepare(cfdi.spec.model_validate(cfdi.example), Context())
assert cfdi.grade(task, Answer(cfdi.good, Completion(cfdi.good))).passed
now = resident()
print(json.dumps({
    "above_bare": now["Rss"] - bare["Rss"], "of_data": now["Rss"] - at_import["Rss"],
    "above_bare_pss": now["Pss"] - bare["Pss"],
    "load_s": time.process_time() - imported, "all_s": time.process_time() - started,
}))
"""


def worker() -> list[Figure]:
    """A fresh process that imports all that a worker does, loads schemas and catalogues and judges one invoice."""
    data_folder()
    done = subprocess.run([sys.executable, "-c", WORKER], capture_output=True, text=True, check=True)
    seen = json.loads(done.stdout)
    print(
        f"worker: {seen['above_bare'] / MEBIBYTE:.0f} MB (PSS {seen['above_bare_pss'] / MEBIBYTE:.0f}) above the bare "
        f"interpreter, {seen['of_data'] / MEBIBYTE:.0f} of them schemas and catalogues; "
        f"{seen['all_s']:.2f} s with imports"
    )
    return [
        Figure("worker_mb_above_interpreter", seen["above_bare"] / MEBIBYTE, "at most", 120, "MB"),
        Figure("schemas_and_catalogues_mb", seen["of_data"] / MEBIBYTE, "at most", 120, "MB"),
        Figure("ready_from_disk_cache_s", seen["load_s"], "at most", 2, "s"),
    ]


if __name__ == "__main__":
    publish("cfdi", [*speeds(), *faults(), *flood(), *worker()])
