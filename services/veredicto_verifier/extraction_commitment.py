"""Whether the statement of a final answer is made: not denied, not supposed, not asked, not taken back.

Closed lists of phrases in English and Spanish, looked up right before and right after a statement. They only take
statements away, so a phrase that is missing here leaves the reading as it would be without this module.
"""

from __future__ import annotations

import re
from typing import Final

REACH: Final = 120
"""Characters that are looked at on either side."""

_WORD: Final = re.compile(r"[^\W\d_]+")
_TRIGGERS: Final = frozenset(
    "t not never no cannot neither nor doubt deny reject disagree unlikely impossible false untrue wrong incorrect bad "
    "mistaken mistake erroneous lie if whether unless suppose supposing assume assuming imagine pretend say opposite "
    "negative inverse reciprocal square cube root half twice double triple third quarter minus plus times "
    "falsa mala errónea equivocada incorrecta nunca tampoco ni dudo niego falso mentira incorrecto imposible si "
    "supongamos supón suponiendo imagina imaginemos digamos opuesto inverso cuadrado cubo raíz mitad doble triple "
    "tercio cuarto menos más por "
    "think thinks believe believes claim claims says decir pensar creer".split()
)
"""Every pattern before a statement holds one of these words: a quick look before the patterns."""
_NEAR_WORDS: Final = 9

_THE: Final = (
    r"(?:(?:the|this|that|my|our|your|its|a|an|any|la|una|mi|tu|su|nuestra)\s+)?"
    r"(?:(?:final|correct|right|real|true|only|actual|correcta|verdadera|única)\s+)*[*_\"'“¿]*\Z"
)
_BEFORE: Final = (
    r"\b(?:wrong|incorrect|false|bad|mistaken|erroneous|falsa|mala|errónea|equivocada|incorrecta)\s+" + _THE,
    r"(?:n['’]t|\b(?:not|never|neither|nor|no\s+es|no\s+era|nunca\s+es|tampoco\s+es|ni))\s+" + _THE,
    r"\bno\s+(?:hay\s+|tengo\s+)?(?:(?:final|correct|right|una|ninguna)\s+)*\Z",
    r"(?:n['’]t|\b(?:not|never|cannot))\s+(?:\w+\s+)?"
    r"(?:think|believe|say|saying|claim|mean|agree|accept|conclude|true|sure|certain|convinced|clear|correct|right|"
    r"possible|the\s+case|so|know)\s+(?:that\s+|if\s+|whether\s+)?" + _THE,
    r"\b(?:(?<!no )(?<!out )(?<!any )doubt|deny|reject|disagree|unlikely|impossible|"
    r"false|untrue|wrong|incorrect|mistaken|a\s+mistake|a\s+lie)\s+"
    r"(?:to\s+(?:say|think|believe|claim|conclude)\s+)?(?:that\s+)?" + _THE,
    r"\b(?:if|whether|unless|(?<!\bI )(?:suppose|assume|imagine)|supposing|assuming|pretend|"
    r"let['’]s\s+say|let\s+us\s+say)\s+"
    r"(?:that\s+)?" + _THE,
    r"\b(?:(?:opposite|negative|inverse|reciprocal|square|cube|root|half|third|quarter|double|triple)\s+(?:of\s+)?|"
    r"twice\s+|minus\s+|plus\s+|times\s+)" + _THE,
    r"\bno\s+(?:\w+\s+)?(?:creo|pienso|digo|diría|afirmo|considero|acepto|sé|es\s+(?:cierto|verdad|correcto|posible)|"
    r"está\s+claro|estoy\s+segur[oa](?:\s+de)?|significa)\s+(?:que\s+|si\s+)?" + _THE,
    r"\b(?:dudo|niego|falso|mentira|incorrecto|imposible)\s+(?:de\s+)?(?:que\s+|decir\s+que\s+)?" + _THE,
    r"\b(?:si|supongamos|supón|suponiendo|imagina|imaginemos|digamos)\s+(?:que\s+)?" + _THE,
    r"\b(?:nobody|no\s+one|someone|some|many|most|students?|people|others|they|he|she)\s+(?:\w+\s+)?"
    r"(?:think|say|believe|claim)s?\s+(?:that\s+)?" + _THE,
    r"\b(?:mistake|error|trap)\s+(?:\w+\s+)?(?:is|would\s+be|es|sería)\s+(?:to\s+)?(?:say|think|believe|decir|pensar|creer)\s+(?:that\s+|que\s+)?"
    + _THE,
    r"\b(?:(?:opuesto|inverso|cuadrado|cubo|raíz|mitad|doble|triple|tercio|cuarto)\s+de|menos|más|por)\s+" + _THE,
)
_DENIED: Final = re.compile("|".join(f"(?:{one})" for one in _BEFORE), re.IGNORECASE)
_NEW_LINE: Final = re.compile(r"\n(?=\s*[^a-z\s])|\n\s*\n")
"""Where another sentence starts whatever stands before it; a line that goes on in lower case is wrapped."""
_NOT: Final = re.compile(
    r"(?:n['’]t|\b(?:not|never|no\s+es|no)|\b(?:false|wrong|untrue|falso|mentira)\s+(?:that|que))\s*[:$*_(\"'“]*\s*\Z",
    re.IGNORECASE,
)

