"""Payments, payrolls and transfers for the cfdi tests, with single faults and the code that must name each.

A change is a pair of texts; where the second element of the document must stay consistent, a fault needs several.
"""

from __future__ import annotations

import functools
from decimal import Context as Arithmetic
from decimal import localcontext
from typing import Any

from lxml import etree

from tests.cfdi_mutants import Mutant, mutant
from tests.cfdi_requests import EXENTO, ISR_10, IVA_16, IVA_HELD, Json, line, request
from veredicto_verifier.verifier import Context
from veredicto_verifier.verifiers.cfdi import VERIFIER as CFDI
from veredicto_verifier.verifiers.cfdi.grading import CfdiTask
from veredicto_verifier.verifiers.cfdi.reference import write_reference

NOW = "2026-11-30T12:00:00"
COMPANY: Json = {"rfc": "EKU9003173C9", "nombre": "ESCUELA KEMPER URGATE", "regimen_fiscal": "601"}
FIRST, SECOND, THIRD, FOURTH = (f"5FB2822E-396D-4725-8521-CDC4BDD20CC{digit}" for digit in range(4))


def of_type(tipo: str, **values: Any) -> Json:
    start = request()
    del start["conceptos"], start["metodo_pago"], start["forma_pago"]
    return start | {"tipo": tipo} | values


def document(uuid: str, before: str, paid: str, **values: Any) -> Json:
    start = {
        "id_documento": uuid,
        "moneda": "MXN",
        "num_parcialidad": "1",
        "saldo_anterior": before,
        "importe_pagado": paid,
        "objeto_imp": "02",
        "traslados": [IVA_16],
    }
    return start | values


def payment(monto: str, documents: list[Json], **values: Any) -> Json:
    start = {"fecha_pago": "2026-11-29T12:00:00", "forma_de_pago": "03", "moneda": "MXN", "monto": monto}
    return start | {"documentos": documents} | values


PAYER: Json = request()["receptor"] | {"uso_cfdi": "CP01"}
EMPLOYEE: Json = {
    "curp": "CACX760510MGTSHC04",
    "num_seguridad_social": "12345678901",
    "fecha_inicio": "2020-01-15",
    "antiguedad": "P358W",
    "tipo_contrato": "01",
    "tipo_regimen": "02",
    "num_empleado": "120",
    "riesgo_puesto": "1",
    "periodicidad": "04",
    "cuenta": "032180000118359719",
    "salario_diario": "514.33",
    "estado": "GUA",
}
PAYROLL: Json = {
    "tipo": "O",
    "fecha_pago": "2026-11-30",
    "fecha_inicial": "2026-11-16",
    "fecha_final": "2026-11-30",
    "dias_pagados": "15",
    "patron": {"registro_patronal": "B5510768108"},
    "empleado": EMPLOYEE,
    "percepciones": [
        {"tipo": "001", "clave": "P001", "concepto": "Sueldo", "gravado": "7353.30"},
        {"tipo": "029", "clave": "P029", "concepto": "Vales", "gravado": "0.00", "exento": "500.00"},
    ],
    "deducciones": [
        {"tipo": "001", "clave": "D001", "concepto": "Seguridad social", "importe": "190.55"},
        {"tipo": "002", "clave": "D002", "concepto": "ISR", "importe": "802.10"},
    ],
    "otros_pagos": [
        {"tipo": "002", "clave": "O002", "concepto": "Subsidio", "importe": "100.00", "subsidio_causado": "120.00"}
    ],
}
WORKER: Json = {
    "rfc": "CACX7605101P8",
    "nombre": "XOCHILT CASAS CHAVEZ",
    "domicilio_fiscal": "36257",
    "regimen_fiscal": "605",
    "uso_cfdi": "CN01",
}

REQUESTS: dict[str, Json] = {
    "pago": of_type(
        "P", moneda="XXX", receptor=PAYER, pagos=[payment("1160.00", [document(FIRST, "1160.00", "1160.00")])]
    ),
    "pagos": of_type(
        "P",
        moneda="XXX",
        receptor=PAYER,
        pagos=[
            payment(
                "1500.00",
                [
                    document(FIRST, "1160.00", "1000.00"),
                    document(SECOND, "500.00", "500.00", folio="12", retenciones=[ISR_10, IVA_HELD]),
                ],
            ),
            payment(
                "100.00",
                [
                    document(THIRD, "1160.00", "1000.00", equivalencia="17.1234"),
                    document(FOURTH, "11.60", "11.60", moneda="USD", objeto_imp="01", traslados=[]),
                ],
                moneda="USD",
                tipo_cambio="17.1234",
            ),
        ],
    ),
    "pago_exento": of_type(
        "P",
        moneda="XXX",
        receptor=PAYER,
        pagos=[payment("500.00", [document(FIRST, "500.00", "500.00", traslados=[EXENTO])])],
    ),
    "nomina": of_type("N", metodo_pago="PUE", emisor=COMPANY, receptor=WORKER, nomina=PAYROLL),
    "traslado": of_type(
        "T",
        moneda="XXX",
        emisor=COMPANY,
        receptor=request()["receptor"] | {"uso_cfdi": "S01"},
        conceptos=[
            line(clave_prod_serv="43211503", clave_unidad="H87", valor_unitario="0", objeto_imp="01", traslados=[])
        ],
    ),
}


