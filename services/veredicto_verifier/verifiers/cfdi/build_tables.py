"""Write the small tables that SAT's schemas lack (who may use what, which rates exist) from a published snapshot.

Source: https://github.com/phpcfdi/resources-sat-catalogs (Unlicense), which mirrors SAT's catalogue workbook. Give a
folder that holds its `data__*.sql` and `schemas__*.sql` files; the tables are committed and reviewed as text.

    python -m veredicto_verifier.verifiers.cfdi.build_tables FOLDER SNAPSHOT_DATE
"""

from __future__ import annotations

import sqlite3
import sys
from pathlib import Path

TABLES: dict[str, tuple[str, str]] = {
    "regimenes": (
        "cfdi_40_regimenes_fiscales",
        "SELECT id, aplica_fisica = 1 AS fisica, aplica_moral = 1 AS moral FROM {} ORDER BY 1",
    ),
    "usos": (
        "cfdi_40_usos_cfdi",
        "SELECT id, aplica_fisica = 1 AS fisica, aplica_moral = 1 AS moral, "
        "replace(regimenes_fiscales_receptores, ' ', '') AS regimenes FROM {} ORDER BY 1",
    ),
    "tasas": (
        "cfdi_40_reglas_tasa_cuota",
        "SELECT tipo, CASE tipo WHEN 'Fijo' THEN valor ELSE minimo END AS minimo, valor AS maximo, "
        "CASE substr(impuesto, 1, 3) WHEN 'ISR' THEN '001' WHEN 'IVA' THEN '002' ELSE '003' END AS impuesto, "
        "factor, traslado = 1 AS traslado, retencion = 1 AS retencion FROM {} ORDER BY 4, 5, 1, 2, 3",
    ),
    "monedas": ("cfdi_40_monedas", "SELECT id, decimales FROM {} ORDER BY 1"),
    "formas_pago": ("cfdi_40_formas_pago", "SELECT id FROM {} WHERE vigencia_hasta = '' ORDER BY 1"),
    "tipos_relacion": ("cfdi_40_tipos_relaciones", "SELECT id FROM {} WHERE vigencia_hasta = '' ORDER BY 1"),
    "paises": (
        "cfdi_40_paises",
        "SELECT id, CASE id WHEN 'MEX' THEN '' ELSE patron_identidad_tributaria END AS patron FROM {} ORDER BY 1",
    ),
    "cuentas": (
        "cfdi_40_formas_pago",
        "SELECT id, patron_cuenta_ordenante AS ordenante, patron_cuenta_beneficiario AS beneficiario FROM {} "
        "WHERE id <> '99' AND permite_cuenta_ordenante = 1 ORDER BY 1",
    ),
    "aduanas": ("cfdi_40_aduanas", "SELECT id FROM {} WHERE vigencia_hasta = '' ORDER BY 1"),
    "patentes": ("cfdi_40_patentes_aduanales", "SELECT id FROM {} ORDER BY 1"),
    "nomina_bancos": ("nomina_bancos", "SELECT id FROM {} WHERE vigencia_hasta = '' ORDER BY 1"),
    "nomina_deducciones": ("nomina_tipos_deducciones", "SELECT id FROM {} WHERE vigencia_hasta = '' ORDER BY 1"),
    "nomina_percepciones": ("nomina_tipos_percepciones", "SELECT id FROM {} WHERE vigencia_hasta = '' ORDER BY 1"),
    "nomina_estados": ("nomina_estados", "SELECT estado FROM {} WHERE pais = 'MEX' ORDER BY 1"),
}
"""Name of our table -> (table of the snapshot, query)."""


def build_tables(folder: Path, snapshot: str, target: Path) -> None:
    """Write `TARGET/<table>.tsv` for every table; the first lines name source, date and licence."""
    for name, (table, query) in TABLES.items():
        with sqlite3.connect(":memory:") as database:
            for part in ("schemas", "data"):
                database.executescript((folder / f"{part}__{table}.sql").read_text(encoding="utf-8"))
            rows = database.execute(query.format(table))
            header = "\t".join(column[0] for column in rows.description)
            lines = ["\t".join(str(cell) for cell in row) for row in rows]
        source = f"# {table} of phpcfdi/resources-sat-catalogs (Unlicense), snapshot {snapshot}"
        (target / f"{name}.tsv").write_text("\n".join([source, header, *lines]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    build_tables(Path(sys.argv[1]), sys.argv[2], Path(__file__).parent / "tables")
