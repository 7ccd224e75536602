"""The published example: a request, an invoice that fulfils it and one whose total is wrong by ten pesos."""

from __future__ import annotations

from typing import Any

EXAMPLE: dict[str, Any] = {
    "request": {
        "tipo": "I",
        "fecha": "2026-11-30T10:00:00",
        "lugar_expedicion": "06600",
        "moneda": "MXN",
        "metodo_pago": "PUE",
        "forma_pago": "03",
        "exportacion": "01",
        "emisor": {"rfc": "EKU9003173C9", "nombre": "ESCUELA KEMPER URGATE", "regimen_fiscal": "601"},
        "receptor": {
            "rfc": "CACX7605101P8",
            "nombre": "XOCHILT CASAS CHAVEZ",
            "domicilio_fiscal": "36257",
            "regimen_fiscal": "612",
            "uso_cfdi": "G03",
        },
        "conceptos": [
            {
                "clave_prod_serv": "80101500",
                "clave_unidad": "E48",
                "descripcion": "Consultoría de procesos",
                "cantidad": "2",
                "valor_unitario": "1250.00",
                "descuento": "100.00",
                "objeto_imp": "02",
                "traslados": [{"impuesto": "002", "tipo_factor": "Tasa", "tasa_o_cuota": "0.160000"}],
                "retenciones": [],
            }
        ],
    },
    "profile": "unsealed",
    "now": "2026-11-30T12:00:00",
}

GOOD = """<?xml version="1.0" encoding="UTF-8"?>
<cfdi:Comprobante xmlns:cfdi="http://www.sat.gob.mx/cfd/4" Version="4.0" Fecha="2026-11-30T10:00:00" FormaPago="03"
  SubTotal="2500.00" Descuento="100.00" Moneda="MXN" Total="2784.00" TipoDeComprobante="I" Exportacion="01"
  MetodoPago="PUE" LugarExpedicion="06600" Sello="" NoCertificado="" Certificado="">
  <cfdi:Emisor Rfc="EKU9003173C9" Nombre="ESCUELA KEMPER URGATE" RegimenFiscal="601"/>
  <cfdi:Receptor Rfc="CACX7605101P8" Nombre="XOCHILT CASAS CHAVEZ" DomicilioFiscalReceptor="36257"
    RegimenFiscalReceptor="612" UsoCFDI="G03"/>
  <cfdi:Conceptos>
    <cfdi:Concepto ClaveProdServ="80101500" Cantidad="2" ClaveUnidad="E48" Descripcion="Consultoría de procesos"
      ValorUnitario="1250.00" Importe="2500.00" Descuento="100.00" ObjetoImp="02">
      <cfdi:Impuestos>
        <cfdi:Traslados>
          <cfdi:Traslado Base="2400.00" Impuesto="002" TipoFactor="Tasa" TasaOCuota="0.160000" Importe="384.00"/>
        </cfdi:Traslados>
      </cfdi:Impuestos>
    </cfdi:Concepto>
  </cfdi:Conceptos>
  <cfdi:Impuestos TotalImpuestosTrasladados="384.00">
    <cfdi:Traslados>
      <cfdi:Traslado Base="2400.00" Impuesto="002" TipoFactor="Tasa" TasaOCuota="0.160000" Importe="384.00"/>
    </cfdi:Traslados>
  </cfdi:Impuestos>
</cfdi:Comprobante>
"""

BAD = GOOD.replace('Total="2784.00"', 'Total="2774.00"')
