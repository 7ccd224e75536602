"""Problems of `python-core` over collections and dates, in English and Spanish."""

from __future__ import annotations

from veredicto_verifier.packs.generators.core_inputs import (
    CoreProblem,
    a_day,
    many_words,
    some_ints,
    two_near_days,
)

DATA_PROBLEMS = (
    CoreProblem(
        "collections",
        ("top_values", "valores_mayores"),
        2,
        (
            "Return the <k> largest different numbers of the list `values`, the largest first; all of "
            "them if there are fewer."
        ),
        ("Devuelve los <k> números distintos más grandes de la lista `values`, el mayor primero; todos si hay menos."),
        """\
def <f>(values):
    return sorted(set(values), reverse=True)[:<k>]
""",
        ("2", "3", "4"),
        some_ints(-9, 9),
        (([],), ([5, 5, 5],)),
        perturbed=({"kind": "items"},),
        metamorphic=({"change": "permute"}, {"change": "repeat"}),
    ),
    CoreProblem(
        "collections",
        ("frequent", "frecuentes"),
        2,
        "Return the sorted list of the words that occur at least <k> times in the list `words`.",
        "Devuelve la lista ordenada de las palabras que aparecen al menos <k> veces en la lista `words`.",
        """\
def <f>(words):
    return sorted({word for word in words if words.count(word) >= <k>})
""",
        ("1", "2", "3"),
        many_words,
        (([],), (["a", "a", "a", "b", "b", "c"],), (["d", "b", "h", "a", "g", "c", "f", "e"] * 3,)),
        perturbed=({"kind": "duplicate"},),
        metamorphic=({"change": "permute"},),
    ),
    CoreProblem(
        "collections",
        ("windows", "ventanas"),
        3,
        "Return the list of the sums of every <k> neighbouring numbers of the list `values`.",
        "Devuelve la lista de las sumas de cada <k> números vecinos de la lista `values`.",
        """\
def <f>(values):
    return [sum(values[i : i + <k>]) for i in range(len(values) - <k> + 1)]
""",
        ("2", "3", "4"),
        some_ints(-20, 50),
        (([],), ([1, 2],), ([1, 2, 3, 4],)),
        metamorphic=(
            {"change": "reverse", "relation": "reversed"},
            {"change": "scale", "by": 3, "relation": "scaled"},
        ),
    ),
    CoreProblem(
        "collections",
        ("remainders", "restos"),
        2,
        (
            "Return a dictionary from each remainder of division by <k>, as text, to the list of the "
            "numbers of `values` with that remainder, in order."
        ),
        (
            "Devuelve un diccionario de cada resto de dividir entre <k>, como texto, a la lista de los "
            "números de `values` con ese resto, en orden."
        ),
        """\
def <f>(values):
    out = {}
    for value in values:
        out.setdefault(str(value % <k>), []).append(value)
    return out
""",
        ("2", "3", "5"),
        some_ints(0, 50),
        (([],), ([6, 3],)),
    ),
    CoreProblem(
        "collections",
        ("gaps", "saltos"),
        2,
        (
            "Return the list of the positions of `values` at which the number is more than <k> greater "
            "than the one before."
        ),
        ("Devuelve la lista de las posiciones de `values` en las que el número supera al anterior en más de <k>."),
        """\
def <f>(values):
    return [i for i in range(1, len(values)) if values[i] - values[i - 1] > <k>]
""",
        ("0", "5", "10"),
        some_ints(-20, 20),
        (([],), ([1],), ([0, 5, 15, 26],), ([0, 1, 1, 7, 18],)),
    ),
    CoreProblem(
        "collections",
        ("deal", "repartir"),
        3,
        "Deal the list `values` in turn to <k> lists and return the list of these lists.",
        "Reparte la lista `values` por turnos en <k> listas y devuelve la lista de esas listas.",
        """\
def <f>(values):
    return [values[i::<k>] for i in range(<k>)]
""",
        ("2", "3", "4"),
        some_ints(0, 20),
        (([],), ([1],)),
    ),
    CoreProblem(
        "dates",
        ("days_later", "dias_despues"),
        2,
        "`day` is a date as 'YYYY-MM-DD'. Return the date <k> days later in the same form.",
        "`day` es una fecha como 'AAAA-MM-DD'. Devuelve la fecha <k> días después en la misma forma.",
        """\
from datetime import date, timedelta

def <f>(day):
    return (date.fromisoformat(day) + timedelta(days=<k>)).isoformat()
""",
        ("15", "45", "180"),
        a_day,
        (("2024-02-28",), ("2023-12-31",)),
    ),
    CoreProblem(
        "dates",
        ("working_days_later", "dias_habiles"),
        4,
        (
            "`day` is a date as 'YYYY-MM-DD'. Return the date <k> working days later (Monday to Friday; "
            "the day itself does not count)."
        ),
        (
            "`day` es una fecha como 'AAAA-MM-DD'. Devuelve la fecha <k> días hábiles después (lunes a "
            "viernes; el día mismo no cuenta)."
        ),
        """\
from datetime import date, timedelta

def <f>(day):
    now, left = date.fromisoformat(day), <k>
    while left:
        now += timedelta(days=1)
        left -= now.weekday() < 5
    return now.isoformat()
""",
        ("2", "5", "8"),
        a_day,
        (("2026-11-27",), ("2026-11-28",), ("2026-11-29",)),
    ),
    CoreProblem(
        "dates",
        ("month_end", "fin_de_mes"),
        3,
        (
            "`day` is a date as 'YYYY-MM-DD'. Return the last day of the month that lies <k> months "
            "later, in the same form."
        ),
        (
            "`day` es una fecha como 'AAAA-MM-DD'. Devuelve el último día del mes que cae <k> meses "
            "después, en la misma forma."
        ),
        """\
from calendar import monthrange

def <f>(day):
    n = int(day[:4]) * 12 + int(day[5:7]) - 1 + <k>
    year, month = n // 12, n % 12 + 1
    return f'{year:04d}-{month:02d}-{monthrange(year, month)[1]:02d}'
""",
        ("0", "1", "11"),
        a_day,
        (("2024-01-31",), ("2023-12-31",), ("2023-03-01",)),
    ),
    CoreProblem(
        "dates",
        ("age_on", "edad_en"),
        3,
        "`born` is a date as 'YYYY-MM-DD', not after 2036. Return the age in full years on <k> of 2040.",
        (
            "`born` es una fecha como 'AAAA-MM-DD', no posterior a 2036. Devuelve la edad en años "
            "cumplidos al <k> de 2040."
        ),
        """\
def <f>(born):
    return 2040 - int(born[:4]) - (born[5:] > '<k>')
""",
        ("01-01", "06-15", "12-31"),
        a_day,
        (("2000-06-15",), ("2000-06-16",), ("2000-12-31",), ("2000-01-01",), ("2000-01-02",)),
    ),
    CoreProblem(
        "dates",
        ("is_day", "es_dia"),
        2,
        (
            "`day` is a date as 'YYYY-MM-DD'. Return True if it is weekday number <k> (1 is Monday, 7 "
            "is Sunday), else False."
        ),
        (
            "`day` es una fecha como 'AAAA-MM-DD'. Devuelve True si es el día de la semana número <k> "
            "(1 es lunes, 7 es domingo); si no, False."
        ),
        """\
from datetime import date

def <f>(day):
    return date.fromisoformat(day).isoweekday() == <k>
""",
        ("1", "5", "7"),
        a_day,
        (("2026-11-30",), ("2026-12-04",), ("2026-11-29",), ("2026-12-06",)),
    ),
    CoreProblem(
        "dates",
        ("overdue", "vencido"),
        3,
        (
            "`due` and `paid` are dates as 'YYYY-MM-DD'. Return how many days after `due` the payment "
            "came, less <k> days of grace, never negative."
        ),
        (
            "`due` y `paid` son fechas como 'AAAA-MM-DD'. Devuelve cuántos días después de `due` llegó "
            "el pago, menos <k> días de gracia, nunca negativo."
        ),
        """\
from datetime import date

def <f>(due, paid):
    late = (date.fromisoformat(paid) - date.fromisoformat(due)).days
    return max(0, late - <k>)
""",
        ("0", "3", "10"),
        two_near_days,
        (("2026-02-27", "2026-03-10"), ("2026-01-01", "2025-12-01")),
    ),
)