@functools.cache
def prepared(base: str) -> CfdiTask:
    """The task of a request; a base with `?` is judged without one."""
    asked = None if base.startswith("?") else REQUESTS[base]
    return CFDI.prepare(CFDI.spec.model_validate({"request": asked, "now": NOW}), Context())


@functools.cache
def base_text(base: str) -> str:
    task = prepared(base.removeprefix("?"))
    assert task.spec.request is not None
    assert task.expected is not None
    with localcontext(Arithmetic(prec=120)):
        root = write_reference(task.spec.request, task.expected, task.complement)
    return etree.tostring(root, encoding="unicode")


def mutant_text(one: Mutant) -> str:
    text = base_text(one.base)
    for old, new in one.changes:
        assert old in text, f"{one.name}: {old} is not in {text}"
        text = text.replace(old, new)
    return text


def attribute(name: str, base: str, code: str, found: str, put: str) -> Mutant:
    """One attribute written otherwise, `Name="value"`."""
    return mutant(name, base, code, (f" {found}", f" {put}" if put else ""))


LINE = 'ClaveUnidad="ACT" Descripcion="Pago" ValorUnitario="0" Importe="0" ObjetoImp="01"'
TRASLADO_DR = 'BaseDR="1000.00" ImpuestoDR="002" TipoFactorDR="Tasa" TasaOCuotaDR="0.160000" ImporteDR="160.00"'
TRASLADO_P = 'BaseP="1000.00" ImpuestoP="002" TipoFactorP="Tasa" TasaOCuotaP="0.160000" ImporteP="160.00"'
TAXES_DR = (
    f"<pago20:ImpuestosDR><pago20:TrasladosDR><pago20:TrasladoDR {TRASLADO_DR}/></pago20:TrasladosDR>"
    "</pago20:ImpuestosDR>"
)
TAXES_P = (
    f"<pago20:ImpuestosP><pago20:TrasladosP><pago20:TrasladoP {TRASLADO_P}/></pago20:TrasladosP></pago20:ImpuestosP>"
)
SPEI = 'TipoCadPago="01" CertPago="QQ==" CadPago="x" SelloPago="QQ=="'
HELD_P = '<pago20:RetencionP ImpuestoP="001" ImporteP="52.45"/>'
MONTO = 'Monto="1160.00"'

