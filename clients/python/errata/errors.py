"""Every way a call can fail, as one tree of classes, so that a caller can catch a family or a single error.

`str(error)` is one sentence that names the mistake and the remedy. `error.in_doubt` is True for a write that failed
and may have been made all the same. Repeated with `error.idempotency_key`, it is made only once; an import has none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, TypeVar

from pydantic import TypeAdapter, ValidationError

from errata import wire

T = TypeVar("T")
MAY_BE_MADE = "the change may have been made: repeat it with idempotency key {key} to be sure"
MAY_BE_MADE_UNKEYED = "it may have been made all the same: the log shows whether it was"


class ErrataError(Exception):
    """The base of every error that a call can raise.

    Attributes:
        in_doubt: True for a write that may have been made all the same.
        idempotency_key: The key of such a write.
        remedy: The remedy, where it is not to repeat the request.
    """

    in_doubt: bool = False
    idempotency_key: str | None = None
    remedy: str = ""

    @property
    def sentence(self) -> str:
        return super().__str__()

    def __str__(self) -> str:
        if not self.in_doubt:
            return self.sentence
        if self.remedy:
            return f"{self.sentence}; the change may have been made: {self.remedy}"
        if self.idempotency_key is None:
            return f"{self.sentence}; {MAY_BE_MADE_UNKEYED}"
        return f"{self.sentence}; {MAY_BE_MADE.format(key=self.idempotency_key)}"


class BadAddress(ErrataError):
    """The URL or the key cannot be used; nothing was sent."""


class UnreadableFile(ErrataError):
    """The file to send cannot be read; nothing was changed."""


class BadFile(UnreadableFile):
    """The mistakes in the file's `lines`, each with its place; none where the file as a whole cannot be used."""

    def __init__(self, sentence: str, lines: Sequence[str] = ()) -> None:
        super().__init__(sentence)
        self.lines = tuple(lines)


class UnwritableFile(ErrataError):
    """The received file cannot be written."""


class Closed(ErrataError):
    """This client has been closed."""


class Unreachable(ErrataError):
    """No answer came; `was_sent` tells whether the request may have arrived."""

    def __init__(self, sentence: str, *, was_sent: bool = True) -> None:
        super().__init__(sentence)
        self.was_sent = was_sent


class TimedOut(Unreachable):
    """No answer came in time."""


class NotErrata(ErrataError):
    """The response is not one of Errata."""


class Refused(ErrataError):
    """The service refused the call.

    Attributes:
        problem: The problem document, extras included.
        retry_after_s: Seconds after which the service asks for a new attempt.
        by_code: The class of each code of `errata.wire.PROBLEMS`.
    """

    by_code: ClassVar[dict[str, type[Refused]]] = {}

    def __init_subclass__(cls, *, codes: Sequence[str] = ()) -> None:
        Refused.by_code |= dict.fromkeys(codes, cls)

    def __init__(self, problem: wire.Problem, retry_after_s: float | None = None) -> None:
        super().__init__(problem, retry_after_s)
        self.problem = problem
        self.retry_after_s = retry_after_s

    @property
    def sentence(self) -> str:
        return self.problem.detail or self.problem.title

    @property
    def status(self) -> int:
        return self.problem.status

    @property
    def code(self) -> str:
        return self.problem.code

    @property
    def errors(self) -> list[wire.FieldProblem]:
        """The mistakes in a request, field by field: `detail` and `pointer` or `parameter`."""
        return self.problem.errors

    def extra(self, name: str) -> object:
        """Return a member that this code adds to its problem document, or None."""
        return (self.problem.model_extra or {}).get(name)

    def extra_list(self, name: str, kind: type[T]) -> list[T]:
        """Return the items of a list that this code adds; none where it is absent or of another shape."""
        try:
            return TypeAdapter(list[kind]).validate_python(self.extra(name))  # type: ignore[valid-type]
        except ValidationError:
            return []


class Malformed(Refused, codes=("malformed_json", "invalid_input")):
    """The request cannot be used; the client may notice it first."""


class TooLarge(Malformed, codes=("too_large",)):
    """The request has more than is allowed."""


