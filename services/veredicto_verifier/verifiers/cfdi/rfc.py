"""The check digit of an RFC: a suspicion, not a rule, since about one real RFC in a hundred breaks it."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from veredicto_verifier.verifiers.cfdi.comprobante import Comprobante

ALPHABET = "0123456789ABCDEFGHIJKLMN&OPQRSTUVWXYZ Ñ"
GENERIC = ("XAXX010101000", "XEXX010101000", "EXT990101NI1")


def check_digit(rfc: str) -> str | None:
    """The digit that the first 11 or 12 characters demand; None where a character is none of an RFC's."""
    body = rfc[:-1].rjust(12)
    if len(body) != 12 or any(letter not in ALPHABET for letter in body):
        return None
    rest = sum(ALPHABET.index(letter) * (13 - at) for at, letter in enumerate(body)) % 11
    return "0" if rest == 0 else "A" if rest == 1 else str(11 - rest)


def suspicious_rfcs(cfdi: Comprobante, known: Collection[str]) -> Iterator[str]:
    """Paths of the parties whose RFC breaks its check digit and is neither generic nor among `known`."""
    for node in (cfdi.emisor, cfdi.receptor):
        rfc = node.get("Rfc")
        if rfc and rfc not in GENERIC and rfc not in known and check_digit(rfc) != rfc[-1]:
            yield node.path