PAYMENTS = (
    mutant(
        "pago-sin-complemento",
        "?pago",
        "cfdi.pagos_missing",
        ("<cfdi:Complemento>", "<cfdi:Addenda>"),
        ("</cfdi:Complemento>", "</cfdi:Addenda>"),
    ),
    attribute("pago-tipo", "?pago", "cfdi.crp20101", 'TipoDeComprobante="P"', 'TipoDeComprobante="T"'),
    attribute("pago-exportacion", "pago", "cfdi.crp20102", 'Exportacion="01"', 'Exportacion="03"'),
    attribute("pago-subtotal", "pago", "cfdi.crp20103", 'SubTotal="0"', 'SubTotal="0.00"'),
    attribute("pago-total", "pago", "cfdi.crp20110", 'Total="0"', 'Total="0.00"'),
    mutant(
        "pago-dos-conceptos",
        "pago",
        "cfdi.crp20111",
        ("</cfdi:Conceptos>", f'<cfdi:Concepto ClaveProdServ="84111506" Cantidad="1" {LINE}/></cfdi:Conceptos>'),
    ),
    mutant(
        "pago-con-predial",
        "pago",
        "cfdi.crp20112",
        (f"{LINE}/>", f'{LINE}><cfdi:CuentaPredial Numero="1"/></cfdi:Concepto>'),
    ),
    attribute("pago-producto", "pago", "cfdi.crp20113", 'ClaveProdServ="84111506"', 'ClaveProdServ="84111505"'),
    attribute("pago-identificacion", "pago", "cfdi.crp20114", 'Cantidad="1"', 'NoIdentificacion="A" Cantidad="1"'),
    attribute("pago-cantidad", "pago", "cfdi.crp20115", 'Cantidad="1"', 'Cantidad="1.0"'),
    attribute("pago-unidad", "pago", "cfdi.crp20116", 'ClaveUnidad="ACT"', 'ClaveUnidad="E48"'),
    attribute(
        "pago-nombre-de-unidad", "pago", "cfdi.crp20117", 'ClaveUnidad="ACT"', 'ClaveUnidad="ACT" Unidad="Actividad"'
    ),
    attribute("pago-descripcion", "pago", "cfdi.crp20118", 'Descripcion="Pago"', 'Descripcion="Pagos"'),
    attribute("pago-valor", "pago", "cfdi.crp20119", 'ValorUnitario="0"', 'ValorUnitario="0.00"'),
    attribute("pago-importe", "pago", "cfdi.crp20120", 'Importe="0"', 'Importe="0.00"'),
    attribute("pago-descuento", "pago", "cfdi.crp20121", 'Importe="0"', 'Importe="0" Descuento="0"'),
    attribute("pago-objeto", "pago", "cfdi.crp20122", 'ObjetoImp="01"', 'ObjetoImp="03"'),
    attribute(
        "pago-total-iva-retenido",
        "pagos",
        "cfdi.crp20201",
        'TotalRetencionesIVA="55.94"',
        'TotalRetencionesIVA="55.95"',
    ),
    attribute(
        "pago-total-isr-retenido",
        "pagos",
        "cfdi.crp20202",
        'TotalRetencionesISR="52.45"',
        'TotalRetencionesISR="52.46"',
    ),
    attribute(
        "pago-total-ieps-retenido",
        "pagos",
        "cfdi.crp20203",
        'TotalRetencionesISR="52.45"',
        'TotalRetencionesISR="52.45" TotalRetencionesIEPS="1.00"',
    ),
    attribute(
        "pago-total-base-16",
        "pago",
        "cfdi.crp20204",
        'TotalTrasladosBaseIVA16="1000.00"',
        'TotalTrasladosBaseIVA16="1000.01"',
    ),
    attribute(
        "pago-total-iva-16",
        "pago",
        "cfdi.crp20205",
        'TotalTrasladosImpuestoIVA16="160.00"',
        'TotalTrasladosImpuestoIVA16="160.01"',
    ),
    *(
        attribute(
            f"pago-total-{name}",
            "pago",
            f"cfdi.crp{code}",
            MONTO.replace("Monto", "MontoTotalPagos"),
            f'TotalTraslados{name}="1.00" MontoTotalPagos="1160.00"',
        )
        for name, code in (("BaseIVA8", 20206), ("ImpuestoIVA8", 20207), ("BaseIVA0", 20208), ("ImpuestoIVA0", 20209))
    ),
    attribute(
        "pago-total-exento",
        "pago_exento",
        "cfdi.crp20210",
        'TotalTrasladosBaseIVAExento="500.00"',
        'TotalTrasladosBaseIVAExento="500.01"',
    ),
    attribute("pago-total-montos", "pago", "cfdi.crp20211", 'MontoTotalPagos="1160.00"', 'MontoTotalPagos="1160.01"'),
    attribute("pago-por-definir", "pago", "cfdi.crp20212", 'FormaDePagoP="03"', 'FormaDePagoP="99"'),
    attribute("pago-moneda-xxx", "pago", "cfdi.crp20213", 'MonedaP="MXN"', 'MonedaP="XXX"'),
    attribute("pago-sin-cambio", "pagos", "cfdi.crp20214", 'TipoCambioP="17.1234"', ""),
    attribute("pago-cambio-en-pesos", "pago", "cfdi.crp20215", 'TipoCambioP="1"', 'TipoCambioP="1.0"'),
    attribute("pago-monto-corto", "pago", "cfdi.crp20217", MONTO, 'Monto="1159.99"'),
    attribute("pago-monto-cero", "pago", "cfdi.crp20218", MONTO, 'Monto="0.00"'),
    attribute("pago-monto-decimales", "pago", "cfdi.crp20219", MONTO, 'Monto="1160.000"'),
    attribute(
        "pago-banco-en-efectivo",
        "pago",
        "cfdi.crp20221",
        'FormaDePagoP="03"',
        'FormaDePagoP="01" RfcEmisorCtaOrd="BBA830831LJ2"',
    ),
    attribute("pago-banco-sin-nombre", "pago", "cfdi.crp20223", MONTO, f'{MONTO} RfcEmisorCtaOrd="XEXX010101000"'),
    attribute(
        "pago-cuenta-en-efectivo",
        "pago",
        "cfdi.crp20224",
        'FormaDePagoP="03"',
        'FormaDePagoP="01" CtaOrdenante="0123456789"',
    ),
    attribute("pago-cuenta-patron", "pago", "cfdi.crp20225", MONTO, f'{MONTO} CtaOrdenante="01234567891"'),
    attribute("pago-beneficiario-patron", "pago", "cfdi.crp20226", MONTO, f'{MONTO} CtaBeneficiario="01234567891"'),
    attribute(
        "pago-banco-beneficiario",
        "pago",
        "cfdi.crp20227",
        'FormaDePagoP="03"',
        'FormaDePagoP="06" RfcEmisorCtaBen="BBA830831LJ2"',
    ),
    attribute(
        "pago-cuenta-beneficiario",
        "pago",
        "cfdi.crp20228",
        'FormaDePagoP="03"',
        'FormaDePagoP="06" CtaBeneficiario="0123456789"',
    ),
    attribute("pago-cadena-en-efectivo", "pago", "cfdi.crp20229", 'FormaDePagoP="03"', f'FormaDePagoP="01" {SPEI}'),
    attribute("pago-cadena-incompleta", "pago", "cfdi.crp20230", MONTO, f'{MONTO} TipoCadPago="01" CertPago="QQ=="'),
    attribute("pago-cadena-sin-tipo", "pago", "cfdi.crp20231", MONTO, f'{MONTO} SelloPago="QQ=="'),
    attribute("pago-documento-xxx", "pago", "cfdi.crp20236", 'MonedaDR="MXN"', 'MonedaDR="XXX"'),
    attribute("pago-sin-equivalencia", "pagos", "cfdi.crp20237", 'EquivalenciaDR="17.1234"', ""),
    attribute("pago-equivalencia-propia", "pago", "cfdi.crp20238", 'EquivalenciaDR="1"', 'EquivalenciaDR="1.1"'),
    attribute("pago-saldo-cero", "pago", "cfdi.crp20239", 'ImpSaldoAnt="1160.00"', 'ImpSaldoAnt="0.00"'),
    attribute("pago-saldo-decimales", "pago", "cfdi.crp20240", 'ImpSaldoAnt="1160.00"', 'ImpSaldoAnt="1160.000"'),
    attribute("pago-pagado-cero", "pago", "cfdi.crp20241", 'ImpPagado="1160.00"', 'ImpPagado="0.00"'),
    attribute("pago-pagado-decimales", "pago", "cfdi.crp20242", 'ImpPagado="1160.00"', 'ImpPagado="1160.000"'),
    attribute(
        "pago-insoluto-decimales", "pago", "cfdi.crp20243", 'ImpSaldoInsoluto="0.00"', 'ImpSaldoInsoluto="0.000"'
    ),
    attribute("pago-insoluto", "pagos", "cfdi.crp20244", 'ImpSaldoInsoluto="160.00"', 'ImpSaldoInsoluto="160.01"'),
    attribute("pago-mayor-que-saldo", "pago", "cfdi.crp20244", 'ImpSaldoAnt="1160.00"', 'ImpSaldoAnt="1159.00"'),
    mutant("pago-sin-impuestos", "pago", "cfdi.crp20246", (TAXES_DR, "")),
    attribute("pago-impuestos-sin-objeto", "pago", "cfdi.crp20247", 'ObjetoImpDR="02"', 'ObjetoImpDR="01"'),
    mutant("pago-impuestos-vacio", "pago", "cfdi.crp20248", (TAXES_DR, "<pago20:ImpuestosDR/>")),
    attribute(
        "pago-retencion-exenta",
        "pagos",
        "cfdi.crp20252",
        'ImpuestoDR="001" TipoFactorDR="Tasa"',
        'ImpuestoDR="001" TipoFactorDR="Exento"',
    ),
    attribute("pago-retencion-tasa", "pagos", "cfdi.crp20253", 'TasaOCuotaDR="0.100000"', 'TasaOCuotaDR="0.360000"'),
    attribute("pago-retencion-limites", "pagos", "cfdi.crp20254", 'ImporteDR="52.45"', 'ImporteDR="62.45"'),
    attribute(
        "pago-exento-con-importe",
        "pago_exento",
        "cfdi.crp20258",
        'TipoFactorDR="Exento"',
        'TipoFactorDR="Exento" ImporteDR="0.00"',
    ),
    attribute("pago-tasa-sin-importe", "pago", "cfdi.crp20259", 'ImporteDR="160.00"', ""),
    attribute("pago-tasa-inventada", "pago", "cfdi.crp20260", 'TasaOCuotaDR="0.160000"', 'TasaOCuotaDR="0.150000"'),
    attribute("pago-traslado-limites", "pago", "cfdi.crp20261", 'ImporteDR="160.00"', 'ImporteDR="161.00"'),
    mutant("pago-retencion-repetida", "pagos", "cfdi.crp20263", (HELD_P, HELD_P + HELD_P)),
    mutant(
        "pago-retencion-sin-total",
        "pagos",
        "cfdi.crp20264",
        (' TotalRetencionesIVA="55.94" TotalRetencionesISR="52.45"', ""),
    ),
    mutant("pago-retencion-suma", "pagos", "cfdi.crp20265", (HELD_P, HELD_P.replace("52.45", "52.46"))),
    attribute(
        "pago-resumen-exento",
        "pago_exento",
        "cfdi.crp20266",
        'TipoFactorP="Exento"',
        'TipoFactorP="Exento" ImporteP="0.00"',
    ),
    attribute("pago-sin-total-de-base", "pago", "cfdi.crp20267", 'TotalTrasladosBaseIVA16="1000.00"', ""),
    attribute("pago-base-suma", "pago", "cfdi.crp20268", 'BaseP="1000.00"', 'BaseP="1000.01"'),
    attribute("pago-base-exenta", "pago_exento", "cfdi.crp20269", 'BaseP="500.00"', 'BaseP="500.01"'),
    mutant(
        "pago-traslado-repetido",
        "pago",
        "cfdi.crp20271",
        (f"<pago20:TrasladoP {TRASLADO_P}/>", f"<pago20:TrasladoP {TRASLADO_P}/>" * 2),
    ),
    attribute("pago-resumen-tasa", "pago", "cfdi.crp20272", 'TasaOCuotaP="0.160000"', 'TasaOCuotaP="0.150000"'),
    attribute("pago-sin-total-de-iva", "pago", "cfdi.crp20273", 'TotalTrasladosImpuestoIVA16="160.00"', ""),
    attribute("pago-importe-suma", "pago", "cfdi.crp20274", 'ImporteP="160.00"', 'ImporteP="160.01"'),
    attribute("pago-no-cubre", "pagos", "cfdi.crp20276", 'Monto="100.00"', 'Monto="10.00"'),
    attribute("pago-objeto-06", "pago", "cfdi.crp20278", 'ObjetoImpDR="02"', 'ObjetoImpDR="06"'),
    attribute("pago-objeto-07", "pago", "cfdi.crp20279", 'ObjetoImpDR="02"', 'ObjetoImpDR="07"'),
    mutant(
        "pago-impuesto-holgado",
        "pago",
        "cfdi.strict_payment_tax",
        (' BaseDR="1000.00"', ' BaseDR="1000"'),
        (' ImporteDR="160.00"', ' ImporteDR="160.05"'),
    ),
    mutant(
        "pago-grupo-ausente",
        "pago",
        "cfdi.strict_payment_groups",
        (
            TAXES_P,
            "",
        ),
    ),
    attribute(
        "pago-numero-con-signo", "pago", "cfdi.strict_payment_number", 'EquivalenciaDR="1"', 'EquivalenciaDR="+1"'
    ),
    attribute(
        "pago-otro-documento", "pago", "cfdi.match_complement", f'IdDocumento="{FIRST}"', f'IdDocumento="{SECOND}"'
    ),
    attribute(
        "pago-otra-fecha",
        "pago",
        "cfdi.match_complement",
        'FechaPago="2026-11-29T12:00:00"',
        'FechaPago="2026-11-28T12:00:00"',
    ),
)

