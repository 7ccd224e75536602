"""What the invoices of the pack cfdi sell: keys of SAT's catalogues, descriptions, prices in centavos."""

from __future__ import annotations

from typing import NamedTuple


class Good(NamedTuple):
    """A product or service: its keys, what the invoice calls it, and the range of its price in centavos."""

    product: str
    unit: str
    text: str
    low: int
    high: int


GENERAL = (
    Good("43211503", "H87", "Computadora portátil de 14 pulgadas", 1250000, 2490000),
    Good("43211507", "H87", 'Computadora de escritorio con monitor de 24"', 980000, 1890000),
    Good("44121701", "H87", "Bolígrafo azul punto mediano", 450, 1890),
    Good("14111507", "XPK", "Papel bond carta & oficio, 75 g", 8900, 14500),
    Good("56101504", "H87", "Silla de oficina", 129900, 459900),
    Good("52161505", "H87", "Pantalla de 43 pulgadas", 699900, 1299900),
    Good("31161500", "XBX", 'Tornillo 1/4" x 2" (caja)', 8990, 24550),
    Good("25171500", "H87", "Limpiaparabrisas", 15900, 38900),
    Good("46181504", "H87", "Guantes de nitrilo, talla M", 2900, 8990),
    Good("39101600", "H87", "Foco LED 9 W < 10 W", 3490, 9990),
    Good("30111601", "KMT", "Cemento gris a granel", 21500, 39900),
    Good("40141600", "H87", "Válvula de bola ½ pulgada", 11900, 45900),
    Good("26111700", "H87", "Batería 12 V", 89900, 239900),
    Good("47131800", "LTR", "Desinfectante concentrado", 3590, 12990),
)
SERVICES = (
    Good("80101500", "E48", "Consultoría de procesos", 350000, 1800000),
    Good("81111500", "HUR", "Desarrollo de software a la medida", 45000, 120000),
    Good("82121500", "E48", "Impresión de catálogos", 99000, 350000),
    Good("76111500", "E48", "Limpieza mensual de oficinas", 450000, 1450000),
    Good("81112100", "MON", "Internet dedicado 200 Mb/s", 89900, 399900),
    Good("80141600", "E48", "Campaña de promoción & ventas", 750000, 2950000),
    Good("72101500", "E48", "Mantenimiento de instalaciones", 180000, 960000),
    Good("90101501", "E48", "Comida de trabajo para el equipo", 85000, 420000),
)
ZERO_RATED = (
    Good("50221101", "KGM", "Maíz blanco en grano", 890, 2450),
    Good("51101500", "H87", "Antibiótico de patente", 12900, 89000),
    Good("55101500", "H87", 'Libro "Cuentos del sur"', 14900, 69900),
    Good("50131700", "LTR", "Leche entera", 1990, 2990),
    Good("50112000", "KGM", "Carne de res fresca", 11900, 25900),
)
MEDICAL = (
    Good("85121502", "E48", "Consulta médica general", 60000, 150000),
    Good("85101501", "E48", "Atención hospitalaria de un día", 450000, 1950000),
)
SCHOOL = (
    Good("86121500", "E48", "Colegiatura de primaria", 250000, 650000),
    Good("86121700", "E48", "Colegiatura de licenciatura", 650000, 1450000),
)
HOUSING = (Good("80131501", "MON", "Renta de casa habitación", 850000, 2200000),)
FEES = (
    Good("80121600", "E48", "Honorarios por asesoría legal", 500000, 2500000),
    Good("84111500", "E48", "Honorarios por contabilidad", 300000, 1200000),
    Good("80101600", "E48", "Honorarios por dirección de proyecto", 800000, 2900000),
)
PREMISES = (
    Good("80131502", "MON", "Renta de local comercial", 900000, 3500000),
    Good("80131500", "MON", "Renta de bodega industrial", 1800000, 6500000),
)
FREIGHT = (
    Good("78101801", "E48", "Flete local de mercancía", 250000, 950000),
    Good("78101800", "E48", "Flete Puebla - Veracruz", 850000, 2450000),
)
SNACKS = (
    Good("50192100", "H87", "Botanas saladas 240 g", 1290, 4590),
    Good("50181900", "XBX", "Galletas de chocolate (caja)", 2990, 7990),
)
DRINKS = (Good("50202306", "LTR", "Refresco de cola", 1290, 2190),)
SPIRITS = (
    Good("50202203", "H87", "Vino tinto 750 ml", 18900, 65900),
    Good("50202206", "H87", "Mezcal joven 750 ml", 34900, 98900),
)
TICKET = Good("01010101", "ACT", "Venta", 5000, 250000)
CREDIT = Good("84111506", "ACT", "Bonificación sobre facturas", 50000, 600000)
ADVANCE = Good("84111506", "ACT", "Anticipo del bien o servicio", 500000, 2500000)
DISBURSED = (
    Good("93151500", "E48", "Pago de derechos por cuenta del cliente", 45000, 320000),
    Good("84131501", "E48", "Recuperación de prima de seguro", 90000, 540000),
)
DIVISIBLE = ("KGM", "LTR", "HUR", "KMT")
"""Units sold in fractions."""
