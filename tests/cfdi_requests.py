"""Requests that the cfdi tests build invoices from."""

from __future__ import annotations

import copy
from typing import Any

Json = dict[str, Any]

IVA_16: Json = {"impuesto": "002", "tipo_factor": "Tasa", "tasa_o_cuota": "0.160000"}
IEPS_8: Json = {"impuesto": "003", "tipo_factor": "Tasa", "tasa_o_cuota": "0.080000"}
EXENTO: Json = {"impuesto": "002", "tipo_factor": "Exento"}
ISR_10: Json = {"impuesto": "001", "tipo_factor": "Tasa", "tasa_o_cuota": "0.100000"}
IVA_HELD: Json = {"impuesto": "002", "tipo_factor": "Tasa", "tasa_o_cuota": "0.106667"}


def line(**values: Any) -> Json:
    start = {
        "clave_prod_serv": "80101500",
        "clave_unidad": "E48",
        "descripcion": "Consultoría de procesos",
        "cantidad": "1",
        "valor_unitario": "1000.00",
        "objeto_imp": "02",
        "traslados": [IVA_16],
        "retenciones": [],
    }
    return copy.deepcopy(start | values)


def request(**values: Any) -> Json:
    start = {
        "tipo": "I",
        "fecha": "2026-11-30T10:00:00",
        "lugar_expedicion": "06600",
        "moneda": "MXN",
        "metodo_pago": "PUE",
        "forma_pago": "03",
        "exportacion": "01",
        "emisor": {"rfc": "CACX7605101P8", "nombre": "XOCHILT CASAS CHAVEZ", "regimen_fiscal": "612"},
        "receptor": {
            "rfc": "EKU9003173C9",
            "nombre": "ESCUELA KEMPER URGATE",
            "domicilio_fiscal": "36257",
            "regimen_fiscal": "601",
            "uso_cfdi": "G03",
        },
        "conceptos": [
            line(),
            line(
                clave_prod_serv="80121600",
                descripcion="Honorarios",
                cantidad="2",
                valor_unitario="250.50",
                descuento="50.00",
                retenciones=[ISR_10, IVA_HELD],
            ),
        ],
    }
    return copy.deepcopy(start | values)


PUBLIC: Json = {
    "rfc": "XAXX010101000",
    "nombre": "PUBLICO EN GENERAL",
    "domicilio_fiscal": "06600",
    "regimen_fiscal": "616",
    "uso_cfdi": "S01",
}

REQUESTS: dict[str, Json] = {
    "ingreso": request(),
    "simple": request(conceptos=[line()]),
    "exento": request(conceptos=[line(traslados=[EXENTO]), line(descripcion="Renta", traslados=[EXENTO])]),
    "ieps": request(conceptos=[line(traslados=[IEPS_8, IVA_16])]),
    "sin_objeto": request(conceptos=[line(objeto_imp="01", traslados=[])]),
    "dolares": request(moneda="USD", tipo_cambio="18.2500", conceptos=[line()]),
    "credito": request(metodo_pago="PPD", forma_pago="99", conceptos=[line()]),
    "publico": request(
        receptor=PUBLIC,
        informacion_global={"periodicidad": "04", "meses": "11", "anio": "2026"},
        conceptos=[line(clave_prod_serv="01010101", clave_unidad="ACT", descripcion="Venta")],
    ),
    "egreso": request(
        tipo="E",
        receptor=request()["receptor"] | {"uso_cfdi": "G02"},
        relacionados=[{"tipo_relacion": "01", "uuids": ["5FB2822E-396D-4725-8521-CDC4BDD20CCF"]}],
        conceptos=[line()],
    ),
}
