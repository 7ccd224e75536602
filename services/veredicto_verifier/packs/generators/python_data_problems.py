"""Problems of `python-mini` over collections, dates and money."""

from __future__ import annotations

from veredicto_verifier.packs.generators.python_inputs import (
    Problem,
    a_day,
    an_amount,
    an_int,
    some_ints,
    some_movements,
    some_words,
    two_days,
)

COLLECTIONS = (
    Problem(
        "collections",
        "count_above",
        1,
        "Return how many numbers of the list `values` are greater than <k>.",
        """\
def count_above(values):
    return sum(value > <k> for value in values)
""",
        ("0", "10", "50"),
        some_ints(-50, 100),
        (([],),),
    ),
    Problem(
        "collections",
        "largest",
        2,
        ("Return the <k> largest numbers of the list `values`, the largest first; all of them if there are fewer."),
        """\
def largest(values):
    return sorted(values, reverse=True)[:<k>]
""",
        ("2", "3", "4"),
        some_ints(-50, 100),
        (([],), ([5, 5, 5],)),
    ),
    Problem(
        "collections",
        "chunks",
        3,
        "Split the list `values` into lists of <k> elements, in order; the last one may be shorter.",
        """\
def chunks(values):
    return [values[i : i + <k>] for i in range(0, len(values), <k>)]
""",
        ("2", "3", "4"),
        some_ints(0, 20),
        (([],),),
    ),
    Problem(
        "collections",
        "rotate",
        2,
        "Return the list `values` rotated to the left by <k> places.",
        """\
def rotate(values):
    if not values:
        return []
    n = <k> % len(values)
    return values[n:] + values[:n]
""",
        ("1", "2", "5"),
        some_ints(0, 20),
        (([],), ([1],)),
    ),
    Problem(
        "collections",
        "unique",
        2,
        "Return the words of the list `words` without repetitions, in the order in which they first occur.",
        """\
def unique(words):
    return list(dict.fromkeys(words))
""",
        ("",),
        some_words,
        (([],),),
    ),
    Problem(
        "collections",
        "by_length",
        3,
        (
            "Return a dictionary that maps each length to the sorted list of the different words of `words` of "
            "that length."
        ),
        """\
def by_length(words):
    out = {}
    for word in sorted(set(words)):
        out.setdefault(str(len(word)), []).append(word)
    return out
""",
        ("",),
        some_words,
        (([],),),
    ),
    Problem(
        "collections",
        "running_total",
        2,
        "Return the list of the running totals of the list `values`.",
        """\
def running_total(values):
    out, total = [], 0
    for value in values:
        total += value
        out.append(total)
    return out
""",
        ("",),
        some_ints(-20, 50),
        (([],),),
    ),
)

DATES = (
    Problem(
        "dates",
        "add_days",
        2,
        "`day` is a date as 'YYYY-MM-DD'. Return the date <k> days later in the same form.",
        """\
from datetime import date, timedelta

def add_days(day):
    return (date.fromisoformat(day) + timedelta(days=<k>)).isoformat()
""",
        ("30", "90", "365"),
        a_day,
        (("2024-02-28",), ("2023-12-31",)),
    ),
    Problem(
        "dates",
        "is_weekend",
        2,
        "`day` is a date as 'YYYY-MM-DD'. Return True if it is a Saturday or a Sunday, else False.",
        """\
from datetime import date

def is_weekend(day):
    return date.fromisoformat(day).weekday() >= 5
""",
        ("",),
        a_day,
        (("2026-11-28",), ("2026-11-29",), ("2026-11-30",)),
    ),
    Problem(
        "dates",
        "days_between",
        2,
        ("`first` and `second` are dates as 'YYYY-MM-DD'. Return the number of days between them, never negative."),
        """\
from datetime import date

def days_between(first, second):
    return abs((date.fromisoformat(second) - date.fromisoformat(first)).days)
""",
        ("",),
        two_days,
        (("2024-02-28", "2024-03-01"),),
    ),
    Problem(
        "dates",
        "quarter",
        1,
        "`day` is a date as 'YYYY-MM-DD'. Return its quarter as text: 'Q1' to 'Q4'.",
        """\
def quarter(day):
    return 'Q' + str((int(day[5:7]) + 2) // 3)
""",
        ("",),
        a_day,
        (("2026-12-31",), ("2026-01-01",)),
    ),
    Problem(
        "dates",
        "month_of",
        3,
        "`day` is a date as 'YYYY-MM-DD'. Return the month that lies <k> months later as 'YYYY-MM'.",
        """\
def month_of(day):
    n = int(day[:4]) * 12 + int(day[5:7]) - 1 + <k>
    return f'{n // 12:04d}-{n % 12 + 1:02d}'
""",
        ("1", "6", "18"),
        a_day,
        (("2026-12-31",),),
    ),
)

MONEY = (
    Problem(
        "money",
        "with_tax",
        2,
        (
            "`centavos` is an integer amount. Return it with <k> % tax added; the tax is rounded to whole "
            "centavos, half up."
        ),
        """\
def with_tax(centavos):
    return centavos + (centavos * <k> + 50) // 100
""",
        ("8", "16", "21"),
        an_amount,
        ((0,), (50,), (25,)),
    ),
    Problem(
        "money",
        "as_pesos",
        2,
        "`centavos` is an integer amount of at least 0. Return it as text in pesos, like '1,234.50'.",
        """\
def as_pesos(centavos):
    return f'{centavos // 100:,}.{centavos % 100:02d}'
""",
        ("",),
        an_amount,
        ((0,), (5,), (100000,)),
    ),
    Problem(
        "money",
        "split_bill",
        3,
        (
            "Split the integer amount `centavos` over <k> people as evenly as possible; return the list of "
            "shares, larger ones first."
        ),
        """\
def split_bill(centavos):
    share, rest = divmod(centavos, <k>)
    return [share + 1] * rest + [share] * (<k> - rest)
""",
        ("3", "4", "7"),
        an_amount,
        ((0,), (1,)),
    ),
    Problem(
        "money",
        "balances",
        3,
        (
            "`movements` is a list of [account, centavos]. Return a dictionary from account to the sum of its "
            "movements, without accounts whose sum is 0."
        ),
        """\
def balances(movements):
    out = {}
    for account, amount in movements:
        out[account] = out.get(account, 0) + amount
    return {account: total for account, total in out.items() if total}
""",
        ("",),
        some_movements,
        (([],), ([["a", 5], ["a", -5]],)),
    ),
    Problem(
        "money",
        "late_fee",
        2,
        (
            "A payment that is `days` days late costs nothing up to <k> days and 5000 centavos plus 100 for each "
            "day beyond. Return the fee."
        ),
        """\
def late_fee(days):
    return 0 if days <= <k> else 5000 + 100 * (days - <k>)
""",
        ("3", "5", "10"),
        an_int(0, 60),
        ((0,), (3,), (5,), (10,)),
    ),
)
