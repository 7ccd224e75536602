"""Problems of `python-core` over numbers, money and taxes, in English and Spanish."""

from __future__ import annotations

from veredicto_verifier.packs.generators.core_inputs import (
    CoreProblem,
    an_amount,
    an_int,
    some_lines,
    two_ints,
)

NUMBER_PROBLEMS = (
    CoreProblem(
        "numbers",
        ("digit_sum_in_base", "suma_de_cifras"),
        3,
        "Return the sum of the digits of the integer `n` (at least 0) written in base <k>.",
        "Devuelve la suma de las cifras del entero `n` (al menos 0) escrito en base <k>.",
        """\
def <f>(n):
    total = 0
    while n:
        total += n % <k>
        n //= <k>
    return total
""",
        ("2", "7", "10"),
        an_int(0, 5000),
        ((0,), (1,)),
        perturbed=({"kind": "integer", "low": 0},),
    ),
    CoreProblem(
        "numbers",
        ("round_to", "redondear_a"),
        3,
        "Round the integer `n` to the nearest multiple of <k>; a half goes up.",
        "Redondea el entero `n` al múltiplo de <k> más cercano; la mitad va hacia arriba.",
        """\
def <f>(n):
    return (n + <k> // 2) // <k> * <k>
""",
        ("10", "50", "100"),
        an_int(0, 5000),
        ((0,), (5,), (25,), (50,), (149,)),
    ),
    CoreProblem(
        "numbers",
        ("multiples_between", "multiplos_entre"),
        2,
        ("Return how many multiples of <k> lie between `a` and `b`, both included; 0 if `a` is greater than `b`."),
        "Devuelve cuántos múltiplos de <k> hay entre `a` y `b`, ambos incluidos; 0 si `a` es mayor que `b`.",
        """\
def <f>(a, b):
    return max(0, b // <k> - (a - 1) // <k>)
""",
        ("3", "4", "9"),
        two_ints(-50, 200),
        ((0, 0), (9, 3), (-12, 12)),
    ),
    CoreProblem(
        "numbers",
        ("clamp_sum", "suma_acotada"),
        1,
        "Return the sum of `a` and `b`, but at most <k> and at least -<k>.",
        "Devuelve la suma de `a` y `b`, pero como máximo <k> y como mínimo -<k>.",
        """\
def <f>(a, b):
    return max(-<k>, min(<k>, a + b))
""",
        ("50", "75", "100"),
        two_ints(-90, 90),
        ((0, 0), (90, 90), (-90, -90)),
        perturbed=({"kind": "integer", "low": -90, "high": 90},),
        metamorphic=({"change": "swap", "arg": 0, "other": 1},),
    ),
    CoreProblem(
        "numbers",
        ("steps_to_one", "pasos_hasta_uno"),
        3,
        (
            "Halve `n` while it is even, otherwise multiply it by 3 and add 1. Return the number of "
            "steps to reach 1, or <k> if that takes more than <k> steps."
        ),
        (
            "Divide `n` entre 2 si es par; si no, multiplícalo por 3 y suma 1. Devuelve el número de "
            "pasos hasta llegar a 1, o <k> si hacen falta más de <k> pasos."
        ),
        """\
def <f>(n):
    steps = 0
    while n != 1 and steps < <k>:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps
""",
        ("10", "20", "40"),
        an_int(1, 300),
        ((1,), (2,), (27,)),
    ),
    CoreProblem(
        "numbers",
        ("largest_power", "mayor_potencia"),
        2,
        "Return the largest power of <k> that is at most `n` (an integer of at least 1).",
        "Devuelve la mayor potencia de <k> que no supera `n` (un entero de al menos 1).",
        """\
def <f>(n):
    power = 1
    while power * <k> <= n:
        power *= <k>
    return power
""",
        ("2", "3", "5"),
        an_int(1, 5000),
        ((1,), (8,), (9,), (125,)),
    ),
    CoreProblem(
        "money",
        ("with_tax", "con_impuesto"),
        2,
        ("`cents` is an integer amount. Return it with <k> % tax added; the tax is rounded to whole cents, half up."),
        (
            "`cents` es un importe entero en centavos. Devuélvelo con el <k> % de impuesto añadido; el "
            "impuesto se redondea a centavos, la mitad hacia arriba."
        ),
        """\
def <f>(cents):
    return cents + (cents * <k> + 50) // 100
""",
        ("8", "16", "21"),
        an_amount,
        ((0,), (50,), (25,), (3,), (69,)),
        perturbed=({"kind": "integer", "count": 4, "spread": 3, "low": 0},),
    ),
    CoreProblem(
        "money",
        ("net_of_tax", "sin_impuesto"),
        4,
        (
            "`cents` is an amount that includes <k> % tax. Return the amount without the tax, rounded "
            "to whole cents, half up."
        ),
        (
            "`cents` es un importe que incluye el <k> % de impuesto. Devuelve el importe sin el "
            "impuesto, redondeado a centavos, la mitad hacia arriba."
        ),
        """\
def <f>(cents):
    return (cents * 200 + 100 + <k>) // (2 * (100 + <k>))
""",
        ("8", "16", "21"),
        an_amount,
        ((0,), (1,), (116,), (58,), (20,), (49,)),
        perturbed=({"kind": "integer", "count": 4, "spread": 3, "low": 0},),
    ),
    CoreProblem(
        "money",
        ("share_out", "prorratear"),
        3,
        (
            "Split the integer amount `cents` over <k> people as evenly as possible; return the list of "
            "shares, larger ones first."
        ),
        (
            "Reparte el importe entero `cents` entre <k> personas lo más parejo posible; devuelve la "
            "lista de partes, las mayores primero."
        ),
        """\
def <f>(cents):
    share, rest = divmod(cents, <k>)
    return [share + 1] * rest + [share] * (<k> - rest)
""",
        ("3", "5", "7"),
        an_amount,
        ((0,), (1,), (6,)),
        perturbed=({"kind": "integer", "low": 0},),
    ),
    CoreProblem(
        "money",
        ("bracket_tax", "impuesto_por_tramos"),
        4,
        (
            "Of the integer amount `income`, up to 10000 is free, the part from there to 50000 is taxed "
            "at <k> %, the part above at twice that. Return the tax, rounded down."
        ),
        (
            "Del importe entero `income`, hasta 10000 está exento, la parte de ahí a 50000 paga el <k> "
            "% y la parte superior el doble. Devuelve el impuesto, redondeado hacia abajo."
        ),
        """\
def <f>(income):
    middle = max(0, min(income, 50000) - 10000)
    return (middle * <k> + max(0, income - 50000) * 2 * <k>) // 100
""",
        ("5", "10", "15"),
        an_int(0, 120000),
        ((0,), (10000,), (10001,), (50000,), (50100,)),
    ),
    CoreProblem(
        "money",
        ("compound", "interes_compuesto"),
        4,
        (
            "`cents` earns 1 % interest in each of <k> periods, rounded down to whole cents every time. "
            "Return the final amount."
        ),
        (
            "`cents` gana el 1 % de interés en cada uno de <k> periodos, redondeado hacia abajo a "
            "centavos cada vez. Devuelve el importe final."
        ),
        """\
def <f>(cents):
    for _ in range(<k>):
        cents += cents // 100
    return cents
""",
        ("2", "6", "12"),
        an_amount,
        ((0,), (99,), (100,)),
        perturbed=({"kind": "integer", "spread": 200, "low": 0},),
    ),
    CoreProblem(
        "money",
        ("discount", "descuento"),
        3,
        (
            "`lines` is a list of [quantity, price in cents]. Return the total; if it is at least <k> "
            "cents, take off 10 %, the discount rounded down."
        ),
        (
            "`lines` es una lista de [cantidad, precio en centavos]. Devuelve el total; si llega a <k> "
            "centavos, resta el 10 %, con el descuento redondeado hacia abajo."
        ),
        """\
def <f>(lines):
    total = sum(quantity * price for quantity, price in lines)
    return total - total // 10 if total >= <k> else total
""",
        ("1000", "5000", "20000"),
        some_lines,
        (([],), ([[1, 1000]],), ([[5, 1000]],), ([[2, 10005]],), ([[1, 999]],), ([[2, 10000]],), ([[2, 2500]],)),
        metamorphic=({"change": "permute"},),
    ),
)
