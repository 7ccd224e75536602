"""The pack `kyc-json`: customer files and SPEI orders as JSON, from texts in Spanish and English, from a seed."""

from __future__ import annotations

import json
import unicodedata
from datetime import date, timedelta
from random import Random
from typing import Any, Final

from veredicto_verifier.verifiers.json_models import clabe_digit, curp_digit

NAME: Final = "kyc-json"
SEED: Final = 20261202
COUNTS: Final = {"train": 200, "test": 50, "examples": 2}
"""Of one kind in one language."""

_MANIFEST: Final = f"""\
name = "{NAME}"
version = "1.0.0"
licence = "Apache-2.0"
language = "mul"
description = "Customer files and SPEI orders as JSON, from texts in Spanish and English."
"""
_GIVEN: Final = {
    "H": ("Andrés", "Bruno", "Diego", "Emilio", "Javier", "Mateo", "Óscar", "Raúl", "Sergio", "Tomás"),
    "M": ("Ana", "Carla", "Elena", "Inés", "Julia", "Lucía", "Nora", "Paula", "Rosa", "Teresa"),
}
_SURNAMES: Final = (
    "Aguilar Bravo Castillo Duarte Estrada Flores Gómez Herrera Juárez López Méndez Navarro Ortega".split()
)
_STATES: Final = {"Jalisco": "JC", "Puebla": "PL", "Sonora": "SR", "Yucatán": "YN", "Nuevo León": "NL", "Oaxaca": "OC"}
_STREETS: Final = ("Av. Juárez", "Calle Hidalgo", "Paseo del Sol", "Calle Morelos", "Av. Central")
_DISTRICTS: Final = ("Centro", "Del Valle", "Las Flores", "San Pedro", "Reforma")
_WORK: Final = {
    "en": ("nurse", "engineer", "teacher", "cook"),
    "es": ("enfermería", "ingeniería", "docencia", "cocina"),
}
_RISK: Final = {
    "bajo": {"en": "low", "es": "bajo"},
    "medio": {"en": "medium", "es": "medio"},
    "alto": {"en": "high", "es": "alto"},
}
_BANKS: Final = ("002", "012", "014", "021", "044", "072", "127", "137")
_CONCEPTS: Final = ("Renta", "Factura", "Honorarios", "Colegiatura", "Seguro", "Abono")
_VOWELS: Final = frozenset("AEIOU")
_ALPHABET: Final = "ABCDEFGHIJKLMNPQRSTUVWXYZ123456789"

_KYC_TEXT: Final = {
    "es": "Llena el expediente de esta persona como un objeto JSON con los campos nombre, apellido_paterno, "
    "apellido_materno, fecha_nacimiento (AAAA-MM-DD), curp, rfc, domicilio (calle, colonia, codigo_postal, estado), "
    'ocupacion, ingreso_mensual (texto con dos decimales), expuesta_politicamente (booleano) y riesgo ("bajo", "medio" '
    'o "alto").\n\n{given} {father} {mother} nació el {day}. Su CURP es {curp} y su RFC {rfc}. Vive en {street}, '
    "colonia {district}, C.P. {code}, {state}. Ocupación: {work}. Gana ${income} al mes. {exposed} Su riesgo es "
    "{risk}.",
    "en": "Fill in this person's file as a JSON object with the fields nombre, apellido_paterno, apellido_materno, "
    "fecha_nacimiento (YYYY-MM-DD), curp, rfc, domicilio (calle, colonia, codigo_postal, estado), ocupacion, "
    "ingreso_mensual (a string with two decimals), expuesta_politicamente (a boolean) and riesgo (one of bajo, medio, "
    "alto for low, medium, high).\n\n{given} {father} {mother} was born on {day}. The CURP is {curp}, the RFC {rfc}. "
    "Address: {street}, colonia {district}, postal code {code}, {state}. Occupation: {work}. Income: ${income} "
    "a month. "
    "{exposed} The risk is {risk}.",
}
_EXPOSED: Final = {
    "es": {True: "Es una persona políticamente expuesta.", False: "No es una persona políticamente expuesta."},
    "en": {True: "This is a politically exposed person.", False: "This is not a politically exposed person."},
}
_SPEI_TEXT: Final = {
    "es": "Escribe esta orden SPEI como un objeto JSON con los campos clabe_ordenante, clabe_beneficiario, "
    "nombre_beneficiario, monto (texto con dos decimales), concepto, referencia (texto de dígitos) y fecha "
    "(AAAA-MM-DD)."
    "\n\nEl {day} se envían ${amount} pesos de la cuenta CLABE {source} a {name}, CLABE {target}. Concepto: {concept}. "
    "Referencia {reference}.",
    "en": "Write this SPEI order as a JSON object with the fields clabe_ordenante, clabe_beneficiario, "
    "nombre_beneficiario, monto (a string with two decimals), concepto, referencia (a string of digits) and fecha "
    "(YYYY-MM-DD).\n\nOn {day} send ${amount} pesos from the account with CLABE {source} to {name}, CLABE {target}. "
    "Concept: {concept}. Reference {reference}.",
}


