"""The stories behind `word-math-mini`: what is drawn, how it is worked out, and how it is told in two languages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

LANGUAGES: Final = ("en", "es")
Numbers = Mapping[str, Fraction]

_PESOS: Final = ("pesos",)
_KILOMETRES: Final = ("km", "kilometres", "kilometers", "kilómetros")


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """One kind of problem; `text` and `steps` are templates over the drawn and the worked-out numbers."""

    name: str
    category: str
    difficulty: int
    """Number of operations that the solution needs."""
    draws: Mapping[str, Sequence[int]]
    work: Callable[[Numbers], dict[str, Fraction]]
    """Intermediate values and `answer`, from the drawn numbers."""
    text: Mapping[str, str]
    steps: Mapping[str, str]
    units: tuple[str, ...] = ()
    """Words that may follow the answer, both languages."""


def _oranges(n: Numbers) -> dict[str, Fraction]:
    total = n["boxes"] * n["each"]
    return {"total": total, "answer": total - n["bad"]}


def _change(n: Numbers) -> dict[str, Fraction]:
    notebooks, pens = n["notebooks"] * n["notebook"], n["pens"] * n["pen"]
    cost = notebooks + pens
    bill = Fraction(500) if cost <= 500 else Fraction(1000)
    return {"first": notebooks, "second": pens, "cost": cost, "bill": bill, "answer": bill - cost}


def _discount(n: Numbers) -> dict[str, Fraction]:
    off = n["price"] * n["percent"] / 100
    return {"off": off, "lowered": n["price"] - off, "answer": (n["price"] - off) * n["pieces"]}


def _tax(n: Numbers) -> dict[str, Fraction]:
    tax = n["subtotal"] * n["percent"] / 100
    return {"tax": tax, "answer": n["subtotal"] + tax}


def _bakery(n: Numbers) -> dict[str, Fraction]:
    hourly = n["ovens"] * n["loaves"]
    baked = hourly * n["hours"]
    return {"hourly": hourly, "baked": baked, "answer": baked - n["sold"]}


def _sweets(n: Numbers) -> dict[str, Fraction]:
    return {"total": n["children"] * n["each"] + n["eaten"], "shared": n["children"] * n["each"], "answer": n["each"]}


def _trip(n: Numbers) -> dict[str, Fraction]:
    first, second = n["hours"] * n["speed"], n["later_hours"] * n["later_speed"]
    return {"first": first, "second": second, "answer": first + second}


def _average(n: Numbers) -> dict[str, Fraction]:
    total, known = 3 * n["mean"], n["monday"] + n["tuesday"]
    return {"total": total, "known": known, "answer": total - known}


def _goal(n: Numbers) -> dict[str, Fraction]:
    saved = n["weekly"] * n["weeks"]
    have = n["start"] + saved
    return {"saved": saved, "have": have, "goal": have + n["gap"], "answer": n["gap"]}


def _wages(n: Numbers) -> dict[str, Fraction]:
    plain, extra = n["hours"] * n["wage"], n["overtime"] * n["wage"] * 2
    return {
        "plain": plain,
        "double": n["wage"] * 2,
        "extra": extra,
        "sum": plain + extra,
        "answer": plain + extra - n["fee"],
    }


STORIES: Final[tuple[Story, ...]] = (
    Story(
        name="oranges",
        category="shopping",
        difficulty=2,
        draws={"boxes": range(3, 15), "each": range(6, 30), "bad": range(2, 15)},
        work=_oranges,
        units=("oranges", "good oranges", "naranjas", "naranjas buenas"),
        text={
            "en": "{who} buys {boxes} boxes with {each} oranges in each box. "
            "{bad} of the oranges are bad. How many good oranges does {who} have?",
            "es": "{who} compra {boxes} cajas con {each} naranjas en cada caja. "
            "{bad} de las naranjas están malas. ¿Cuántas naranjas buenas tiene {who}?",
        },
        steps={
            "en": "Oranges in all: {boxes} * {each} = {total}.\nGood ones: {total} - {bad} = {answer}.",
            "es": "Naranjas en total: {boxes} * {each} = {total}.\nBuenas: {total} - {bad} = {answer}.",
        },
    ),
    Story(
        name="change",
        category="shopping",
        difficulty=4,
        draws={"notebooks": range(2, 9), "notebook": range(18, 60), "pens": range(3, 13), "pen": range(5, 20)},
        work=_change,
        units=_PESOS,
        text={
            "en": "{who} buys {notebooks} notebooks at {notebook} pesos each and {pens} pens at {pen} pesos each, "
            "and pays with {bill} pesos. How many pesos does {who} get back?",
            "es": "{who} compra {notebooks} cuadernos de {notebook} pesos cada uno y {pens} plumas de {pen} pesos cada "
            "una, y paga con {bill} pesos. ¿Cuántos pesos recibe {who} de cambio?",
        },
        steps={
            "en": "Notebooks: {notebooks} * {notebook} = {first}.\nPens: {pens} * {pen} = {second}.\n"
            "Together: {first} + {second} = {cost}.\nChange: {bill} - {cost} = {answer}.",
            "es": "Cuadernos: {notebooks} * {notebook} = {first}.\nPlumas: {pens} * {pen} = {second}.\n"
            "En total: {first} + {second} = {cost}.\nCambio: {bill} - {cost} = {answer}.",
        },
    ),
    Story(
        name="discount",
        category="percentages",
        difficulty=3,
        draws={"price": range(40, 400, 10), "percent": (5, 10, 15, 20, 25, 30, 40, 50), "pieces": range(2, 9)},
        work=_discount,
        units=_PESOS,
        text={
            "en": "A shirt costs {price} pesos. The shop takes {percent} percent off. "
            "How many pesos does {who} pay for {pieces} shirts?",
            "es": "Una camisa cuesta {price} pesos. La tienda descuenta el {percent} por ciento. "
            "¿Cuántos pesos paga {who} por {pieces} camisas?",
        },
        steps={
            "en": "Discount: {price} * {percent} / 100 = {off}.\nPrice of one: {price} - {off} = {lowered}.\n"
            "All: {lowered} * {pieces} = {answer}.",
            "es": "Descuento: {price} * {percent} / 100 = {off}.\nPrecio de una: {price} - {off} = {lowered}.\n"
            "Todas: {lowered} * {pieces} = {answer}.",
        },
    ),
    Story(
        name="tax",
        category="percentages",
        difficulty=2,
        draws={"subtotal": range(120, 2400, 20), "percent": (8, 16)},
        work=_tax,
        units=_PESOS,
        text={
            "en": "The repair of {who}'s bicycle costs {subtotal} pesos before tax. The tax is {percent} percent. "
            "How many pesos does {who} pay in all?",
            "es": "El arreglo de la bicicleta de {who} cuesta {subtotal} pesos antes de impuestos. "
            "El impuesto es del {percent} por ciento. ¿Cuántos pesos paga {who} en total?",
        },
        steps={
            "en": "Tax: {subtotal} * {percent} / 100 = {tax}.\nIn all: {subtotal} + {tax} = {answer}.",
            "es": "Impuesto: {subtotal} * {percent} / 100 = {tax}.\nEn total: {subtotal} + {tax} = {answer}.",
        },
    ),
    Story(
        name="bakery",
        category="production",
        difficulty=3,
        draws={"ovens": range(2, 7), "loaves": range(12, 40), "hours": range(3, 9), "sold": range(20, 70)},
        work=_bakery,
        units=("loaves", "panes"),
        text={
            "en": "A bakery has {ovens} ovens, and each one bakes {loaves} loaves an hour. They run for {hours} hours, "
            "and {who} sells {sold} loaves. How many loaves are left?",
            "es": "Una panadería tiene {ovens} hornos y cada uno hace {loaves} panes por hora. Trabajan {hours} horas "
            "y {who} vende {sold} panes. ¿Cuántos panes quedan?",
        },
        steps={
            "en": "In one hour: {ovens} * {loaves} = {hourly}.\nBaked: {hourly} * {hours} = {baked}.\n"
            "Left: {baked} - {sold} = {answer}.",
            "es": "En una hora: {ovens} * {loaves} = {hourly}.\nHechos: {hourly} * {hours} = {baked}.\n"
            "Quedan: {baked} - {sold} = {answer}.",
        },
    ),
    Story(
        name="sweets",
        category="sharing",
        difficulty=2,
        draws={"children": range(3, 13), "each": range(4, 25), "eaten": range(2, 20)},
        work=_sweets,
        units=("sweets", "dulces"),
        text={
            "en": "{who} has a bag of {total} sweets, eats {eaten} of them, and shares the rest equally among "
            "{children} children. How many sweets does each child get?",
            "es": "{who} tiene una bolsa de {total} dulces, se come {eaten} y reparte el resto por igual entre "
            "{children} niños. ¿Cuántos dulces recibe cada niño?",
        },
        steps={
            "en": "Left: {total} - {eaten} = {shared}.\nEach child: {shared} / {children} = {answer}.",
            "es": "Quedan: {total} - {eaten} = {shared}.\nCada niño: {shared} / {children} = {answer}.",
        },
    ),
    Story(
        name="trip",
        category="distance",
        difficulty=3,
        draws={
            "hours": range(2, 7),
            "speed": range(40, 110, 5),
            "later_hours": range(1, 6),
            "later_speed": range(30, 90, 5),
        },
        work=_trip,
        units=_KILOMETRES,
        text={
            "en": "{who} drives {hours} hours at {speed} km per hour and then {later_hours} hours more at "
            "{later_speed} km per hour. How many kilometres does {who} drive?",
            "es": "{who} maneja {hours} horas a {speed} km por hora y luego otras {later_hours} horas a "
            "{later_speed} km por hora. ¿Cuántos kilómetros recorre {who}?",
        },
        steps={
            "en": "First part: {hours} * {speed} = {first}.\nSecond part: {later_hours} * {later_speed} = {second}.\n"
            "Together: {first} + {second} = {answer}.",
            "es": "Primer tramo: {hours} * {speed} = {first}.\nSegundo: {later_hours} * {later_speed} = {second}.\n"
            "En total: {first} + {second} = {answer}.",
        },
    ),
    Story(
        name="average",
        category="distance",
        difficulty=3,
        draws={"monday": range(4, 15), "tuesday": range(4, 15), "mean": range(10, 20)},
        work=_average,
        units=_KILOMETRES,
        text={
            "en": "{who} runs {monday} km on Monday and {tuesday} km on Tuesday. How many kilometres must {who} run on "
            "Wednesday to average {mean} km over the three days?",
            "es": "{who} corre {monday} km el lunes y {tuesday} km el martes. ¿Cuántos kilómetros debe correr {who} el "
            "miércoles para promediar {mean} km en los tres días?",
        },
        steps={
            "en": "Three days: {mean} * 3 = {total}.\nSo far: {monday} + {tuesday} = {known}.\n"
            "Wednesday: {total} - {known} = {answer}.",
            "es": "Tres días: {mean} * 3 = {total}.\nHasta ahora: {monday} + {tuesday} = {known}.\n"
            "Miércoles: {total} - {known} = {answer}.",
        },
    ),
    Story(
        name="goal",
        category="savings",
        difficulty=3,
        draws={
            "start": range(100, 900, 25),
            "weekly": range(40, 200, 5),
            "weeks": range(3, 15),
            "gap": range(50, 900, 15),
        },
        work=_goal,
        units=_PESOS,
        text={
            "en": "{who} has {start} pesos and saves {weekly} pesos a week for {weeks} weeks. "
            "A phone costs {goal} pesos. How many pesos are still missing?",
            "es": "{who} tiene {start} pesos y ahorra {weekly} pesos por semana durante {weeks} semanas. "
            "Un teléfono cuesta {goal} pesos. ¿Cuántos pesos faltan todavía?",
        },
        steps={
            "en": "Saved: {weekly} * {weeks} = {saved}.\nIn all: {start} + {saved} = {have}.\n"
            "Missing: {goal} - {have} = {answer}.",
            "es": "Ahorrado: {weekly} * {weeks} = {saved}.\nEn total: {start} + {saved} = {have}.\n"
            "Faltan: {goal} - {have} = {answer}.",
        },
    ),
    Story(
        name="wages",
        category="savings",
        difficulty=5,
        draws={"hours": range(20, 45), "wage": range(60, 150, 5), "overtime": range(2, 12), "fee": range(100, 500, 20)},
        work=_wages,
        units=_PESOS,
        text={
            "en": "{who} works {hours} hours at {wage} pesos an hour and {overtime} hours of overtime, which are paid "
            "double. A fee of {fee} pesos is taken off. How many pesos does {who} receive?",
            "es": "{who} trabaja {hours} horas a {wage} pesos la hora y {overtime} horas extra, que se pagan al doble. "
            "Le descuentan una cuota de {fee} pesos. ¿Cuántos pesos recibe {who}?",
        },
        steps={
            "en": "Plain hours: {hours} * {wage} = {plain}.\nOvertime pays {wage} * 2 = {double} an hour: "
            "{overtime} * {double} = {extra}.\nSum: {plain} + {extra} = {sum}.\nReceived: {sum} - {fee} = {answer}.",
            "es": "Horas normales: {hours} * {wage} = {plain}.\nLa hora extra paga {wage} * 2 = {double}: "
            "{overtime} * {double} = {extra}.\nJuntas: {plain} + {extra} = {sum}.\nRecibe: {sum} - {fee} = {answer}.",
        },
    ),
)