PERCEPTION = (
    '<nomina12:Percepcion TipoPercepcion="029" Clave="P029" Concepto="Vales" ImporteGravado="0.00" '
    'ImporteExento="500.00"/>'
)
SUBSIDY = '<nomina12:SubsidioAlEmpleo SubsidioCausado="120.00"/>'
PAID_LINE = 'ValorUnitario="7953.30" Importe="7953.30" Descuento="992.65" ObjetoImp="01"'
CERTIFICATE_OF_BALANCE = (
    '<nomina12:CompensacionSaldosAFavor SaldoAFavor="{balance}" Año="{year}" RemanenteSalFav="{left}"/>'
)
TO_BALANCE = ('TipoOtroPago="002"', 'TipoOtroPago="004"')
EMPLOYER = 'RegistroPatronal="B5510768108"'
LEAVE = (
    '<nomina12:Incapacidades><nomina12:Incapacidad DiasIncapacidad="1" TipoIncapacidad="02" '
    'ImporteMonetario="{amount}"/></nomina12:Incapacidades></nomina12:Nomina>'
)
PENSION = (
    '<nomina12:JubilacionPensionRetiro {} IngresoAcumulable="0.00" IngresoNoAcumulable="0.00"/></nomina12:Percepciones>'
)
PERCEPTIONS_END = "</nomina12:Percepciones>"
PAYROLL_END = "</nomina12:Nomina>"
DETAILED = PERCEPTION.replace("/>", ">{}</nomina12:Percepcion>")
SHARES = '<nomina12:SubContratacion RfcLabora="EKU9003173C9" PorcentajeTiempo="60"/></nomina12:Receptor>'
FUNDS = "<nomina12:EntidadSNCF {}/></nomina12:Emisor>"


