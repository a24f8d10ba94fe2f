"""Problem documents, and the one table of their codes."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

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
        "stale_version": ProblemKind(409, "Version conflict"),
        "graph_moved": ProblemKind(409, "The graph has moved"),
        "ambiguous": ProblemKind(409, "The name is ambiguous"),
        "add_or_set": ProblemKind(409, "Ambiguous cardinality"),
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
        "upstream_failed": ProblemKind(502, "The upstream failed"),
        "upstream_slow": ProblemKind(504, "The upstream is silent"),
        "crashed": ProblemKind(500, "The request crashes the worker"),
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
