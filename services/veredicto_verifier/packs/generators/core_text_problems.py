"""Problems of `python-core` over strings and parsing, in English and Spanish."""

from __future__ import annotations

from veredicto_verifier.packs.generators.core_inputs import (
    CoreProblem,
    a_code,
    a_repetitive_text,
    a_table,
    a_text,
    a_text_with_numbers,
    a_time,
    a_word,
    a_written_amount,
    pairs,
)

TEXT_PROBLEMS = (
    CoreProblem(
        "strings",
        ("count_letter", "contar_letra"),
        1,
        "Return how often the letter '<k>' occurs in `text`, in either case.",
        "Devuelve cuántas veces aparece la letra '<k>' en `text`, mayúscula o minúscula.",
        """\
def <f>(text):
    return text.lower().count('<k>')
""",
        ("o", "i", "n"),
        a_text,
        (("",), ("OINOIN",)),
        metamorphic=(
            {"change": "upper"},
            {"change": "repeat", "relation": "scaled", "answer_by": 2},
        ),
    ),
    CoreProblem(
        "strings",
        ("long_words", "palabras_largas"),
        2,
        "Return the list of the words of `text` with more than <k> letters, in lower case, in order.",
        "Devuelve la lista de las palabras de `text` con más de <k> letras, en minúsculas y en orden.",
        """\
def <f>(text):
    return [word for word in text.lower().split() if len(word) > <k>]
""",
        ("3", "4", "6"),
        a_text,
        (("",), ("abcd abc abcdefg abcdefgh abcde",)),
        metamorphic=({"change": "upper"},),
    ),
    CoreProblem(
        "strings",
        ("mask", "enmascarar"),
        2,
        (
            "Replace every character of `text` by '*', except the last <k>; a text of at most <k> "
            "characters stays as it is."
        ),
        (
            "Sustituye cada carácter de `text` por '*', salvo los últimos <k>; un texto de <k> "
            "caracteres o menos queda igual."
        ),
        """\
def <f>(text):
    return '*' * max(0, len(text) - <k>) + text[-<k>:]
""",
        ("2", "4", "5"),
        a_word,
        (("",), ("ab",), ("abcde",), ("abcdef",)),
        perturbed=({"kind": "characters"}, {"kind": "duplicate"}),
    ),
    CoreProblem(
        "strings",
        ("rotate_text", "rotar_texto"),
        2,
        ("Move the first <k> characters of `text` to its end; with a shorter text, count on from its start again."),
        (
            "Mueve los primeros <k> caracteres de `text` al final; si el texto es más corto, sigue "
            "contando desde su inicio."
        ),
        """\
def <f>(text):
    n = <k> % len(text) if text else 0
    return text[n:] + text[:n]
""",
        ("1", "3", "7"),
        a_word,
        (("",), ("a",), ("abc",)),
    ),
    CoreProblem(
        "strings",
        ("initials", "iniciales"),
        2,
        "Return the first letters of the words of `text` as capitals, joined by '<k>'.",
        "Devuelve las primeras letras de las palabras de `text` en mayúsculas, unidas por '<k>'.",
        """\
def <f>(text):
    return '<k>'.join(word[0].upper() for word in text.split())
""",
        (".", "-", "/"),
        a_text,
        (("",), ("  one  ",)),
    ),
    CoreProblem(
        "strings",
        ("run_lengths", "rachas"),
        3,
        (
            "Return the list of the runs of equal characters of `text` that are at least <k> long, each "
            "as [character, length]."
        ),
        (
            "Devuelve la lista de las rachas de caracteres iguales de `text` de longitud al menos <k>, "
            "cada una como [carácter, longitud]."
        ),
        """\
def <f>(text):
    runs = []
    for char in text:
        if runs and runs[-1][0] == char:
            runs[-1][1] += 1
        else:
            runs.append([char, 1])
    return [run for run in runs if run[1] >= <k>]
""",
        ("1", "2", "3"),
        a_repetitive_text,
        (("",), ("aabbbc",), ("aaaa",)),
    ),
    CoreProblem(
        "parsing",
        ("key_values", "clave_valor"),
        2,
        (
            "`line` holds pairs like 'a=1<k>b=2'. Return them as a dictionary of texts; of a key that "
            "occurs twice the last value counts."
        ),
        (
            "`line` contiene pares como 'a=1<k>b=2'. Devuélvelos como diccionario de textos; si una "
            "clave se repite, vale el último valor."
        ),
        """\
def <f>(line):
    return dict(part.split('=', 1) for part in line.split('<k>') if part)
""",
        (";", "&", "|"),
        pairs("<k>"),
        (("",), ("a=1",), ("a==",)),
    ),
    CoreProblem(
        "parsing",
        ("column", "columna"),
        2,
        (
            "`table` is a text of lines with fields separated by commas. Return the list of the fields "
            "number <k> (counted from 0), without spaces around them; lines with too few fields are "
            "left out."
        ),
        (
            "`table` es un texto de líneas con campos separados por comas. Devuelve la lista de los "
            "campos número <k> (contando desde 0), sin espacios alrededor; se omiten las líneas con "
            "menos campos."
        ),
        """\
def <f>(table):
    rows = [line.split(',') for line in table.splitlines()]
    return [row[<k>].strip() for row in rows if len(row) > <k>]
""",
        ("0", "1", "2"),
        a_table,
        (("",), ("a",), ("a, b\nc",), ("a, b, c",), (" Ab , cD\nE , f , G ",)),
    ),
    CoreProblem(
        "parsing",
        ("minutes", "minutos"),
        2,
        "`text` is a time of day as 'H:MM'. Return the minutes since midnight plus <k>, modulo a day.",
        "`text` es una hora como 'H:MM'. Devuelve los minutos desde medianoche más <k>, módulo un día.",
        """\
def <f>(text):
    hours, minutes = text.split(':')
    return (int(hours) * 60 + int(minutes) + <k>) % 1440
""",
        ("15", "90", "600"),
        a_time,
        (("0:00",), ("23:59",), ("14:00",)),
    ),
    CoreProblem(
        "parsing",
        ("sum_numbers", "sumar_numeros"),
        3,
        "Return the sum of all whole numbers (runs of digits) in `text` that are greater than <k>.",
        "Devuelve la suma de todos los números enteros (series de cifras) de `text` mayores que <k>.",
        """\
import re

def <f>(text):
    return sum(n for n in map(int, re.findall('[0-9]+', text)) if n > <k>)
""",
        ("0", "10", "100"),
        a_text_with_numbers,
        (("",), ("a10b11",), ("100 101 1",)),
    ),
    CoreProblem(
        "parsing",
        ("check_code", "validar_clave"),
        3,
        "Return True if `code` is exactly <k> capital letters A to Z followed by 4 digits, else False.",
        (
            "Devuelve True si `code` es exactamente <k> letras mayúsculas de la A a la Z seguidas de 4 "
            "cifras; si no, False."
        ),
        """\
import re

def <f>(code):
    return re.fullmatch('[A-Z]{<k>}[0-9]{4}', code) is not None
""",
        ("2", "3", "4"),
        a_code,
        (("",), ("AB1234",), ("ABC1234",), ("ABCD1234",), ("AB1234\n",), ("ab1234",), ("AB123",)),
    ),
    CoreProblem(
        "parsing",
        ("parse_amount", "leer_importe"),
        3,
        (
            "`text` is an amount like '<k>1,234.50'. Return it in cents as an integer; if it does not "
            "start with '<k>', return None."
        ),
        (
            "`text` es un importe como '<k>1,234.50'. Devuélvelo en centavos como entero; si no empieza "
            "con '<k>', devuelve None."
        ),
        """\
def <f>(text):
    if not text.startswith('<k>'):
        return None
    pesos, cents = text[len('<k>'):].replace(',', '').split('.')
    return int(pesos) * 100 + int(cents)
""",
        ("$", "MXN", "USD"),
        a_written_amount("<k>"),
        (("<k>0.05",), ("1.00",), ("<k>1,000,000.00",)),
    ),
)