def build() -> dict[str, str]:
    """The pack's files by relative path; the same at every call. Every person and every order occurs once."""
    rng = Random(SEED)
    rows: dict[str, list[dict[str, Any]]] = {"train": [], "test": [], "examples": []}
    for kind, make in (("kyc", _person), ("spei", _order)):
        for language in ("es", "en"):
            for split, count in COUNTS.items():
                for index in range(count):
                    prompt, document, model = make(rng, language)
                    base = {"prompt": prompt, "category": kind}
                    if split == "examples":
                        rows[split].append({**base, "completion": json.dumps(document, ensure_ascii=False)})
                    else:
                        rows[split].append({"id": f"{kind}-{language}-{index:03d}", **base, **_judged(document, model)})
    return {
        "pack.toml": _MANIFEST,
        **{f"tasks/{split}.jsonl": _lines(rows[split]) for split in ("train", "test")},
        "examples.jsonl": _lines(rows["examples"]),
    }


def _judged(document: dict[str, Any], model: str) -> dict[str, Any]:
    money = "ingreso_mensual" if model == "kyc_person" else "monto"
    spec = {"model": model, "expected": document, "compare": {money: "decimal"}}
    return {"difficulty": len(document), "verifier": "json", "spec": spec}


def _person(rng: Random, language: str) -> tuple[str, dict[str, Any], str]:
    sex = rng.choice("HM")
    given, father, mother = rng.choice(_GIVEN[sex]), rng.choice(_SURNAMES), rng.choice(_SURNAMES)
    born = date(1950, 1, 1) + timedelta(days=rng.randrange(20_000))
    state = rng.choice(list(_STATES))
    curp = _curp(given, father, mother, born, sex, _STATES[state], rng)
    rfc = curp[:10] + "".join(rng.choice(_ALPHABET) for _ in range(3))
    income = f"{rng.randrange(6_000, 90_000)}.{rng.randrange(100):02d}"
    exposed, risk = rng.random() < 0.2, rng.choice(list(_RISK))
    street = f"{rng.choice(_STREETS)} {rng.randrange(1, 999)}"
    home = {
        "calle": street,
        "colonia": rng.choice(_DISTRICTS),
        "codigo_postal": f"{rng.randrange(1000, 99999):05d}",
        "estado": state,
    }
    work = rng.choice(_WORK[language])
    document = {
        "nombre": given,
        "apellido_paterno": father,
        "apellido_materno": mother,
        "fecha_nacimiento": born.isoformat(),
        "curp": curp,
        "rfc": rfc,
        "domicilio": home,
        "ocupacion": work,
        "ingreso_mensual": income,
        "expuesta_politicamente": exposed,
        "riesgo": risk,
    }
    told = {
        "given": given,
        "father": father,
        "mother": mother,
        "day": _told(born, language),
        "curp": curp,
        "rfc": rfc,
        "street": street,
        "district": home["colonia"],
        "code": home["codigo_postal"],
        "state": state,
        "work": work,
        "income": f"{float(income):,.2f}",
        "exposed": _EXPOSED[language][exposed],
        "risk": _RISK[risk][language],
    }
    return _KYC_TEXT[language].format(**told), document, "kyc_person"


def _order(rng: Random, language: str) -> tuple[str, dict[str, Any], str]:
    source, target = _clabe(rng), _clabe(rng)
    name = f"{rng.choice(_GIVEN[rng.choice('HM')])} {rng.choice(_SURNAMES)}"
    cents = rng.randrange(10_000, 90_000_000)
    day = date(2026, 1, 1) + timedelta(days=rng.randrange(365))
    document = {
        "clabe_ordenante": source,
        "clabe_beneficiario": target,
        "nombre_beneficiario": name,
        "monto": f"{cents // 100}.{cents % 100:02d}",
        "concepto": f"{rng.choice(_CONCEPTS)} {rng.randrange(1, 999)}",
        "referencia": str(rng.randrange(1, 10_000_000)),
        "fecha": day.isoformat(),
    }
    told = {
        "source": source,
        "target": target,
        "name": name,
        "amount": f"{cents // 100:,}.{cents % 100:02d}",
        "concept": document["concepto"],
        "reference": document["referencia"],
        "day": _told(day, language),
    }
    return _SPEI_TEXT[language].format(**told), document, "spei_transfer"


def _told(day: date, language: str) -> str:
    months = {
        "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre".split(),
        "en": "January February March April May June July August September October November December".split(),
    }
    name = months[language][day.month - 1]
    return f"{day.day} de {name} de {day.year}" if language == "es" else f"{name} {day.day}, {day.year}"


def _clabe(rng: Random) -> str:
    first = rng.choice(_BANKS) + "".join(str(rng.randrange(10)) for _ in range(14))
    return first + str(clabe_digit(first))


def _curp(given: str, father: str, mother: str, born: date, sex: str, state: str, rng: Random) -> str:
    """A CURP by RENAPO's rule, the two last characters aside: there the first is drawn, as if no one else had it."""
    one, two, three = (_plain(name) for name in (father, mother, given))
    vowel = next((char for char in one[1:] if char in _VOWELS), "X")
    inner = "".join(next((char for char in name[1:] if char not in _VOWELS), "X") for name in (one, two, three))
    first = f"{one[0]}{vowel}{two[0]}{three[0]}{born:%y%m%d}{sex}{state}{inner}"
    first += str(rng.randrange(10)) if born.year < 2000 else rng.choice("ABCDEFGH")
    return first + str(curp_digit(first))


def _plain(name: str) -> str:
    return "".join(char for char in unicodedata.normalize("NFD", name.upper()) if not unicodedata.combining(char))


def _lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
