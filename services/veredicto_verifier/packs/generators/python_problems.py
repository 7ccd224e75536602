"""Problems of `python-mini` over text and numbers."""

from __future__ import annotations

from veredicto_verifier.packs.generators.python_inputs import (
    Problem,
    a_text,
    an_int,
    two_ints,
)

TEXT = (
    Problem(
        "text",
        "count_letter",
        1,
        "Return how often the letter '<k>' occurs in `text`, in either case.",
        """\
def count_letter(text):
    return text.lower().count('<k>')
""",
        ("a", "e", "r"),
        a_text,
        (("",),),
    ),
    Problem(
        "text",
        "take_words",
        1,
        "Return the first <k> words of `text`, joined by single spaces.",
        """\
def take_words(text):
    return ' '.join(text.split()[:<k>])
""",
        ("2", "3", "4"),
        a_text,
        (("",), ("  one  ",)),
    ),
    Problem(
        "text",
        "every_nth",
        2,
        "Return the characters of `text` at positions 0, <k>, 2·<k>, … as one string.",
        """\
def every_nth(text):
    return text[::<k>]
""",
        ("2", "3", "5"),
        a_text,
        (("",),),
    ),
    Problem(
        "text",
        "shift",
        3,
        (
            "Shift each lower-case letter a–z of `text` by <k> places in the alphabet, from z back to a; leave "
            "all other characters as they are."
        ),
        """\
def shift(text):
    out = []
    for c in text:
        if 'a' <= c <= 'z':
            c = chr((ord(c) - 97 + <k>) % 26 + 97)
        out.append(c)
    return ''.join(out)
""",
        ("1", "3", "13"),
        a_text,
        (("xyz ABC",),),
    ),
    Problem(
        "text",
        "pad_number",
        2,
        "Return the integer `number` as text with at least <k> digits, padded with zeros on the left.",
        """\
def pad_number(number):
    return str(number).zfill(<k>)
""",
        ("4", "6", "8"),
        an_int(0, 99999999),
        ((0,),),
    ),
    Problem(
        "text",
        "is_palindrome",
        2,
        "Return True if `text` reads the same backwards, ignoring case and spaces, else False.",
        """\
def is_palindrome(text):
    t = text.replace(' ', '').lower()
    return t == t[::-1]
""",
        ("",),
        a_text,
        (("",), ("Anita lava la tina",), ("abca",), ("Abba",)),
    ),
    Problem(
        "text",
        "initials",
        1,
        "Return the upper-case first letters of the words of `text`, without spaces.",
        """\
def initials(text):
    return ''.join(word[0].upper() for word in text.split())
""",
        ("",),
        a_text,
        (("",),),
    ),
)

NUMBERS = (
    Problem(
        "numbers",
        "sum_multiples",
        1,
        "Return the sum of all positive multiples of <k> that are less than `n`.",
        """\
def sum_multiples(n):
    return sum(range(<k>, n, <k>))
""",
        ("3", "7", "11"),
        an_int(5, 500),
        ((0,), (1,)),
    ),
    Problem(
        "numbers",
        "digit_sum",
        2,
        "Return the sum of the digits of the non-negative integer `n` written in base <k>.",
        """\
def digit_sum(n):
    total = 0
    while n:
        total += n % <k>
        n //= <k>
    return total
""",
        ("2", "8", "10"),
        an_int(1, 100000),
        ((0,),),
    ),
    Problem(
        "numbers",
        "in_base",
        3,
        "Return the non-negative integer `n` as text in base <k>, without leading zeros (0 is '0').",
        """\
def in_base(n):
    if n == 0:
        return '0'
    out = ''
    while n:
        out = str(n % <k>) + out
        n //= <k>
    return out
""",
        ("3", "5", "7"),
        an_int(1, 5000),
        ((0,),),
    ),
    Problem(
        "numbers",
        "round_to",
        2,
        "Return the multiple of <k> that is nearest to the non-negative integer `n`; a tie goes up.",
        """\
def round_to(n):
    return (2 * n + <k>) // (2 * <k>) * <k>
""",
        ("10", "25", "50"),
        an_int(0, 3000),
        ((0,), (25,), (5,)),
    ),
    Problem(
        "numbers",
        "clamp",
        1,
        "Return `n`, but at least 0 and at most <k>.",
        """\
def clamp(n):
    return max(0, min(<k>, n))
""",
        ("10", "100", "255"),
        an_int(-300, 600),
        ((0,), (-1,)),
    ),
    Problem(
        "numbers",
        "is_prime",
        3,
        "Return True if `n` is a prime number, else False.",
        """\
def is_prime(n):
    if n < 2:
        return False
    d = 2
    while d * d <= n:
        if n % d == 0:
            return False
        d += 1
    return True
""",
        ("",),
        an_int(2, 400),
        ((0,), (1,), (2,), (97,), (91,)),
    ),
    Problem(
        "numbers",
        "gcd_of",
        2,
        "Return the greatest common divisor of the positive integers `a` and `b`.",
        """\
def gcd_of(a, b):
    while b:
        a, b = b, a % b
    return a
""",
        ("",),
        two_ints(1, 900),
        ((7, 7),),
    ),
)
