"""Wrong fields of a request in plain words, with their places.

The client and the service both use this. Pydantic's words are for programmers ("String should have at least 1
character").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias
from urllib.parse import quote

from errata.wire.problems import FieldProblem

Mistake: TypeAlias = Mapping[str, Any]  # one of pydantic's `ValidationError.errors()`
# Pydantic's type of a mistake -> its words, with values of its context. All shortest lengths here are one
WORDS: Mapping[str, str] = MappingProxyType(
    {
        "missing": "is missing",
        "extra_forbidden": "is no field of this request",
        "model_type": 'must be an object with named fields, such as {{"question": "..."}}: /docs lists them',
        "dict_type": "has to be an object with named fields",
        "list_type": "has to be a list",
        "string_type": "has to be a text",
        "string_unicode": "is no text of Unicode",
        "bool_type": "has to be true or false",
        "bool_parsing": "has to be true or false",
        "int_type": "has to be a whole number",
        "int_parsing": "has to be a whole number",
        "int_from_float": "has to be a whole number",
        "float_type": "has to be a number",
        "float_parsing": "has to be a number",
        "literal_error": "has to be {expected}",
        "string_too_short": "is empty",
        "string_too_long": "may have {max_length:,} characters",
        "too_short": "is an empty list",
        "too_long": "may have {max_length:,} items and has {actual_length}",
        "greater_than": "has to be more than {gt:,}",
        "greater_than_equal": "has to be {ge:,} or more",
        "less_than_equal": "has to be {le:,} or less",
        "string_pattern_mismatch": "has to be of the form {pattern}",
    }
)
# Parts of pydantic's paths that are not in the JSON
UNION_TAGS = {"<correction>", "<fact>", "<definition>", "<change>"}
MAX_NAME_CHARS = 100


def describe_mistake(mistake: Mistake) -> str:
    """Describe a mistake without its field: `is missing`. A check with its own message keeps it."""
    words, context = WORDS.get(mistake["type"]), mistake.get("ctx", {})
    try:
        return words.format_map(context) if words else _own_words(mistake)
    except KeyError:  # a check of the wire types that uses a name of pydantic's
        return _own_words(mistake)


def _own_words(mistake: Mistake) -> str:
    message: str = mistake["msg"]
    return message.removeprefix("Value error, ")


def locate(mistake: Mistake) -> list[str]:
    """Return the names and numbers that lead to the field; long names of unknown fields are cut."""
    return [shorten(str(part)) for part in mistake["loc"] if part not in UNION_TAGS]


def shorten(name: str) -> str:
    return name if len(name) <= MAX_NAME_CHARS else f"{name[:MAX_NAME_CHARS]}..."


def complain(names: Sequence[str], words: str) -> str:
    """Write the path of a field and its mistake: `edits.3.answer: is missing`."""
    return f"{'.'.join(names)}: {words}" if names else words


def point_out(mistake: Mistake, of: Sequence[str] = ()) -> FieldProblem:
    """Return the mistake with the JSON pointer of its field (RFC 6901, as the fragment of a URI): `#/edits/3/answer`.

    `of` is the path of the part of the body that was checked.
    """
    names = [*of, *locate(mistake)]
    pointer = "#" + "".join(
        f"/{quote(name.replace('~', '~0').replace('/', '~1'), safe='~')}" for name in names
    )
    return FieldProblem(detail=describe_mistake(mistake), pointer=pointer)


def name_parameter(mistake: Mistake) -> FieldProblem:
    """Return the mistake with its parameter of the path or the query."""
    return FieldProblem(detail=describe_mistake(mistake), parameter=".".join(locate(mistake)))