class TooSlow(Malformed, codes=("too_slow",)):
    """The body arrived too slowly."""


class UnsupportedMediaType(Malformed, codes=("unsupported_media_type",)):
    """The service does not read bodies of this kind."""


class EditRefused(Malformed, codes=("edit_refused",)):
    @property
    def reason(self) -> str:
        """The editor's stable code (`no_active_slot`, ...)."""
        return str(self.extra("reason") or "")


class Denied(Refused):
    """The caller may not do this."""


class Unauthorized(Denied, codes=("unauthorized",)):
    """The key or token is not valid."""


class Forbidden(Denied, codes=("forbidden",)):
    """The key lacks a scope."""


class Missing(Refused):
    """The service lacks the thing that the caller named."""


class NotFound(Missing, codes=("not_found",)):
    """There is no such version, edit, entity or document."""


class UnknownModel(Missing, codes=("unknown_model",)):
    """The service has no such model."""


class Conflict(Refused):
    """The request does not fit the current state."""


class _LedgerMoved(Conflict):
    @property
    def current(self) -> int | None:
        """The version of the ledger."""
        current = self.extra("current")
        return current if isinstance(current, int) else None


class StaleVersion(_LedgerMoved, codes=("stale_version",)):
    """Others have made a commit since the expected version."""


class GraphMoved(_LedgerMoved, codes=("graph_moved",)):
    """The graph changed while a file was read, so names of the file were looked up in the former graph."""


class Ambiguous(Conflict, codes=("ambiguous",)):
    @property
    def candidates(self) -> list[wire.EntityHead]:
        """The entities that have the name; use the id of one."""
        return self.extra_list("candidates", wire.EntityHead)


class AddOrSet(Conflict, codes=("add_or_set",)):
    """The relation is not defined to hold one value or many; give the fact with `act`."""

    @property
    def values(self) -> list[str]:
        """The values that the subject has."""
        return self.extra_list("values", str)


class SimilarName(Conflict, codes=("similar_name",)):
    """The name is nearly one in use; write that one, or give the fact with `create`, the edit without `strict`."""

    @property
    def candidates(self) -> list[str]:
        """Names in use."""
        return self.extra_list("candidates", str)


class BreaksTests(Conflict, codes=("breaks_tests",)):
    """The commit would break fact tests, or change other answers; raised only with `strict`."""

    @property
    def tests(self) -> list[wire.Outcome]:
        """The fact tests of earlier edits that would fail, the first of very many."""
        return self.extra_list("tests", wire.Outcome)

    @property
    def side_effects(self) -> list[wire.Outcome]:
        """The questions of the pack that would get other answers, the first of very many."""
        return self.extra_list("side_effects", wire.Outcome)


class MemoryFull(Conflict, codes=("memory_full",)):
    """The edits need more slots than are free."""


class KeyTaken(Conflict, codes=("key_taken",)):
    """A key has, or had, this name."""


class LedgerNotEmpty(Conflict, codes=("ledger_not_empty",)):
    """A backup is restored into an empty ledger only."""


class ProposalClosed(Conflict, codes=("proposal_closed",)):
    """The proposal is approved, rejected or expired already."""


class NothingToDo(Conflict, codes=("nothing_to_do",)):
    """The request would change nothing."""


class TooMany(Refused, codes=("too_many",)):
    """The caller calls too often, or the service is busy: try again later."""


class Unavailable(Refused):
    """The same request may succeed later."""


class VersionAhead(Unavailable, codes=("version_ahead",)):
    """The replica has not reached the version in time."""


class NotReady(Unavailable, codes=("not_ready",)):
    """The service cannot do this yet."""


class LedgerUnavailable(Unavailable, codes=("ledger_unavailable",)):
    """The store of the service does not answer."""


class UpstreamFailed(Refused, codes=("upstream_failed", "upstream_slow")):
    """The language model behind Errata cannot be reached, or is silent; Errata itself is well."""


class ServerError(Refused, codes=("internal", "ledger_corrupt")):
    """An operator has to look."""


class Crashed(ServerError, codes=("crashed",)):
    """The request ended two processes, and nothing was changed."""
