"""Why a text is not well-formed XML, in Spanish, by libxml2's number of the error."""

from __future__ import annotations

from collections.abc import Mapping

from lxml import etree

ERRORS = etree.ErrorTypes
MEANINGS: Mapping[int, str] = {
    ERRORS.ERR_DOCUMENT_EMPTY: "el documento no empieza con un elemento",
    ERRORS.ERR_DOCUMENT_END: "hay algo después del elemento raíz",
    ERRORS.ERR_TAG_NOT_FINISHED: "falta la etiqueta de cierre: el documento termina antes de tiempo",
    ERRORS.ERR_TAG_NAME_MISMATCH: "la etiqueta de cierre no es la del elemento abierto",
    ERRORS.ERR_GT_REQUIRED: "una etiqueta no termina en >",
    ERRORS.ERR_LTSLASH_REQUIRED: "falta la etiqueta de cierre",
    ERRORS.ERR_NAME_REQUIRED: "falta un nombre, o un & o < no está escrito como &amp; o &lt;",
    ERRORS.ERR_ENTITYREF_SEMICOL_MISSING: "un & no está escrito como &amp;, o a la entidad le falta ;",
    ERRORS.ERR_UNDECLARED_ENTITY: "una entidad que no es de XML (solo amp, lt, gt, quot y apos)",
    ERRORS.ERR_LT_IN_ATTRIBUTE: "un < dentro de un atributo no está escrito como &lt;",
    ERRORS.ERR_ATTRIBUTE_REDEFINED: "un atributo está dos veces en el mismo elemento",
    ERRORS.ERR_ATTRIBUTE_NOT_STARTED: "el valor de un atributo no está entre comillas",
    ERRORS.ERR_ATTRIBUTE_NOT_FINISHED: "al valor de un atributo le falta la comilla de cierre",
    ERRORS.ERR_ATTRIBUTE_WITHOUT_VALUE: "un atributo no tiene valor",
    ERRORS.ERR_SPACE_REQUIRED: "falta un espacio entre atributos",
    ERRORS.ERR_INVALID_CHAR: "hay un carácter que XML no admite",
    ERRORS.ERR_INVALID_CHARREF: "hay una referencia a un carácter que XML no admite",
    ERRORS.ERR_INVALID_HEX_CHARREF: "hay una referencia a un carácter que está mal escrita",
    ERRORS.ERR_INVALID_DEC_CHARREF: "hay una referencia a un carácter que está mal escrita",
    ERRORS.ERR_INVALID_ENCODING: "hay bytes que no son UTF-8",
    ERRORS.ERR_MISPLACED_CDATA_END: "hay un ]]> fuera de CDATA",
    ERRORS.ERR_CDATA_NOT_FINISHED: "a una sección CDATA le falta su cierre",
    ERRORS.ERR_COMMENT_NOT_FINISHED: "a un comentario le falta su cierre",
    ERRORS.ERR_HYPHEN_IN_COMMENT: "hay dos guiones seguidos dentro de un comentario",
    ERRORS.ERR_XMLDECL_NOT_FINISHED: "la declaración de XML no termina en ?>",
    ERRORS.ERR_UNKNOWN_VERSION: "la versión declarada de XML no es 1.0",
    ERRORS.ERR_RESOURCE_LIMIT: "hay elementos a más de 256 niveles, o un texto de más de 10 MB",
    ERRORS.NS_ERR_XML_NAMESPACE: "un espacio de nombres está mal declarado",
    ERRORS.NS_ERR_UNDEFINED_NAMESPACE: "un prefijo no tiene declarado su espacio de nombres",
    ERRORS.NS_ERR_QNAME: "un nombre tiene más de un prefijo",
    ERRORS.NS_ERR_ATTRIBUTE_REDEFINED: "un atributo está dos veces en el mismo elemento",
}


def explained(error: int, detail: str) -> str:
    """What is wrong in Spanish, then libxml2's own words as a labelled detail (alone where there is no meaning)."""
    words = f"(libxml2: {detail})" if detail else ""
    return " ".join(one for one in (MEANINGS.get(error, ""), words) if one)
