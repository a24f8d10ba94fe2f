"""Problem documents, the one table of their codes, and wrong fields of a request in plain words, with their places.

The client and the service both use this. Pydantic's words are for programmers ("String should have at least 1
character").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import quote

from pydantic import Field

from errata.wire.base import Response


class ProblemKind(NamedTuple):
    """The properties of a code."""

    status: int
    title: str
    # Shortest pause after which the same request may succeed; None where repeating does not help
    retry_after_s: int | None = None


PROBLEMS: Mapping[str, ProblemKind] = MappingProxyType(
    {
        "malformed_json": ProblemKind(400, "Malformed JSON"),
        "invalid_input": ProblemKind(422, "Invalid input"),
        "too_large": ProblemKind(413, "Too large"),
        "too_slow": ProblemKind(408, "Sent too slowly"),
        "unsupported_media_type": ProblemKind(415, "Unsupported media type"),
        "edit_refused": ProblemKind(422, "The edit cannot work"),
        "unauthorized": ProblemKind(401, "No valid key"),
        "forbidden": ProblemKind(403, "Not allowed"),
        "not_found": ProblemKind(404, "Not found"),
        "unknown_model": ProblemKind(404, "Unknown model"),
        "stale_version": ProblemKind(409, "The ledger has moved"),
        "graph_moved": ProblemKind(409, "The graph has moved"),
        "ambiguous": ProblemKind(409, "The name is ambiguous"),
        "add_or_set": ProblemKind(409, "Added or in place of the others?"),
        "similar_name": ProblemKind(409, "The name is nearly one in use"),
        "breaks_tests": ProblemKind(409, "It would break earlier edits"),
        "memory_full": ProblemKind(409, "No slots are left"),
        "key_taken": ProblemKind(409, "The name of the key is taken"),
        "ledger_not_empty": ProblemKind(409, "The ledger is not empty"),
        "proposal_closed": ProblemKind(409, "The proposal is closed"),
        "nothing_to_do": ProblemKind(409, "Nothing to do"),
        "too_many": ProblemKind(429, "Too many requests", retry_after_s=2),
        "version_ahead": ProblemKind(503, "Version not reached yet", retry_after_s=1),
        "not_ready": ProblemKind(503, "Not ready", retry_after_s=1),
        "ledger_unavailable": ProblemKind(503, "The ledger cannot be reached", retry_after_s=1),
        "ledger_corrupt": ProblemKind(503, "The ledger is damaged"),
        "crashed": ProblemKind(500, "It ends the process that works for it"),
        "internal": ProblemKind(500, "Internal error"),
    }
)


class FieldProblem(Response):
    """A mistake in one field, at its `pointer` in the body (RFC 6901) or in a `parameter` of query or path."""

    detail: str
    pointer: str | None = None
    parameter: str | None = None


class Problem(Response, extra="allow"):
    """An RFC 9457 problem document; the members that a code adds (`current`, ...) are kept."""

    type: str = "about:blank"
    """A URI that names the kind of the problem."""
    title: str
    status: int
    code: str
    detail: str
    instance: str | None = None
    """The path of the request."""
    errors: list[FieldProblem] = Field(default_factory=list, exclude_if=lambda errors: not errors)
    """The first wrong fields of a request that cannot be used."""

    @classmethod
    def of_kind(cls, code: str, title: str, status: int, detail: str, path: str) -> Problem:
        """Return the problem of a status that has no class of errors."""
        kind = f"urn:errata:problem:{code}"
        return cls(type=kind, title=title, status=status, code=code, detail=detail, instance=path)

    @classmethod
    def of(cls, code: str, detail: str) -> Problem:
        """Make a problem with the title and status of its code."""
        kind = PROBLEMS[code]
        return cls(title=kind.title, status=kind.status, code=code, detail=detail)


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
