"""Which rules can find nothing in most invoices, so that they need not run: by what an invoice has, and by its type.

A gate only saves time: a rule behind it gives no fault whenever the gate is shut (a test runs both ways).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from veredicto_verifier.verifiers.cfdi.comprobante import Feature

NEEDS: Mapping[Feature, tuple[str, ...]] = {
    "descuentos": ("cfdi.40110", "cfdi.40111", "cfdi.40112", "cfdi.40168", "cfdi.40169"),
    "tipo_cambio": ("cfdi.40114", "cfdi.40116", "cfdi.40117"),
    "confirmacion": ("cfdi.40127",),
    "relaciones": ("cfdi.40137",),
    "complementos": ("cfdi.40222",),
    "condiciones": ("cfdi.payment_terms",),
    "global": ("cfdi.40132", "cfdi.40134", "cfdi.40135", "cfdi.40136", "cfdi.global_only_public"),
    "generic": ("cfdi.40149", "cfdi.40159"),
    "foreign": ("cfdi.40151", "cfdi.40152", "cfdi.40153", "cfdi.40154", "cfdi.40155", "cfdi.40156"),
    "untaxed": ("cfdi.40172", "cfdi.40226", "cfdi.40227"),
    "exentos": ("cfdi.40177", "cfdi.40213", "cfdi.40216"),
    "retenciones": ("cfdi.40184", "cfdi.40185", "cfdi.40186", "cfdi.40206", "cfdi.40208", "cfdi.40210", "cfdi.40211"),
    "children": (
        "cfdi.40194",
        "cfdi.40199",
        "cfdi.40188",
        "cfdi.40189",
        "cfdi.40191",
        "cfdi.40193",
        "cfdi.40195",
        "cfdi.40196",
        "cfdi.40197",
        "cfdi.40198",
        "cfdi.40223",
    ),
    "addenda": ("cfdi.nested", "cfdi.addenda"),
    "unplain": ("cfdi.unsafe_text",),
}
"""Rules that find something only in an invoice with that feature."""
ONLY: Mapping[str, tuple[str, ...]] = {
    "TNP": ("cfdi.40103",),
    "IE": ("cfdi.40105", "cfdi.payment_missing"),
    "IEN": ("cfdi.40108", "cfdi.40166", "cfdi.strict_groups"),
    "TP": ("cfdi.40109", "cfdi.40125", "cfdi.40201"),
    "TPN": ("cfdi.payment_terms",),
    "NP": ("cfdi.currency_of_type",),
    "I": ("cfdi.40130",),
}
"""Rules that find something only where TipoDeComprobante is one of these letters."""
TYPES = ("I", "E", "T", "N", "P")


def shut_codes(tipo: str | None, features: Collection[Feature]) -> frozenset[str]:
    """The codes of the rules that find nothing in an invoice of that type (None: of no known one)."""
    missing = [code for feature, codes in NEEDS.items() if feature not in features for code in codes]
    others = [code for letters, codes in ONLY.items() if tipo is None or tipo not in letters for code in codes]
    return frozenset((*missing, *others))