def balance(balance: str = "50.00", year: str = "2025", left: str = "0.00") -> tuple[str, str]:
    return SUBSIDY, CERTIFICATE_OF_BALANCE.format(balance=balance, year=year, left=left)


def within_employer(attributes: str) -> tuple[str, str]:
    return f"<nomina12:Emisor {EMPLOYER}/>", f"<nomina12:Emisor {EMPLOYER}>{FUNDS.format(attributes)}"


PAYROLLS = (
    mutant(
        "nomina-sin-complemento",
        "?nomina",
        "cfdi.nomina_missing",
        ("<cfdi:Complemento>", "<cfdi:Addenda>"),
        ("</cfdi:Complemento>", "</cfdi:Addenda>"),
    ),
    attribute("nomina-tipo", "?nomina", "cfdi.nom2", 'TipoDeComprobante="N"', 'TipoDeComprobante="E"'),
    attribute("nomina-exportacion", "nomina", "cfdi.nom3", 'Exportacion="01"', 'Exportacion="03"'),
    mutant(
        "nomina-global",
        "nomina",
        "cfdi.nom4",
        ("<cfdi:Emisor", '<cfdi:InformacionGlobal Periodicidad="04" Meses="11" Año="2026"/><cfdi:Emisor'),
    ),
    attribute("nomina-curp-de-empresa", "nomina", "cfdi.nom5", EMPLOYER, f'Curp="CACX760510MGTSHC04" {EMPLOYER}'),
    attribute("nomina-patron-sin-curp", "nomina", "cfdi.nom6", 'Rfc="EKU9003173C9"', 'Rfc="CACX7605101P8"'),
    attribute(
        "nomina-factura-adquirente",
        "nomina",
        "cfdi.nom7",
        'RegimenFiscal="601"',
        'RegimenFiscal="601" FacAtrAdquirente="0123456789"',
    ),
    attribute("nomina-a-empresa", "nomina", "cfdi.nom8", 'Rfc="CACX7605101P8"', 'Rfc="EKU9003173C9"'),
    attribute("nomina-regimen", "nomina", "cfdi.nom11", 'RegimenFiscalReceptor="605"', 'RegimenFiscalReceptor="612"'),
    mutant(
        "nomina-con-predial",
        "nomina",
        "cfdi.nom13",
        (f"{PAID_LINE}/>", f'{PAID_LINE}><cfdi:CuentaPredial Numero="1"/></cfdi:Concepto>'),
    ),
    attribute("nomina-producto", "nomina", "cfdi.nom14", 'ClaveProdServ="84111505"', 'ClaveProdServ="84111506"'),
    attribute("nomina-identificacion", "nomina", "cfdi.nom15", 'Cantidad="1"', 'NoIdentificacion="A" Cantidad="1"'),
    attribute("nomina-cantidad", "nomina", "cfdi.nom16", 'Cantidad="1"', 'Cantidad="1.0"'),
    attribute("nomina-unidad", "nomina", "cfdi.nom17", 'ClaveUnidad="ACT"', 'ClaveUnidad="E48"'),
    attribute(
        "nomina-nombre-de-unidad", "nomina", "cfdi.nom18", 'ClaveUnidad="ACT"', 'ClaveUnidad="ACT" Unidad="Actividad"'
    ),
    attribute(
        "nomina-descripcion", "nomina", "cfdi.nom19", 'Descripcion="Pago de nómina"', 'Descripcion="Pago de nomina"'
    ),
    attribute("nomina-valor", "nomina", "cfdi.nom20", 'ValorUnitario="7953.30"', 'ValorUnitario="7953.31"'),
    attribute("nomina-importe", "nomina", "cfdi.nom21", 'Importe="7953.30"', 'Importe="7953.31"'),
    attribute(
        "nomina-descuento", "nomina", "cfdi.nom22", 'Descuento="992.65" ObjetoImp', 'Descuento="992.66" ObjetoImp'
    ),
    attribute("nomina-objeto", "nomina", "cfdi.nom23", 'ObjetoImp="01"', 'ObjetoImp="03"'),
    mutant(
        "nomina-en-el-concepto",
        "nomina",
        "cfdi.nom30",
        (
            f"{PAID_LINE}/>",
            f'{PAID_LINE}><cfdi:ComplementoConcepto><nomina12:Nomina xmlns:nomina12="http://www.sat.gob.mx/nomina12"/></cfdi:ComplementoConcepto></cfdi:Concepto>',
        ),
    ),
    mutant(
        "nomina-sin-totales",
        "nomina",
        "cfdi.nom31",
        (' TotalPercepciones="7853.30"', ""),
        (' TotalOtrosPagos="100.00"', ""),
    ),
    attribute("nomina-ordinaria", "nomina", "cfdi.nom33", 'PeriodicidadPago="04"', 'PeriodicidadPago="99"'),
    attribute("nomina-extraordinaria", "nomina", "cfdi.nom34", 'TipoNomina="O"', 'TipoNomina="E"'),
    attribute(
        "nomina-fechas", "nomina", "cfdi.nom35", 'FechaInicialPago="2026-11-16"', 'FechaInicialPago="2026-12-16"'
    ),
    mutant(
        "nomina-sin-percepciones",
        "nomina",
        "cfdi.nom36",
        ("<nomina12:Percepciones", "<nomina12:Otras"),
        ("</nomina12:Percepciones", "</nomina12:Otras"),
    ),
    attribute(
        "nomina-total-percepciones",
        "nomina",
        "cfdi.nom37",
        'TotalPercepciones="7853.30"',
        'TotalPercepciones="7853.31"',
    ),
    mutant(
        "nomina-sin-deducciones",
        "nomina",
        "cfdi.nom38",
        ("<nomina12:Deducciones", "<nomina12:Otras"),
        ("</nomina12:Deducciones", "</nomina12:Otras"),
    ),
    attribute(
        "nomina-total-deducciones", "nomina", "cfdi.nom39", 'TotalDeducciones="992.65"', 'TotalDeducciones="992.66"'
    ),
    attribute("nomina-total-otros", "nomina", "cfdi.nom40", 'TotalOtrosPagos="100.00"', 'TotalOtrosPagos="100.01"'),
    attribute("nomina-sin-registro", "nomina", "cfdi.nom42", EMPLOYER, 'RfcPatronOrigen="EKU9003173C9"'),
    attribute("nomina-registro-de-mas", "nomina", "cfdi.nom43", 'TipoContrato="01"', 'TipoContrato="09"'),
    attribute("nomina-sin-riesgo", "nomina", "cfdi.nom44", 'RiesgoPuesto="1"', ""),
    mutant("nomina-mixtos-sin-monto", "nomina", "cfdi.nom48", within_employer('OrigenRecurso="IM"')),
    mutant(
        "nomina-propios-con-monto",
        "nomina",
        "cfdi.nom49",
        within_employer('OrigenRecurso="IP" MontoRecursoPropio="1.00"'),
    ),
    mutant(
        "nomina-monto-propio",
        "nomina",
        "cfdi.nom50",
        within_employer('OrigenRecurso="IM" MontoRecursoPropio="7953.30"'),
    ),
    attribute(
        "nomina-contratado-despues",
        "nomina",
        "cfdi.nom53",
        'FechaInicioRelLaboral="2020-01-15"',
        'FechaInicioRelLaboral="2026-12-15"',
    ),
    attribute("nomina-semanas", "nomina", "cfdi.nom54", 'Antigüedad="P358W"', 'Antigüedad="P359W"'),
    attribute("nomina-antiguedad", "nomina", "cfdi.nom55", 'Antigüedad="P358W"', 'Antigüedad="P6Y9M15D"'),
    attribute("nomina-regimen-de-trabajo", "nomina", "cfdi.nom57", 'TipoRegimen="02"', 'TipoRegimen="09"'),
    attribute("nomina-otro-regimen", "nomina", "cfdi.nom58", 'TipoContrato="01"', 'TipoContrato="99"'),
    attribute(
        "nomina-banco",
        "nomina",
        "cfdi.nom61",
        'CuentaBancaria="032180000118359719"',
        'Banco="116" CuentaBancaria="0123456789"',
    ),
    attribute(
        "nomina-cuenta-larga",
        "nomina",
        "cfdi.nom62",
        'CuentaBancaria="032180000118359719"',
        'CuentaBancaria="032180000118"',
    ),
    attribute(
        "nomina-clabe-con-banco",
        "nomina",
        "cfdi.nom63",
        'CuentaBancaria="032180000118359719"',
        'Banco="002" CuentaBancaria="032180000118359719"',
    ),
    attribute(
        "nomina-clabe-digito",
        "nomina",
        "cfdi.nom64",
        'CuentaBancaria="032180000118359719"',
        'CuentaBancaria="032180000118359718"',
    ),
    attribute(
        "nomina-cuenta-sin-banco",
        "nomina",
        "cfdi.nom65",
        'CuentaBancaria="032180000118359719"',
        'CuentaBancaria="0123456789"',
    ),
    attribute("nomina-estado", "nomina", "cfdi.nom66", 'ClaveEntFed="GUA"', 'ClaveEntFed="TX"'),
    mutant("nomina-porcentaje", "nomina", "cfdi.nom68", ('ClaveEntFed="GUA"/>', f'ClaveEntFed="GUA">{SHARES}')),
    attribute("nomina-gravado-y-exento", "nomina", "cfdi.nom69", 'TotalExento="500.00"', 'TotalExento="500.01"'),
    attribute("nomina-sueldos", "nomina", "cfdi.nom70", 'TotalSueldos="7853.30"', 'TotalSueldos="7853.31"'),
    attribute(
        "nomina-separacion",
        "nomina",
        "cfdi.nom71",
        'TotalSueldos="7853.30"',
        'TotalSueldos="7853.30" TotalSeparacionIndemnizacion="1.00"',
    ),
    attribute(
        "nomina-jubilacion",
        "nomina",
        "cfdi.nom72",
        'TotalSueldos="7853.30"',
        'TotalSueldos="7853.30" TotalJubilacionPensionRetiro="1.00"',
    ),
    attribute("nomina-gravado", "nomina", "cfdi.nom73", 'TotalGravado="7353.30"', 'TotalGravado="7353.31"'),
    attribute("nomina-exento", "nomina", "cfdi.nom74", 'TotalExento="500.00"', 'TotalExento="499.99"'),
    attribute("nomina-percepcion-cero", "nomina", "cfdi.nom75", 'ImporteExento="500.00"', 'ImporteExento="0.00"'),
    attribute("nomina-tipo-de-percepcion", "nomina", "cfdi.nom76", 'TipoPercepcion="029"', 'TipoPercepcion="007"'),
    attribute("nomina-sin-sueldos", "nomina", "cfdi.nom77", 'TotalSueldos="7853.30"', ""),
    attribute("nomina-indemnizacion", "nomina", "cfdi.nom78", 'TipoPercepcion="029"', 'TipoPercepcion="025"'),
    attribute("nomina-pension", "nomina", "cfdi.nom79", 'TipoPercepcion="029"', 'TipoPercepcion="039"'),
    mutant(
        "nomina-pension-unica",
        "nomina",
        "cfdi.nom80",
        ('TipoPercepcion="029"', 'TipoPercepcion="039"'),
        (PERCEPTIONS_END, PENSION.format('TotalParcialidad="500.00"')),
    ),
    mutant(
        "nomina-pension-parcial",
        "nomina",
        "cfdi.nom81",
        ('TipoPercepcion="029"', 'TipoPercepcion="044"'),
        (PERCEPTIONS_END, PENSION.format('TotalUnaExhibicion="500.00"')),
    ),
    attribute("nomina-acciones", "nomina", "cfdi.nom82", 'TipoPercepcion="029"', 'TipoPercepcion="045"'),
    mutant(
        "nomina-acciones-de-mas",
        "nomina",
        "cfdi.nom83",
        (PERCEPTION, DETAILED.format('<nomina12:AccionesOTitulos ValorMercado="1" PrecioAlOtorgarse="1"/>')),
    ),
    attribute("nomina-horas", "nomina", "cfdi.nom84", 'TipoPercepcion="029"', 'TipoPercepcion="019"'),
    mutant(
        "nomina-horas-de-mas",
        "nomina",
        "cfdi.nom85",
        (
            PERCEPTION,
            DETAILED.format('<nomina12:HorasExtra Dias="1" TipoHoras="01" HorasExtra="1" ImportePagado="1.00"/>'),
        ),
    ),
    attribute("nomina-incapacidad", "nomina", "cfdi.nom86", 'TipoPercepcion="029"', 'TipoPercepcion="014"'),
    mutant(
        "nomina-incapacidad-importe",
        "nomina",
        "cfdi.nom87",
        ('TipoPercepcion="029"', 'TipoPercepcion="014"'),
        (PAYROLL_END, LEAVE.format(amount="499.00")),
    ),
    attribute(
        "nomina-isr", "nomina", "cfdi.nom91", 'TotalImpuestosRetenidos="802.10"', 'TotalImpuestosRetenidos="802.11"'
    ),
    attribute("nomina-sin-isr", "nomina", "cfdi.nom92", 'TipoDeduccion="002"', 'TipoDeduccion="004"'),
    attribute("nomina-tipo-de-deduccion", "nomina", "cfdi.nom93", 'TipoDeduccion="001"', 'TipoDeduccion="063"'),
    attribute("nomina-incapacidad-deducida", "nomina", "cfdi.nom94", 'TipoDeduccion="001"', 'TipoDeduccion="006"'),
    mutant(
        "nomina-incapacidad-deduccion",
        "nomina",
        "cfdi.nom95",
        ('TipoDeduccion="001"', 'TipoDeduccion="006"'),
        (PAYROLL_END, LEAVE.format(amount="190.00")),
    ),
    attribute("nomina-deduccion-cero", "nomina", "cfdi.nom96", 'Importe="190.55"', 'Importe="0.00"'),
    mutant("nomina-saldo", "nomina", "cfdi.nom98", TO_BALANCE),
    mutant("nomina-sin-subsidio", "nomina", "cfdi.nom99", (SUBSIDY, "")),
    mutant(
        "nomina-otro-pago-cero",
        "nomina",
        "cfdi.nom100",
        ('TipoOtroPago="002"', 'TipoOtroPago="003"'),
        (' Importe="100.00"', ' Importe="0.00"'),
    ),
    attribute(
        "nomina-subsidio-mensual", "nomina", "cfdi.nom101", 'SubsidioCausado="120.00"', 'SubsidioCausado="475.01"'
    ),
    mutant("nomina-remanente", "nomina", "cfdi.nom102", TO_BALANCE, balance(left="50.01")),
    mutant("nomina-saldo-de-otro-anio", "nomina", "cfdi.nom103", TO_BALANCE, balance(year="2026")),
    attribute("nomina-subsidio-falta", "nomina", "cfdi.nom105", 'TipoOtroPago="002"', 'TipoOtroPago="003"'),
    attribute("nomina-subsidio-de-mas", "nomina", "cfdi.nom106", 'TipoRegimen="02"', 'TipoRegimen="03"'),
    attribute("nomina-subsidio-mayor", "nomina", "cfdi.nom107", 'SubsidioCausado="120.00"', 'SubsidioCausado="99.99"'),
    mutant(
        "nomina-subsidio-largo",
        "nomina",
        "cfdi.nom108",
        (' NumDiasPagados="15"', ' NumDiasPagados="32"'),
        (' SubsidioCausado="120.00"', ' SubsidioCausado="500.17"'),
    ),
    attribute(
        "nomina-numero-con-ceros",
        "nomina",
        "cfdi.strict_payroll_number",
        'TotalGravado="7353.30"',
        'TotalGravado="07353.30"',
    ),
    attribute(
        "nomina-otras-deducciones",
        "nomina",
        "cfdi.strict_deductions",
        'TotalOtrasDeducciones="190.55"',
        'TotalOtrasDeducciones="190.56"',
    ),
    attribute("nomina-otra-persona", "nomina", "cfdi.match_complement", 'NumEmpleado="120"', 'NumEmpleado="121"'),
    attribute(
        "nomina-dato-de-mas", "nomina", "cfdi.match_complement", 'NumEmpleado="120"', 'NumEmpleado="120" Puesto="Jefa"'
    ),
)