_STOP: Final = r"\s*(?:[,.;:!…—–-]|\Z)"
_WRONG: Final = (
    r"(?:wrong|incorrect|false|untrue|mistaken|falso|falsa|incorrecto|incorrecta|errónea|equivocada)\b(?!\s+to\b)|"
    r"not\s+(?:right|correct|true|it\b|the\s+(?:right\s+|correct\s+|final\s+)?answer)|"
    r"a\s+(?:mistake|lie|joke)\b|un\s+error\b"
)
_ASKED: Final = re.compile(r"[\s$*_)\]\"'’”`]*\?")
_AFTER: Final = (
    rf"(?:no|nope|nah){_STOP}",
    r"(?:no\s+)?wait(?:\s*[,.;:!…—–-]|\s*\Z|\s+(?:no|that|this|it|i)\b)",
    r"no\s+(?:that|this|it|i|espera|eso|es\s+(?:cierto|correcto|verdad|así))\b",
    rf"(?:wrong|incorrect|false|oops|mentira|falso|incorrecto|mal|error|not){_STOP}",
    rf"(?:(?:that|this|it|which)(?:['’]s|\s+is|\s+was)|is|was)\s+(?:\w+ly\s+)?(?:{_WRONG})",
    r"(?:that|this|it|which)\s+(?:(?:is|was|does|ca|can|could)n['’]t|cannot)\s+(?:be\s+)?(?:right|correct|true|it\b|the\s)",
    r"(?:scratch|forget|ignore|disregard|strike)\s+(?:that|this|it|the\s+above|my)\b|never\s*mind\b|nevermind\b",
    r"(?:actually|rather|sorry|perd[oó]n|mejor\s+dicho|en\s+realidad|de\s+hecho)[,:]?\s+"
    r"(?:(?:it['’]s|(?:it|that)\s+(?:is|should\s+be)|I\s+meant?|make\s+(?:it|that)|es|son|sería)\s+)?[-−$€£\\({]*[0-9]",
    r"(?:mejor\s+dicho|rectifico|me\s+retracto)\b|i\s+(?:retract|withdraw)\b",
    r"correction\b|my\s+mistake\b|just\s+(?:kidding|joking)\b",
    r"i(?:['’]m|\s+am|\s+was)\s+(?:wrong|mistaken|lying|joking|kidding)\b|i\s+made\s+an?\s+(?:mistake|error)\b",
    r"i\s+(?:misread|miscalculated|lied|take\s+(?:that|it)\s+back)\b",
    r"espera\b|corrijo\b|correcci[oó]n\b|me\s+equivoqu[eé]|me\s+he\s+equivocado\b|(?:olvida|ignora)\s+(?:eso|lo\s+anterior)\b",
    rf"(?:(?:eso|esto|esa|lo\s+cual)\s+)?(?:está\s+mal\b|(?:es|era)\s+(?:{_WRONG}))",
    r"(?:eso|esto|esa)\s+no\s+(?:es|era|puede\s+ser)\s+(?:cierto|correcto|correcta|verdad|así|la\s+respuesta)\b",
)
_TAKEN_BACK: Final = re.compile(
    r"[\s.,;:!…$*_)\]}\"'’”`—–-]*(?:(?:oh|hmm+|ah|but|and|or|actually|sorry|pero|ay|perd[oó]n)\b[\s,.…!]*){0,3}"
    rf"(?:{'|'.join(_AFTER)})",
    re.IGNORECASE,
)

_JUDGED: Final = re.compile(rf"(?:{_WRONG})", re.IGNORECASE)
_OWN: Final = re.compile(r"\b(?:that|this|my|the|above|esa|esta|mi|la)\s+\Z", re.IGNORECASE)


def made(rest: str, start: int, end: int) -> bool:
    """Whether a phrase like "the answer is 42", from `start` to `end`, states its answer."""
    return not (_denied(rest[max(0, start - REACH) : start]) or _withdrawn(rest[end : end + REACH]))


def kept(rest: str, start: int, end: int) -> bool:
    """Whether a mark (`\\boxed{42}`, `<answer>42</answer>`, a `####` line) that stands for itself is left standing."""
    before = rest[max(0, start - REACH) : start]
    return not (_NOT.search(before[-24:]) or _withdrawn(rest[end : end + REACH]))


def condemns(rest: str, start: int, text: str) -> bool:
    """Whether a phrase says of the answers before it that they are none: "that answer is wrong"."""
    return _JUDGED.match(text) is not None and _OWN.search(rest[max(0, start - 24) : start]) is not None


def _denied(before: str) -> bool:
    before = _NEW_LINE.split(before)[-1]
    near = _WORD.findall(before.casefold())[-_NEAR_WORDS:]
    return not _TRIGGERS.isdisjoint(near) and _DENIED.search(before) is not None


def _withdrawn(after: str) -> bool:
    return _ASKED.match(after) is not None or _TAKEN_BACK.match(after) is not None
