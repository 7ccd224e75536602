"""Invented parties of the pack cfdi: names, well-formed RFCs with their digit, places; no two splits share a name."""

from __future__ import annotations

import random
from typing import Any

from veredicto_verifier.verifiers.cfdi.rfc import check_digit

Json = dict[str, Any]

TRADES = (
    "ACEROS", "ALIMENTOS", "BODEGAS", "CARTONES", "CLINICA", "CONSTRUCTORA", "DISTRIBUIDORA", "EDITORIAL", "EMPAQUES",
    "ESCUELA", "FERRETERIA", "HERRERIA", "IMPULSORA", "JUGUETES", "LABORATORIOS", "MUEBLES", "NAVIERA", "OPTICA",
    "PAPELERIA", "PINTURAS", "REFACCIONES", "SERVICIOS", "TEXTILES", "UNIFORMES", "VIVEROS", "ZAPATERIA",
)  # fmt: skip
HOUSES = (
    "ATLAS", "BAHIA AZUL", "BUENAVISTA", "COYOACAN", "DEL BAJIO", "DEL NORTE", "EL FARO", "LOS SAUCES", "MAYA",
    "MONTE ALBAN", "NUÑO Y MUÑOZ", "OSEGUEDA & HIJOS", "PEÑA Y HERMANOS", "QUETZAL", "SAN JACINTO", "TEPOZTLAN",
    "TOLTECA", "TRES RIOS", "VIDAL & CIA",
)  # fmt: skip
GIVEN = (
    "ANA", "BEATRIZ", "CARLOS", "DIEGO", "ELENA", "FERNANDO", "GABRIELA", "HUGO", "IRMA", "JAVIER", "LUCIA", "MARTIN",
    "NORMA", "OSCAR", "PATRICIA", "RAUL", "SILVIA", "TOMAS",
)  # fmt: skip
SURNAMES = (
    "ARANDA", "BRAVO", "CASTAÑEDA", "DUARTE", "ESQUIVEL", "FLORES", "GALINDO", "HUERTA", "IBARRA", "JUAREZ", "LEDESMA",
    "MUÑIZ", "NAVARRO", "ORDOÑEZ", "PADILLA", "QUIROZ",
)  # fmt: skip
ABROAD = (
    "ACME TOOLS INC", "BLUE HARBOR LLC", "CASCADE SYSTEMS CORP", "DELTA FOODS GMBH", "EVERGREEN MEDIA LTD",
    "FJORD ANALYTICS AS", "GRANITE HEALTH INC", "HORIZON TRAVEL SA", "IVORY TEXTILES SPA", "JUNIPER LABS BV",
)  # fmt: skip
PLACES = (
    "06600", "64000", "44100", "97000", "76000", "36257", "03100", "11560", "72000", "20000", "37000", "45050", "50000",
    "58000", "62000", "68000", "78000", "80000", "86000", "91000", "98000", "04100",
)  # fmt: skip
FRONTIER = ("22000", "32000", "88000", "21000", "77000")
"""Places with the stimulus of the northern and the southern frontier."""
RFC_ALPHABET = "ABCDEFGHIJKLMNPQRSTUVWXYZ0123456789"
PUBLIC_RFC, FOREIGN_RFC = "XAXX010101000", "XEXX010101000"

SHARES = {"train": (0, 1, 2, 3, 4), "test": (5,), "shown": (6,)}
"""Which residues of a name's number (modulo 7) belong to the tasks of a split, or to what is shown to anyone."""


def company(source: random.Random, split: str, regime: str = "601") -> Json:
    """A company as issuer: RFC of 12 characters, name, regime."""
    name = _draw(source, split, TRADES, HOUSES)
    words = [word for word in name.split() if len(word) > 1]
    return {"rfc": _rfc(source, words[0][0] + words[1][0] + words[-1][1]), "nombre": name, "regimen_fiscal": regime}


def person(source: random.Random, split: str, regime: str = "612") -> Json:
    """A natural person as issuer: RFC of 13 characters, name, regime."""
    name = _draw(source, split, GIVEN, SURNAMES)
    given, first = name.split()
    second = source.choice(SURNAMES)
    return {
        "rfc": _rfc(source, first[:2] + second[0] + given[0]),
        "nombre": f"{name} {second}",
        "regimen_fiscal": regime,
    }


def receiver(source: random.Random, party: Json, use: str) -> Json:
    """A party as receiver, with a fiscal address."""
    return {**party, "domicilio_fiscal": source.choice(PLACES), "uso_cfdi": use}


def any_receiver(source: random.Random, split: str) -> Json:
    """A company or a person in business, with one of the common uses."""
    use = source.choice(("G01", "G03", "G03", "I04"))
    if source.random() < 0.6:
        return receiver(source, company(source, split, source.choice(("601", "601", "603", "626"))), use)
    return receiver(source, person(source, split, source.choice(("612", "626"))), use)


def public(place: str) -> Json:
    """The receiver of a global invoice issued at `place`."""
    return {
        "rfc": PUBLIC_RFC,
        "nombre": "PUBLICO EN GENERAL",
        "domicilio_fiscal": place,
        "regimen_fiscal": "616",
        "uso_cfdi": "S01",
    }


def foreigner(source: random.Random, split: str, place: str) -> Json:
    """A receiver abroad without Mexican RFC."""
    names = [name for number, name in enumerate(ABROAD) if _belongs(number, split)]
    name = source.choice(names)
    return {
        "rfc": FOREIGN_RFC,
        "nombre": name,
        "domicilio_fiscal": place,
        "regimen_fiscal": "616",
        "uso_cfdi": "S01",
    }


def _draw(source: random.Random, split: str, first: tuple[str, ...], second: tuple[str, ...]) -> str:
    start = source.randrange(len(first))
    ends = [end for end in range(len(second)) if _belongs(start + end, split)]
    return f"{first[start]} {second[source.choice(ends)]}"


def _belongs(number: int, split: str) -> bool:
    return number % 7 in SHARES[split]


def _rfc(source: random.Random, letters: str) -> str:
    year, month, day = source.randint(60, 99), source.randint(1, 12), source.randint(1, 28)
    start = f"{letters}{year:02}{month:02}{day:02}{source.choice(RFC_ALPHABET)}{source.choice(RFC_ALPHABET)}"
    return start + (check_digit(start + "0") or "0")