CARTA = (
    '<cfdi:Complemento><cartaporte31:CartaPorte xmlns:cartaporte31="http://www.sat.gob.mx/CartaPorte31">'
    '<cartaporte31:Mercancias UnidadPeso="{unit}"/></cartaporte31:CartaPorte></cfdi:Complemento></cfdi:Comprobante>'
)
END = "</cfdi:Comprobante>"
CUSTOMS = '<cfdi:InformacionAduanera NumeroPedimento="{}"/>'
PART = '<cfdi:Parte ClaveProdServ="43211503" Cantidad="1" Descripcion="Pieza">{}</cfdi:Parte>'
BARE_END = 'ObjetoImp="01"/>'


def within(children: str) -> tuple[str, str]:
    return BARE_END, f'ObjetoImp="01">{children}</cfdi:Concepto>'


OTHERS = (
    mutant("complemento-no-pedido", "traslado", "cfdi.complement_unexpected", (END, CARTA.format(unit="KGM"))),
    mutant(
        "complemento-repetido",
        "?traslado",
        "cfdi.complement_repeated",
        (END, CARTA.format(unit="KGM")),
        ("</cfdi:Complemento>", '<c:CartaPorte xmlns:c="http://www.sat.gob.mx/CartaPorte31"/></cfdi:Complemento>'),
    ),
    mutant("complemento-clave", "?traslado", "cfdi.complement_codes", (END, CARTA.format(unit="ZZZ"))),
    mutant("pedimento-anio", "?traslado", "cfdi.40194", within(CUSTOMS.format("15  47  3807  5003832"))),
    mutant("pedimento-aduana", "?traslado", "cfdi.40194", within(CUSTOMS.format("26  99  3807  6003832"))),
    mutant("pedimento-patente", "?traslado", "cfdi.40194", within(CUSTOMS.format("26  47  0002  6003832"))),
    mutant("pedimento-cero", "?traslado", "cfdi.40194", within(CUSTOMS.format("26  47  3807  6000000"))),
    mutant(
        "pedimento-de-parte", "?traslado", "cfdi.40199", within(PART.format(CUSTOMS.format("26  99  3807  6003832")))
    ),
)

MUTANTS: tuple[Mutant, ...] = (*PAYMENTS, *PAYROLLS, *OTHERS)
