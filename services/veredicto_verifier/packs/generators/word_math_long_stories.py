"""The longer stories of `word-math`: six to nine operations each."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from veredicto_verifier.packs.generators.word_math_stories import Numbers, Story

_PESOS: Final = ("pesos",)


def _loan(n: Numbers) -> dict[str, Fraction]:
    interest = n["loan"] * n["rate"] / 100
    owed = n["loan"] + interest
    paid = n["months"] * n["payment"]
    late = n["delays"] * n["penalty"]
    return {
        "interest": interest,
        "owed": owed,
        "paid": paid,
        "late": late,
        "left": owed - paid,
        "answer": owed - paid + late,
    }


def _event(n: Numbers) -> dict[str, Fraction]:
    adults, children = n["adults"] * n["adult"], n["children"] * n["child"]
    tickets = adults + children
    cost = n["hall"] + n["people"] * n["wage"]
    return {
        "first": adults,
        "second": children,
        "tickets": tickets,
        "wages": n["people"] * n["wage"],
        "cost": cost,
        "profit": tickets - cost,
        "answer": (tickets - cost) / 2,
    }


def _farm(n: Numbers) -> dict[str, Fraction]:
    weekly = n["hens"] * n["eggs"] * 7
    total = weekly * n["weeks"]
    sold = total - n["broken"]
    dozens = sold / 12
    return {
        "daily": n["hens"] * n["eggs"],
        "weekly": weekly,
        "total": total,
        "sold": sold,
        "dozens": dozens,
        "income": dozens * n["price"],
        "answer": dozens * n["price"] - n["feed"],
    }


def _payroll(n: Numbers) -> dict[str, Fraction]:
    plain, senior = n["clerks"] * n["wage"], n["managers"] * n["wage"] * 2
    daily = plain + senior
    total = daily * n["days"]
    tax = total * n["tax"] / 100
    return {
        "plain": plain,
        "double": n["wage"] * 2,
        "senior": senior,
        "daily": daily,
        "total": total,
        "tax_paid": tax,
        "net": total - tax,
        "answer": total - tax - n["fund"],
    }


LONG_STORIES: Final[tuple[Story, ...]] = (
    Story(
        name="loan",
        category="loans",
        difficulty=6,
        draws={
            "loan": range(2000, 20000, 500),
            "rate": (4, 8, 10, 12, 20),
            "months": range(3, 10),
            "payment": range(50, 220, 10),
            "delays": range(2, 6),
            "penalty": range(15, 95, 5),
        },
        work=_loan,
        units=_PESOS,
        text={
            "en": "{who} borrows {loan} pesos at {rate} percent interest for the whole term, pays {payment} pesos a "
            "month for {months} months, and is late {delays} times; each delay adds {penalty} pesos to the debt. "
            "How many pesos does {who} still owe?",
            "es": "{who} pide un préstamo de {loan} pesos con {rate} por ciento de interés por todo el plazo, paga "
            "{payment} pesos al mes durante {months} meses y se atrasa {delays} veces; cada atraso suma "
            "{penalty} pesos "
            "a la deuda. ¿Cuántos pesos debe todavía {who}?",
        },
        steps={
            "en": "Interest: {loan} * {rate} / 100 = {interest}.\nOwed at first: {loan} + {interest} = {owed}.\n"
            "Paid: {months} * {payment} = {paid}.\nAfter the payments: {owed} - {paid} = {left}.\n"
            "Delays: {delays} * {penalty} = {late}.\nStill owed: {left} + {late} = {answer}.",
            "es": "Intereses: {loan} * {rate} / 100 = {interest}.\nDeuda inicial: {loan} + {interest} = {owed}.\n"
            "Pagado: {months} * {payment} = {paid}.\nDespués de los pagos: {owed} - {paid} = {left}.\n"
            "Atrasos: {delays} * {penalty} = {late}.\nDebe todavía: {left} + {late} = {answer}.",
        },
    ),
    Story(
        name="event",
        category="business",
        difficulty=7,
        draws={
            "adults": range(120, 300, 4),
            "adult": range(80, 200, 10),
            "children": range(20, 90, 2),
            "child": range(20, 60, 2),
            "hall": range(1000, 4000, 100),
            "people": range(4, 12, 2),
            "wage": range(200, 500, 10),
        },
        work=_event,
        units=_PESOS,
        text={
            "en": "For a concert {adults} adults pay {adult} pesos each and {children} children pay {child} "
            "pesos each. "
            "The hall costs {hall} pesos, and {people} helpers get {wage} pesos each. {who} and a partner share "
            "what is "
            "left in equal parts. How many pesos does {who} get?",
            "es": "En un concierto {adults} adultos pagan {adult} pesos cada uno y {children} niños pagan "
            "{child} pesos "
            "cada uno. El salón cuesta {hall} pesos y {people} ayudantes ganan {wage} pesos cada uno. {who} y su socia "
            "se reparten por igual lo que queda. ¿Cuántos pesos recibe {who}?",
        },
        steps={
            "en": "Adults: {adults} * {adult} = {first}.\nChildren: {children} * {child} = {second}.\n"
            "Tickets: {first} + {second} = {tickets}.\nHelpers: {people} * {wage} = {wages}.\n"
            "Costs: {hall} + {wages} = {cost}.\nLeft: {tickets} - {cost} = {profit}.\nEach: {profit} / 2 = {answer}.",
            "es": "Adultos: {adults} * {adult} = {first}.\nNiños: {children} * {child} = {second}.\n"
            "Boletos: {first} + {second} = {tickets}.\nAyudantes: {people} * {wage} = {wages}.\n"
            "Gastos: {hall} + {wages} = {cost}.\nQueda: {tickets} - {cost} = {profit}.\nCada uno: {profit} / 2 "
            "= {answer}.",
        },
    ),
    Story(
        name="farm",
        category="production",
        difficulty=7,
        draws={
            "hens": range(24, 120, 12),
            "eggs": (1, 2),
            "weeks": range(2, 9),
            "broken": range(12, 120, 12),
            "price": range(30, 60, 2),
            "feed": range(100, 400, 10),
        },
        work=_farm,
        units=_PESOS,
        text={
            "en": "{who} keeps {hens} hens, each of which lays {eggs} eggs a day. After {weeks} weeks of 7 days "
            "{broken} "
            "eggs are broken; the others are sold in dozens of 12 at {price} pesos a dozen. Feed costs {feed} pesos in "
            "all. How many pesos does {who} earn?",
            "es": "{who} tiene {hens} gallinas y cada una pone {eggs} huevos al día. Después de {weeks} semanas "
            "de 7 días "
            "se rompieron {broken} huevos; los demás se venden en docenas de 12 a {price} pesos la docena. El alimento "
            "cuesta {feed} pesos en total. ¿Cuántos pesos gana {who}?",
        },
        steps={
            "en": "Eggs a day: {hens} * {eggs} = {daily}.\nA week: {daily} * 7 = {weekly}.\nIn all: {weekly} * "
            "{weeks} = "
            "{total}.\nSold: {total} - {broken} = {sold}.\nDozens: {sold} / 12 = {dozens}.\n"
            "Income: {dozens} * {price} = {income}.\nEarned: {income} - {feed} = {answer}.",
            "es": "Huevos al día: {hens} * {eggs} = {daily}.\nPor semana: {daily} * 7 = {weekly}.\nEn total: "
            "{weekly} * "
            "{weeks} = {total}.\nVendidos: {total} - {broken} = {sold}.\nDocenas: {sold} / 12 = {dozens}.\n"
            "Ingreso: {dozens} * {price} = {income}.\nGanancia: {income} - {feed} = {answer}.",
        },
    ),
    Story(
        name="payroll",
        category="business",
        difficulty=9,
        draws={
            "clerks": range(3, 15),
            "managers": range(1, 5),
            "wage": range(200, 600, 20),
            "days": (5, 10, 15, 20),
            "tax": (8, 10, 16, 20),
            "fund": range(100, 1000, 50),
        },
        work=_payroll,
        units=_PESOS,
        text={
            "en": "An office has {clerks} clerks at {wage} pesos a day and {managers} managers at twice that. "
            "They work "
            "{days} days. {tax} percent of all wages is withheld as tax, and then {fund} pesos go to a savings fund. "
            "How many pesos does {who} pay out to them in all?",
            "es": "Una oficina tiene {clerks} empleados a {wage} pesos por día y {managers} gerentes al doble. "
            "Trabajan "
            "{days} días. Se retiene el {tax} por ciento de todos los sueldos como impuesto y después {fund} pesos van "
            "a un fondo de ahorro. ¿Cuántos pesos les entrega {who} en total?",
        },
        steps={
            "en": "Clerks: {clerks} * {wage} = {plain}.\nA manager: {wage} * 2 = {double}.\n"
            "Managers: {managers} * {double} = {senior}.\nA day: {plain} + {senior} = {daily}.\n"
            "Wages: {daily} * {days} = {total}.\nTax: {total} * {tax} / 100 = {tax_paid}.\n"
            "After tax: {total} - {tax_paid} = {net}.\nPaid out: {net} - {fund} = {answer}.",
            "es": "Empleados: {clerks} * {wage} = {plain}.\nUn gerente: {wage} * 2 = {double}.\n"
            "Gerentes: {managers} * {double} = {senior}.\nPor día: {plain} + {senior} = {daily}.\n"
            "Sueldos: {daily} * {days} = {total}.\nImpuesto: {total} * {tax} / 100 = {tax_paid}.\n"
            "Después del impuesto: {total} - {tax_paid} = {net}.\nSe entrega: {net} - {fund} = {answer}.",
        },
    ),
)
