"""Draw invoice requests: invented parties with well-formed RFCs, real catalogue codes, amounts with two decimals."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from veredicto_verifier.verifiers.cfdi.rfc import check_digit

Json = dict[str, Any]
Draw = Callable[[random.Random, Json], None]

COMPANIES = (
    "ACEROS DEL NORTE", "ALIMENTOS BUENAVISTA", "BODEGAS SAN JACINTO", "CARTONES Y EMPAQUES TULA", "CLINICA LOS SAUCES",
    "DISTRIBUIDORA EL FARO", "EDITORIAL TRES RIOS", "ESCUELA MONTE ALBAN", "FERRETERIA & HERRAJES LUNA",
    "GRUPO PAPELERO ATLAS", "HERRERIA CAMPOS", "IMPULSORA MAYA", "JUGUETES ARCOIRIS", "LABORATORIOS VIDAL",
    "MUEBLES COYOACAN", "NAVIERA BAHIA AZUL", "OPTICA CENTRAL", "PINTURAS QUETZAL", "REFACCIONES TOLTECA",
    "SERVICIOS LOGISTICOS BAJIO", "TEXTILES PEÑA Y HERMANOS", "UNIFORMES LEON", "VIVEROS TEPOZTLAN", "ZAPATERIA NUÑO",
)  # fmt: skip
GIVEN = ("ANA", "BEATRIZ", "CARLOS", "DIEGO", "ELENA", "FERNANDO", "GABRIELA", "HUGO", "IRMA", "JAVIER", "LUCIA")
SURNAMES = ("ARANDA", "BRAVO", "CASTAÑEDA", "DUARTE", "ESQUIVEL", "FLORES", "GALINDO", "HUERTA", "IBARRA", "JUAREZ")
PLACES = ("06600", "64000", "44100", "97000", "76000", "36257", "03100", "11560", "72000", "20000")
FRONTIER = ("22000", "32000", "88000", "21000")
GOODS = (
    ("43211503", "H87", "Computadora portátil", 1250000, 2490000),
    ("44121701", "H87", "Bolígrafo azul", 450, 1890),
    ("56101504", "H87", "Silla de oficina", 129900, 459900),
    ("52161505", "H87", "Pantalla de 43 pulgadas", 699900, 1299900),
    ("31161500", "XBX", "Caja de tornillos", 8990, 24550),
    ("25171500", "H87", "Limpiador de parabrisas", 15900, 38900),
    ("80101500", "E48", "Consultoría de procesos", 350000, 1800000),
    ("81111500", "HUR", "Hora de desarrollo de software", 45000, 120000),
    ("82121500", "E48", "Impresión de catálogos", 99000, 350000),
)
ZERO_RATED = (
    ("50221101", "KGM", "Maíz en grano", 890, 2450),
    ("51101500", "H87", "Antibiótico de patente", 12900, 89000),
    ("55101500", "H87", "Libro impreso", 14900, 69900),
    ("50131700", "LTR", "Leche entera", 1990, 2990),
)
EXEMPT = (
    ("85121502", "E48", "Consulta médica", 60000, 150000),
    ("86121500", "E48", "Colegiatura de primaria", 250000, 650000),
    ("80131502", "MON", "Renta de casa habitación", 850000, 2200000),
)
FEES = (
    ("80121600", "E48", "Honorarios por asesoría legal", 500000, 2500000),
    ("84111500", "E48", "Honorarios por contabilidad", 300000, 1200000),
)
SNACKS = (
    ("50192100", "H87", "Bolsa de botanas", 1290, 4590),
    ("50181900", "H87", "Caja de galletas", 2990, 7990),
)
QUANTITIES = ("1", "2", "3", "4", "5", "8", "10", "12", "1.5", "2.25", "0.5")
LETTERS = "ABCDEFGHIJKLMNPQRSTUVWXYZ0123456789"


def draw_request(category: str, key: str) -> Json:
    """The request of one category and key; the same for ever."""
    source = random.Random(f"cfdi-mini/1/{category}/{key}")
    request = _start(source)
    CATEGORIES[category](source, request)
    return request


def _start(source: random.Random) -> Json:
    moment = f"2026-{source.randint(1, 11):02}-{source.randint(1, 28):02}"
    return {
        "tipo": "I",
        "fecha": f"{moment}T{source.randint(8, 19):02}:{source.randint(0, 59):02}:{source.randint(0, 59):02}",
        "lugar_expedicion": source.choice(PLACES),
        "moneda": "MXN",
        "metodo_pago": "PUE",
        "forma_pago": source.choice(("01", "03", "04", "28")),
        "exportacion": "01",
        "emisor": _company(source),
        "receptor": _receiver(source),
        "conceptos": [],
    }


def _rfc(source: random.Random, letters: str) -> str:
    year, month, day = source.randint(60, 99), source.randint(1, 12), source.randint(1, 28)
    start = f"{letters}{year:02}{month:02}{day:02}{source.choice(LETTERS)}{source.choice(LETTERS)}"
    return start + (check_digit(start + "0") or "0")


def _company(source: random.Random) -> Json:
    name = source.choice(COMPANIES)
    words = [word for word in name.split() if len(word) > 1]
    letters = (words[0][0] + words[1][0] + words[-1][1]).upper()
    return {"rfc": _rfc(source, letters), "nombre": name, "regimen_fiscal": "601"}


def _person(source: random.Random, regime: str) -> Json:
    given, first, second = source.choice(GIVEN), source.choice(SURNAMES), source.choice(SURNAMES)
    rfc = _rfc(source, first[:2] + second[0] + given[0])
    return {"rfc": rfc, "nombre": f"{given} {first} {second}", "regimen_fiscal": regime}


def _receiver(source: random.Random) -> Json:
    party = _company(source) if source.random() < 0.5 else _person(source, "612")
    return {**party, "domicilio_fiscal": source.choice(PLACES), "uso_cfdi": source.choice(("G01", "G03"))}


def _line(source: random.Random, goods: tuple[tuple[str, str, str, int, int], ...], taxes: list[Json]) -> Json:
    product, unit, text, low, high = source.choice(goods)
    cents = source.randint(low, high)
    return {
        "clave_prod_serv": product,
        "clave_unidad": unit,
        "descripcion": text,
        "cantidad": source.choice(QUANTITIES) if unit in ("KGM", "LTR", "HUR") else str(source.randint(1, 12)),
        "valor_unitario": f"{cents // 100}.{cents % 100:02}",
        "objeto_imp": "02" if taxes else "01",
        "traslados": taxes,
        "retenciones": [],
    }


def _iva(rate: str) -> list[Json]:
    return [{"impuesto": "002", "tipo_factor": "Tasa", "tasa_o_cuota": rate}]


def _exempt() -> list[Json]:
    return [{"impuesto": "002", "tipo_factor": "Exento"}]


def _draw_iva_16(source: random.Random, request: Json) -> None:
    request["conceptos"] = [_line(source, GOODS, _iva("0.160000")) for _ in range(source.randint(1, 3))]


def _draw_iva_8(source: random.Random, request: Json) -> None:
    request["lugar_expedicion"] = source.choice(FRONTIER)
    request["conceptos"] = [_line(source, GOODS, _iva("0.080000")) for _ in range(source.randint(1, 3))]


def _draw_iva_0(source: random.Random, request: Json) -> None:
    request["conceptos"] = [_line(source, ZERO_RATED, _iva("0.000000")) for _ in range(source.randint(1, 3))]


def _draw_exento(source: random.Random, request: Json) -> None:
    request["conceptos"] = [_line(source, EXEMPT, _exempt()) for _ in range(source.randint(1, 2))]


def _draw_retenciones(source: random.Random, request: Json) -> None:
    request["emisor"] = _person(source, "612")
    party = _company(source)
    request["receptor"] = {**party, "domicilio_fiscal": source.choice(PLACES), "uso_cfdi": "G03"}
    line = _line(source, FEES, _iva("0.160000"))
    line["cantidad"] = "1"
    line["retenciones"] = [
        {"impuesto": "001", "tipo_factor": "Tasa", "tasa_o_cuota": "0.100000"},
        {"impuesto": "002", "tipo_factor": "Tasa", "tasa_o_cuota": "0.106667"},
    ]
    request["conceptos"] = [line]


def _draw_descuento(source: random.Random, request: Json) -> None:
    _draw_iva_16(source, request)
    for line in request["conceptos"]:
        whole = int(line["valor_unitario"].replace(".", "")) * int(float(line["cantidad"]))
        cents = whole * source.choice((5, 10, 15, 20)) // 100
        line["descuento"] = f"{cents // 100}.{cents % 100:02}"


def _draw_egreso(source: random.Random, request: Json) -> None:
    _draw_iva_16(source, request)
    request["tipo"] = "E"
    request["receptor"]["uso_cfdi"] = "G02"
    digits = "".join(source.choice("0123456789ABCDEF") for _ in range(32))
    uuid = f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
    request["relacionados"] = [{"tipo_relacion": source.choice(("01", "03")), "uuids": [uuid]}]


def _draw_mixto(source: random.Random, request: Json) -> None:
    lines = [_line(source, GOODS, _iva("0.160000")), _line(source, ZERO_RATED, _iva("0.000000"))]
    lines.append(_line(source, EXEMPT, source.choice(([], _exempt()))))
    source.shuffle(lines)
    request["conceptos"] = lines


def _draw_dolares(source: random.Random, request: Json) -> None:
    _draw_iva_16(source, request)
    request["moneda"] = "USD"
    request["tipo_cambio"] = f"{source.randint(17, 20)}.{source.randint(0, 9999):04}"


def _draw_credito(source: random.Random, request: Json) -> None:
    _draw_iva_16(source, request)
    request |= {"metodo_pago": "PPD", "forma_pago": "99", "condiciones_de_pago": f"{source.choice((15, 30, 60))} días"}
    request |= {"serie": source.choice("ABCF"), "folio": str(source.randint(100, 99999))}


def _draw_ieps(source: random.Random, request: Json) -> None:
    taxes = [{"impuesto": "003", "tipo_factor": "Tasa", "tasa_o_cuota": "0.080000"}, *_iva("0.160000")]
    request["conceptos"] = [_line(source, SNACKS, [dict(tax) for tax in taxes]) for _ in range(source.randint(1, 2))]


def _draw_publico(source: random.Random, request: Json) -> None:
    place = request["lugar_expedicion"]
    request["receptor"] = {
        "rfc": "XAXX010101000",
        "nombre": "PUBLICO EN GENERAL",
        "domicilio_fiscal": place,
        "regimen_fiscal": "616",
        "uso_cfdi": "S01",
    }
    request["informacion_global"] = {"periodicidad": "04", "meses": request["fecha"][5:7], "anio": "2026"}
    request["forma_pago"] = "01"
    ticket = (("01010101", "ACT", "Venta", 5000, 250000),)
    request["conceptos"] = [_line(source, ticket, _iva("0.160000")) for _ in range(source.randint(1, 3))]
    for line in request["conceptos"]:
        line |= {"cantidad": "1", "no_identificacion": f"T{source.randint(1000, 9999)}"}


CATEGORIES: dict[str, Draw] = {
    "iva_16": _draw_iva_16,
    "iva_8": _draw_iva_8,
    "iva_0": _draw_iva_0,
    "exento": _draw_exento,
    "retenciones": _draw_retenciones,
    "descuento": _draw_descuento,
    "egreso": _draw_egreso,
    "mixto": _draw_mixto,
    "dolares": _draw_dolares,
    "credito": _draw_credito,
    "ieps": _draw_ieps,
    "publico_general": _draw_publico,
}
