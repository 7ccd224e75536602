"""Single faults: a base invoice, what is replaced in its text, and the code that must name it.

A base with `?` is judged without a request, for what a request cannot ask for.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tests.cfdi_builder import build_invoice
from tests.cfdi_requests import REQUESTS


class Mutant(NamedTuple):
    name: str
    base: str
    changes: tuple[tuple[str, str], ...]
    code: str


def mutant(name: str, base: str, code: str, *changes: tuple[str, str]) -> Mutant:
    return Mutant(name, base, changes, code)


TRASLADO = """<cfdi:Comprobante xmlns:cfdi="http://www.sat.gob.mx/cfd/4" Version="4.0" Fecha="2026-11-30T10:00:00"
 SubTotal="0" Moneda="XXX" Total="0" TipoDeComprobante="T" Exportacion="01" LugarExpedicion="06600">
<cfdi:Emisor Rfc="EKU9003173C9" Nombre="ESCUELA KEMPER URGATE" RegimenFiscal="601"/>
<cfdi:Receptor Rfc="EKU9003173C9" Nombre="ESCUELA KEMPER URGATE" DomicilioFiscalReceptor="36257"
 RegimenFiscalReceptor="601" UsoCFDI="S01"/>
<cfdi:Conceptos><cfdi:Concepto ClaveProdServ="43211503" Cantidad="1" ClaveUnidad="H87" Descripcion="Computadora"
 ValorUnitario="0" Importe="0" ObjetoImp="01"/></cfdi:Conceptos></cfdi:Comprobante>"""

THIRD = (
    '<cfdi:ACuentaTerceros RfcACuentaTerceros="{rfc}" NombreACuentaTerceros="{name}" '
    'RegimenFiscalACuentaTerceros="{regime}" DomicilioFiscalACuentaTerceros="{place}"/>'
)
FIXED_NAME = (
    "EXPEDICIÓN DE CFDI POR RESIDENTES EN MÉXICO QUE PRESTAN SERVICIOS DE INTERMEDIACIÓN ENTRE TERCEROS "
    "A OFERENTES DE BIENES Y SERVICIOS RESIDENTES EN EL EXTRANJERO"
)
PART = '<cfdi:Parte ClaveProdServ="{key}" Cantidad="1" Descripcion="Pieza" ValorUnitario="{price}" Importe="{amount}"/>'
CCE = (
    '<cfdi:Complemento><cce20:ComercioExterior xmlns:cce20="http://www.sat.gob.mx/ComercioExterior20" '
    'Version="2.0"/></cfdi:Complemento></cfdi:Comprobante>'
)
END = "</cfdi:Comprobante>"
LINE_END = 'ObjetoImp="01"/>'
RECEIVER = 'Rfc="EKU9003173C9" Nombre="ESCUELA KEMPER URGATE" DomicilioFiscalReceptor="36257"'
FOREIGN = 'Rfc="XEXX010101000" Nombre="ACME INC" DomicilioFiscalReceptor="06600"'
REGIME = 'RegimenFiscalReceptor="601" UsoCFDI="G03"'
FOREIGN_REGIME = 'RegimenFiscalReceptor="616" UsoCFDI="S01"'
SUMMARY_LINE = 'Base="1000.00" Impuesto="002" TipoFactor="Tasa" TasaOCuota="0.160000" Importe="160.00"'


def within(children: str) -> tuple[str, str]:
    return LINE_END, f'ObjetoImp="01">{children}</cfdi:Concepto>'


def third(rfc: str = "EXT990101NI1", name: str = FIXED_NAME, regime: str = "616", place: str = "06600") -> Any:
    return within(THIRD.format(rfc=rfc, name=name, regime=regime, place=place))


def part(key: str = "43211503", price: str = "10.00", amount: str = "10.00") -> Any:
    return within(PART.format(key=key, price=price, amount=amount))


CONCEPTS_OF_TRASLADO = TRASLADO[TRASLADO.index("<cfdi:Conceptos>") : TRASLADO.index("</cfdi:Comprobante>")]
LINE_IVA = (
    '<cfdi:Concepto ClaveProdServ="80101500" Cantidad="1" ClaveUnidad="E48" Descripcion="Consultoría de procesos" '
)
LINE_IVA += 'ValorUnitario="1000.00" Importe="1000.00" ObjetoImp="02"><cfdi:Impuestos><cfdi:Traslados><cfdi:Traslado '
LINE_IVA += 'Base="1000.00" Impuesto="002" TipoFactor="Tasa"'
LINE_ISR = 'Base="451.00" Impuesto="001" TipoFactor="Tasa"'


HEADER = (
    mutant("fecha-con-zona", "simple", "cfdi.40101", ("T10:00:00", "T10:00:00Z")),
    mutant("exponente", "simple", "cfdi.xsd.datatype", ('SubTotal="1000.00"', 'SubTotal="1E3"')),
    mutant("coma-decimal", "simple", "cfdi.xsd.datatype", ('Total="1160.00" Tipo', 'Total="1160,00" Tipo')),
    mutant("rfc-minusculas", "simple", "cfdi.xsd.pattern", ('Rfc="CACX7605101P8"', 'Rfc="cacx7605101p8"')),
    mutant(
        "atributo-desconocido", "simple", "cfdi.xsd.unexpected_attribute", ('Moneda="MXN"', 'Moneda="MXN" Extra="1"')
    ),
    mutant(
        "xsi-nil",
        "simple",
        "cfdi.xsd.nil",
        ("<cfdi:Emisor", '<cfdi:Emisor xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:nil="true"'),
    ),
    mutant("sin-fecha", "simple", "cfdi.xsd.missing_attribute", (' Fecha="2026-11-30T10:00:00"', "")),
    mutant("sin-emisor", "simple", "cfdi.xsd.unexpected_element", ("<cfdi:Emisor", "<cfdi:Otro/><cfdi:Emisor")),
    mutant("sin-conceptos", "?traslado", "cfdi.xsd.missing_element", (CONCEPTS_OF_TRASLADO, "")),
    mutant("texto-suelto", "simple", "cfdi.xsd.unexpected_text", ("<cfdi:Emisor", "texto<cfdi:Emisor")),
    mutant("rfc-corto", "simple", "cfdi.xsd.length", ('Rfc="CACX7605101P8"', 'Rfc="CACX"')),
    mutant("cantidad-cero", "simple", "cfdi.xsd.range", ('Cantidad="1"', 'Cantidad="0"')),
    mutant("cantidad-decimales", "simple", "cfdi.xsd.digits", ('Cantidad="1"', 'Cantidad="1.0000001"')),
    mutant("anio-lejano", "publico", "cfdi.xsd.range", ('Año="2026"', 'Año="1999"')),
    mutant("divisa-minusculas", "simple", "cfdi.xsd.enumeration", ('Moneda="MXN"', 'Moneda="mxn"')),
    mutant("tipo-otro", "simple", "cfdi.40121", ('TipoDeComprobante="I"', 'TipoDeComprobante="X"')),
    mutant("exportacion-otra", "simple", "cfdi.40123", ('Exportacion="01"', 'Exportacion="09"')),
    mutant("metodo-otro", "simple", "cfdi.40124", ('MetodoPago="PUE"', 'MetodoPago="PPP"')),
    mutant("periodicidad-otra", "publico", "cfdi.40131", ('Periodicidad="04"', 'Periodicidad="09"')),
    mutant("meses-otros", "publico", "cfdi.40133", ('Meses="11"', 'Meses="19"')),
    mutant("residencia-otra", "simple", "cfdi.40150", ('Receptor="36257"', 'Receptor="36257" ResidenciaFiscal="XXX"')),
    mutant("objeto-otro", "simple", "cfdi.40170", ('ObjetoImp="02"', 'ObjetoImp="99"')),
    mutant("base-cero", "simple", "cfdi.40174", (LINE_IVA, LINE_IVA.replace('"1000.00"', '"0"'))),
    mutant("impuesto-otro-xsd", "simple", "cfdi.40175", (LINE_IVA, LINE_IVA.replace('"002"', '"009"'))),
    mutant("factor-otro", "simple", "cfdi.40176", (LINE_IVA, LINE_IVA.replace('"Tasa"', '"tasa"'))),
    mutant("base-cero-retencion", "ingreso", "cfdi.40181", (LINE_ISR, LINE_ISR.replace('"451.00"', '"0"'))),
    mutant("impuesto-otro-retencion", "ingreso", "cfdi.40182", (LINE_ISR, LINE_ISR.replace('"001"', '"009"'))),
    mutant("factor-otro-retencion", "ingreso", "cfdi.40183", (LINE_ISR, LINE_ISR.replace('"Tasa"', '"tasa"'))),
    mutant("impuesto-otro-resumen", "ingreso", "cfdi.40207", ('Impuesto="001" Importe', 'Impuesto="009" Importe')),
    mutant(
        "impuesto-otro-traslado",
        "ingreso",
        "cfdi.40217",
        ('Base="1451.00" Impuesto="002"', 'Base="1451.00" Impuesto="009"'),
    ),
    mutant("forma-en-traslado", "?traslado", "cfdi.40103", ('Moneda="XXX"', 'Moneda="XXX" FormaPago="01"')),
    mutant("forma-retirada", "simple", "cfdi.40104", ('FormaPago="03"', 'FormaPago="07"')),
    mutant("ppd-sin-99", "credito", "cfdi.40105", ('FormaPago="99"', 'FormaPago="03"')),
    mutant("subtotal-decimales", "simple", "cfdi.40107", ('SubTotal="1000.00"', 'SubTotal="1000.000"')),
    mutant("subtotal-suma", "ingreso", "cfdi.40108", ('SubTotal="1501.00"', 'SubTotal="1500.00"')),
    mutant("subtotal-traslado", "?traslado", "cfdi.40109", ('SubTotal="0"', 'SubTotal="1"')),
    mutant("descuento-mayor", "ingreso", "cfdi.40110", ('Descuento="50.00" Moneda', 'Descuento="1600.00" Moneda')),
    mutant("descuento-suma", "ingreso", "cfdi.40111", ('Descuento="50.00" Moneda', 'Descuento="49.00" Moneda')),
    mutant("descuento-falta", "ingreso", "cfdi.40111", ('Descuento="50.00" Moneda', "Moneda")),
    mutant("descuento-sobra", "simple", "cfdi.40111", (' Moneda="MXN"', ' Descuento="0.00" Moneda="MXN"')),
    mutant("descuento-decimales", "ingreso", "cfdi.40112", ('Descuento="50.00" Moneda', 'Descuento="50.000" Moneda')),
    mutant("moneda-desconocida", "simple", "cfdi.40113", ('Moneda="MXN"', 'Moneda="MXX"')),
    mutant("cambio-en-pesos", "simple", "cfdi.40114", ('Moneda="MXN"', 'Moneda="MXN" TipoCambio="18.5"')),
    mutant("cambio-falta", "dolares", "cfdi.40115", (' TipoCambio="18.2500"', "")),
    mutant("cambio-xxx", "?traslado", "cfdi.40116", ('Moneda="XXX"', 'Moneda="XXX" TipoCambio="1"')),
    mutant("cambio-patron", "dolares", "cfdi.40117", ('TipoCambio="18.2500"', 'TipoCambio="18."')),
    mutant("total", "simple", "cfdi.40119", ('Total="1160.00" Tipo', 'Total="1160.01" Tipo')),
    mutant("total-traslado", "?traslado", "cfdi.40119", (' Total="0"', ' Total="10"')),
    mutant("exportacion-sin-cce", "simple", "cfdi.40122", ('Exportacion="01"', 'Exportacion="02"')),
    mutant("metodo-en-traslado", "?traslado", "cfdi.40125", ('Moneda="XXX"', 'Moneda="XXX" MetodoPago="PUE"')),
    mutant("lugar-inexistente", "simple", "cfdi.40126", ('LugarExpedicion="06600"', 'LugarExpedicion="00001"')),
    mutant("confirmacion", "simple", "cfdi.40127", ('Moneda="MXN"', 'Moneda="MXN" Confirmacion="ABCDE"')),
    mutant("relacion-retirada", "egreso", "cfdi.40137", ('TipoRelacion="01"', 'TipoRelacion="08"')),
    mutant("cce-sin-exportacion", "simple", "cfdi.40222", (END, CCE)),
    mutant(
        "condiciones-traslado",
        "?traslado",
        "cfdi.payment_terms",
        ('Moneda="XXX"', 'Moneda="XXX" CondicionesDePago="30 días"'),
    ),
    mutant("sin-metodo", "simple", "cfdi.payment_missing", (' MetodoPago="PUE"', "")),
    mutant("pago-en-pesos", "?traslado", "cfdi.currency_of_type", ('TipoDeComprobante="T"', 'TipoDeComprobante="N"')),
    mutant("fecha-futura", "simple", "cfdi.date_range", ("2026-11-30T10", "2026-11-30T13")),
    mutant("fecha-vieja", "simple", "cfdi.date_range", ("2026-11-30T10", "2026-11-20T10")),
)

PARTIES = (
    mutant(
        "global-falta",
        "publico",
        "cfdi.40130",
        ('<cfdi:InformacionGlobal Periodicidad="04" Meses="11" Año="2026"/>', ""),
    ),
    mutant("global-regimen", "publico", "cfdi.40132", ('Periodicidad="04" Meses="11"', 'Periodicidad="05" Meses="13"')),
    mutant("global-meses", "publico", "cfdi.40134", ('Meses="11"', 'Meses="13"')),
    mutant("global-bimestre", "publico", "cfdi.40135", ('Periodicidad="04"', 'Periodicidad="05"')),
    mutant("global-anio", "publico", "cfdi.40136", ('Año="2026"', 'Año="2020"')),
    mutant(
        "global-a-cliente",
        "simple",
        "cfdi.global_only_public",
        ("<cfdi:Emisor", '<cfdi:InformacionGlobal Periodicidad="04" Meses="11" Año="2026"/><cfdi:Emisor'),
    ),
    mutant("regimen-retirado", "simple", "cfdi.40140", ('RegimenFiscal="612"', 'RegimenFiscal="609"')),
    mutant("regimen-persona", "simple", "cfdi.40141", ('RegimenFiscal="612"', 'RegimenFiscal="601"')),
    mutant("publico-otro-rfc", "simple", "cfdi.40146", ("ESCUELA KEMPER URGATE", "PUBLICO EN GENERAL")),
    mutant("publico-con-punto", "publico", "cfdi.public_name", ("PUBLICO EN GENERAL", "PUBLICO EN GENERAL.")),
    mutant("publico-acento", "publico", "cfdi.public_name", ("PUBLICO EN GENERAL", "PÚBLICO EN GENERAL")),
    mutant("publico-domicilio", "publico", "cfdi.40149", ('Receptor="06600"', 'Receptor="36257"')),
    mutant(
        "residencia-nacional", "simple", "cfdi.40151", ('Receptor="36257"', 'Receptor="36257" ResidenciaFiscal="USA"')
    ),
    mutant("residencia-mex", "simple", "cfdi.40152", ('Receptor="36257"', 'Receptor="36257" ResidenciaFiscal="MEX"')),
    mutant(
        "extranjero-sin-residencia",
        "simple",
        "cfdi.40153",
        (RECEIVER, FOREIGN + ' NumRegIdTrib="123456789"'),
        (REGIME, FOREIGN_REGIME),
    ),
    mutant(
        "registro-nacional", "simple", "cfdi.40154", ('Receptor="36257"', 'Receptor="36257" NumRegIdTrib="123456789"')
    ),
    mutant(
        "extranjero-sin-registro",
        "simple",
        "cfdi.40155",
        (RECEIVER, FOREIGN + ' ResidenciaFiscal="USA"'),
        (REGIME, FOREIGN_REGIME),
        (END, CCE),
    ),
    mutant(
        "registro-patron",
        "simple",
        "cfdi.40156",
        (RECEIVER, FOREIGN + ' ResidenciaFiscal="USA" NumRegIdTrib="12"'),
        (REGIME, FOREIGN_REGIME),
    ),
    mutant("regimen-receptor", "simple", "cfdi.40157", ('RegimenFiscalReceptor="601"', 'RegimenFiscalReceptor="628"')),
    mutant(
        "regimen-receptor-persona",
        "simple",
        "cfdi.40158",
        ('RegimenFiscalReceptor="601"', 'RegimenFiscalReceptor="612"'),
    ),
    mutant("generico-regimen", "publico", "cfdi.40159", ('RegimenFiscalReceptor="616"', 'RegimenFiscalReceptor="612"')),
    mutant("uso-retirado", "simple", "cfdi.40160", ('UsoCFDI="G03"', 'UsoCFDI="P01"')),
    mutant("uso-persona", "simple", "cfdi.40161", ('UsoCFDI="G03"', 'UsoCFDI="D01"')),
    mutant("domicilio-inexistente", "simple", "cfdi.receiver_place", ('Receptor="36257"', 'Receptor="00001"')),
    mutant(
        "uso-extranjero",
        "simple",
        "cfdi.use_of_type",
        (RECEIVER, FOREIGN),
        (REGIME, 'RegimenFiscalReceptor="616" UsoCFDI="G02"'),
    ),
)

CONCEPTS = (
    mutant("producto", "simple", "cfdi.40162", ('ClaveProdServ="80101500"', 'ClaveProdServ="99999999"')),
    mutant("unidad", "simple", "cfdi.40165", ('ClaveUnidad="E48"', 'ClaveUnidad="ZZ9"')),
    mutant("precio-cero", "sin_objeto", "cfdi.40166", ('ValorUnitario="1000.00"', 'ValorUnitario="0.00"')),
    mutant("importe-fuera", "simple", "cfdi.40167", ('Importe="1000.00" ObjetoImp', 'Importe="1600.00" ObjetoImp')),
    mutant(
        "importe-holgado",
        "simple",
        "cfdi.strict_importe",
        ('Importe="1000.00" ObjetoImp', 'Importe="1490.00" ObjetoImp'),
    ),
    mutant(
        "descuento-decimales-linea",
        "ingreso",
        "cfdi.40168",
        ('Descuento="50.00" ObjetoImp', 'Descuento="50.000" ObjetoImp'),
    ),
    mutant(
        "descuento-mayor-linea",
        "ingreso",
        "cfdi.40169",
        ('Descuento="50.00" ObjetoImp', 'Descuento="501.01" ObjetoImp'),
    ),
    mutant("sin-impuestos", "sin_objeto", "cfdi.40171", ('ObjetoImp="01"', 'ObjetoImp="02"')),
    mutant("impuestos-sin-objeto", "simple", "cfdi.40172", ('ObjetoImp="02"', 'ObjetoImp="01"')),
    mutant(
        "impuestos-vacio", "sin_objeto", "cfdi.40173", (LINE_END, 'ObjetoImp="02"><cfdi:Impuestos/></cfdi:Concepto>')
    ),
    mutant("exento-con-importe", "exento", "cfdi.40177", ('TipoFactor="Exento"', 'TipoFactor="Exento" Importe="0.00"')),
    mutant(
        "tasa-sin-importe",
        "simple",
        "cfdi.40178",
        (
            ' Importe="160.00"/></cfdi:Traslados></cfdi:Impuestos></cfdi:C',
            "/></cfdi:Traslados></cfdi:Impuestos></cfdi:C",
        ),
    ),
    mutant("tasa-inventada", "simple", "cfdi.40179", ('TasaOCuota="0.160000"', 'TasaOCuota="0.150000"')),
    mutant("tasa-en-porcentaje", "simple", "cfdi.40179", ('TasaOCuota="0.160000"', 'TasaOCuota="16"')),
    mutant("traslado-fuera", "simple", "cfdi.40180", (SUMMARY_LINE, SUMMARY_LINE.replace("160.00", "170.00"))),
    mutant(
        "traslado-holgado",
        "simple",
        "cfdi.strict_tax",
        (SUMMARY_LINE, SUMMARY_LINE.replace("160.00", "160.02").replace('"1000.00"', '"1000"')),
    ),
    mutant(
        "retencion-exenta",
        "ingreso",
        "cfdi.40184",
        ('Impuesto="001" TipoFactor="Tasa"', 'Impuesto="001" TipoFactor="Exento"'),
    ),
    mutant("retencion-tasa", "ingreso", "cfdi.40185", ('TasaOCuota="0.100000"', 'TasaOCuota="0.360000"')),
    mutant(
        "retencion-fuera",
        "ingreso",
        "cfdi.40186",
        ('TasaOCuota="0.100000" Importe="45.10"', 'TasaOCuota="0.100000" Importe="55.10"'),
    ),
    mutant(
        "base-uno",
        "simple",
        "cfdi.strict_base",
        (SUMMARY_LINE, SUMMARY_LINE.replace('"1000.00"', '"1"').replace("160.00", "0.16")),
    ),
    mutant(
        "base-sin-descuento",
        "ingreso",
        "cfdi.strict_base",
        (
            'Base="451.00" Impuesto="002" TipoFactor="Tasa" TasaOCuota="0.160000" Importe="72.16"',
            'Base="501.00" Impuesto="002" TipoFactor="Tasa" TasaOCuota="0.160000" Importe="80.16"',
        ),
    ),
    mutant(
        "base-sin-ieps",
        "ieps",
        "cfdi.strict_base",
        ('Base="1080.00"', 'Base="1000.00"'),
        ('Importe="172.80"', 'Importe="160.00"'),
    ),
    mutant("tercero-emisor", "sin_objeto", "cfdi.40188", third("CACX7605101P8")),
    mutant("tercero-nombre", "sin_objeto", "cfdi.40189", third(name="OTRO")),
    mutant("tercero-regimen-retirado", "sin_objeto", "cfdi.40191", third("AAA010101AAA", regime="630")),
    mutant("tercero-domicilio", "sin_objeto", "cfdi.40193", third(place="36257")),
    mutant("tercero-regimen", "sin_objeto", "cfdi.40223", third(regime="601")),
    mutant(
        "pedimento-con-cce",
        "sin_objeto",
        "cfdi.40195",
        within('<cfdi:InformacionAduanera NumeroPedimento="15  48  3009  0001234"/>'),
        (END, CCE),
    ),
    mutant("parte-producto", "sin_objeto", "cfdi.40196", part("99999999")),
    mutant("parte-precio", "sin_objeto", "cfdi.40197", part(price="0.00", amount="0.00")),
    mutant("parte-importe", "sin_objeto", "cfdi.40198", part(amount="20.00")),
    mutant("objeto-06-con-iva", "simple", "cfdi.40226", ('ObjetoImp="02"', 'ObjetoImp="06"')),
    mutant("objeto-07-con-iva", "simple", "cfdi.40227", ('ObjetoImp="02"', 'ObjetoImp="07"')),
)

HELD_ISR = '<cfdi:Retencion Impuesto="001" Importe="45.10"/>'
SUMMARY_IVA = '<cfdi:Traslado Base="1451.00" Impuesto="002" TipoFactor="Tasa" TasaOCuota="0.160000" Importe="232.16"/>'

SUMMARY = (
    mutant("resumen-traslado", "?traslado", "cfdi.40201", (END, f"<cfdi:Impuestos/>{END}")),
    mutant("retenidos-decimales", "ingreso", "cfdi.40202", ('Retenidos="93.21"', 'Retenidos="93.210"')),
    mutant("retenidos-suma", "ingreso", "cfdi.40203", ('Retenidos="93.21"', 'Retenidos="93.22"')),
    mutant("trasladados-decimales", "simple", "cfdi.40204", ('Trasladados="160.00"', 'Trasladados="160.000"')),
    mutant("trasladados-suma", "simple", "cfdi.40205", ('Trasladados="160.00"', 'Trasladados="161.00"')),
    mutant("retenidos-falta", "ingreso", "cfdi.40206", (' TotalImpuestosRetenidos="93.21"', "")),
    mutant("retencion-repetida", "ingreso", "cfdi.40208", (HELD_ISR, HELD_ISR + HELD_ISR)),
    mutant("retencion-decimales", "ingreso", "cfdi.40210", (HELD_ISR, HELD_ISR.replace("45.10", "45.100"))),
    mutant("retencion-suma", "ingreso", "cfdi.40211", (HELD_ISR, HELD_ISR.replace("45.10", "46.10"))),
    mutant("trasladados-falta", "simple", "cfdi.40212", (' TotalImpuestosTrasladados="160.00"', "")),
    mutant(
        "exento-resumen",
        "exento",
        "cfdi.40213",
        ('<cfdi:Traslado Base="2000.00"', '<cfdi:Traslado Importe="0.00" Base="2000.00"'),
    ),
    mutant("base-decimales", "ingreso", "cfdi.40214", (SUMMARY_IVA, SUMMARY_IVA.replace("1451.00", "1451.000"))),
    mutant("base-suma", "ingreso", "cfdi.40215", (SUMMARY_IVA, SUMMARY_IVA.replace("1451.00", "1501.00"))),
    mutant("exento-base", "exento", "cfdi.40216", ('Base="2000.00"', 'Base="1999.00"')),
    mutant("traslado-repetido", "ingreso", "cfdi.40218", (SUMMARY_IVA, SUMMARY_IVA + SUMMARY_IVA)),
    mutant("resumen-tasa", "ingreso", "cfdi.40219", (SUMMARY_IVA, SUMMARY_IVA.replace("0.160000", "0.110000"))),
    mutant("traslado-decimales", "ingreso", "cfdi.40220", (SUMMARY_IVA, SUMMARY_IVA.replace("232.16", "232.160"))),
    mutant("traslado-suma", "ingreso", "cfdi.40221", (SUMMARY_IVA, SUMMARY_IVA.replace("232.16", "232.17"))),
    mutant("grupo-ausente", "ingreso", "cfdi.strict_groups", (SUMMARY_IVA, "")),
)

STRICT = (
    mutant(
        "diecinueve-digitos", "simple", "cfdi.strict_number", ('SubTotal="1000.00"', 'SubTotal="1000000000000000000"')
    ),
    mutant("ceros-delante", "simple", "cfdi.strict_number", ('SubTotal="1000.00"', 'SubTotal="01000.00"')),
    mutant("sin-entero", "simple", "cfdi.strict_number", ('Cantidad="1"', 'Cantidad="1."')),
    mutant("sello-inventado", "simple", "cfdi.invented_seal", ('Moneda="MXN"', 'Moneda="MXN" Sello="QUJD"')),
    mutant("otro-prefijo", "simple", "cfdi.prefix", ("cfdi:", "c:"), ("xmlns:cfdi=", "xmlns:c=")),
    mutant("anidado", "simple", "cfdi.nested", (END, f"<cfdi:Addenda><cfdi:Emisor/></cfdi:Addenda>{END}")),
    mutant("addenda", "simple", "cfdi.addenda", (END, f"<cfdi:Addenda><nota/></cfdi:Addenda>{END}")),
    mutant("espacio-invisible", "simple", "cfdi.unsafe_text", ("KEMPER", "KEM\u200bPER")),
    mutant("sin-normalizar", "simple", "cfdi.unsafe_text", ("Consultoría", "Consultori\u0301a")),
)

MATCH = (
    mutant("emisor-otro", "simple", "cfdi.match_emisor", ("XOCHILT CASAS CHAVEZ", "XOCHILT CASAS CHAVES")),
    mutant("receptor-otro", "simple", "cfdi.match_receptor", ('Receptor="36257"', 'Receptor="06600"')),
    mutant("fecha-otra", "simple", "cfdi.match_header", ("T10:00:00", "T10:00:01")),
    mutant("forma-otra", "simple", "cfdi.match_header", ('FormaPago="03"', 'FormaPago="01"')),
    mutant("relacion-otra", "egreso", "cfdi.match_header", ("5FB2822E", "5FB2822F")),
    mutant("descripcion-otra", "simple", "cfdi.match_conceptos", ("Consultoría", "Consultoria")),
    mutant("tercero-no-pedido", "sin_objeto", "cfdi.match_extra", third()),
    mutant(
        "impuesto-otro",
        "simple",
        "cfdi.match_taxes",
        ('TasaOCuota="0.160000"', 'TasaOCuota="0.080000"'),
        ('="160.00"', '="80.00"'),
        ('Total="1160.00"', 'Total="1080.00"'),
    ),
    mutant(
        "totales-otros",
        "simple",
        "cfdi.match_totals",
        ('TasaOCuota="0.160000"', 'TasaOCuota="0.080000"'),
        ('="160.00"', '="80.00"'),
        ('Total="1160.00"', 'Total="1080.00"'),
    ),
    mutant("precio-otro", "sin_objeto", "cfdi.match_conceptos", ('="1000.00"', '="100.00"')),
)

MUTANTS: tuple[Mutant, ...] = (*HEADER, *PARTIES, *CONCEPTS, *SUMMARY, *STRICT, *MATCH)


def base_text(base: str) -> str:
    return TRASLADO if base == "?traslado" else build_invoice(REQUESTS[base])


def mutant_text(one: Mutant) -> str:
    text = base_text(one.base)
    for old, new in one.changes:
        assert old in text, f"{one.name}: {old} is not in {text}"
        text = text.replace(old, new)
    return text


def base_spec(base: str) -> dict[str, Any]:
    asked = None if base.startswith("?") else REQUESTS[base]
    return {"request": asked, "now": "2026-11-30T12:00:00"}
