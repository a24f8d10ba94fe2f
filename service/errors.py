"""Every way a request can fail, so that each failure has one status, one stable code and one place to look.

The domain raises, one handler answers. Status, title and Retry-After follow from the code by a table that the client
shares, `errata.wire.PROBLEMS`. Every class is built the same way, from a detail and extras, so that an error survives
pickling on its way from a replica to the ingress.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar, TypeAlias

from errata.wire import PROBLEMS

MAX_NAMED = 20  # edits that a problem document lists
JSON: TypeAlias = bool | int | float | str | Sequence["JSON"] | Mapping[str, "JSON"] | None


class ErrataError(Exception):
    """The base of all errors. A class without its own code has that of its family.

    Attributes:
        detail: One sentence that names the mistake and the remedy.
        extras: More fields of the problem document.
    """

    code: ClassVar[str] = "internal"
    status: ClassVar[int]
    title: ClassVar[str]
    retry_after_s: ClassVar[int | None]
    status, title, retry_after_s = PROBLEMS[code]

    def __init_subclass__(cls, code: str = "") -> None:
        cls.code = code or cls.code
        cls.status, cls.title, cls.retry_after_s = PROBLEMS[cls.code]

    def __init__(self, detail: str, **extras: JSON) -> None:
        super().__init__(detail)
        self.detail = detail
        self.extras: dict[str, JSON] = extras


class Malformed(ErrataError, code="invalid_input"):
    """The request cannot be used."""


class MalformedJson(Malformed, code="malformed_json"):
    """The body is not JSON."""


class InvalidInput(Malformed):
    """A field, a parameter or a file says what cannot be used."""


class TooLarge(Malformed, code="too_large"):
    """The request has more than `limit` allows."""


class TooSlow(Malformed, code="too_slow"):
    """A body arrived too slowly."""


class UnsupportedMediaType(Malformed, code="unsupported_media_type"):
    """The body is of a kind that the route does not read."""


class EditRefused(Malformed, code="edit_refused"):
    """An edit that cannot work. `reason` is the editor's stable code (`no_active_slot`, ...)."""


class AccessDenied(ErrataError, code="forbidden"):
    """The caller may not do this."""


class Unauthorized(AccessDenied, code="unauthorized"):
    """The request has no valid key or token."""


class Forbidden(AccessDenied):
    """The key lacks the scope, or the request comes from a foreign page."""


class Missing(ErrataError, code="not_found"):
    """The path or a field names a thing that is not there."""


class NotFound(Missing):
    """There is no such version, edit, entity, document or route."""


class UnknownModel(Missing, code="unknown_model"):
    @classmethod
    def of(cls, name: str, models: Iterable[str], advice: str = "") -> UnknownModel:
        names = list(models)
        return cls(f"there is no model {name!r} here: there is {', '.join(names)}{advice}", models=names)


class Conflict(ErrataError, code="nothing_to_do"):
    """The request does not fit the current state."""


class StaleVersion(Conflict, code="stale_version"):
    @classmethod
    def at(cls, current: int, expected: int) -> StaleVersion:
        detail = (
            f"the ledger is at version {current}, not {expected}: look at that version, then send this again"
        )
        return cls(detail, current=current, expected=expected)


class GraphMoved(Conflict, code="graph_moved"):
    """The graph has changed since it was read for this change; a new attempt reads it again."""


class Ambiguous(Conflict, code="ambiguous"):
    """Several entities have the name. `candidates` describes them."""


class AddOrSet(Conflict, code="add_or_set"):
    """The relation has a value already, and may hold one or many. `values` are its values."""


class SimilarName(Conflict, code="similar_name"):
    """The name is new and one letter away from a name in use, that of `candidates`."""


class BreaksTests(Conflict, code="breaks_tests"):
    """Fact tests of earlier edits (`tests`) would fail, or other answers (`side_effects`) change.

    Only requests with `strict` are refused for that.
    """


class MemoryFull(Conflict, code="memory_full"):
    """The edits need more than the free ones of the memory's `slots`, of which `used` are taken."""


class KeyTaken(Conflict, code="key_taken"):
    """A key has, or had, this name, under which its changes are in the ledger."""


class LedgerNotEmpty(Conflict, code="ledger_not_empty"):
    """A backup is restored only into an empty ledger (it has a `version`), or to continue a restore of itself."""


class ProposalClosed(Conflict, code="proposal_closed"):
    """A proposal is approved, rejected or expired already (`state`, `by`)."""


class NothingToDo(Conflict):
    """The request would change nothing."""


class TooMany(ErrataError, code="too_many"):
    """The caller, or all callers together, ask for more than there is room for now."""


class Unavailable(ErrataError, code="not_ready"):
    """The same request may succeed later.

    Where a write may have been made, the extras are `in_doubt` and the `idempotency_key` to repeat it.
    """


class VersionAhead(Unavailable, code="version_ahead"):
    """The replica did not reach the requested version in time."""


class NotReady(Unavailable):
    """The service cannot do this yet: a part starts, or a restore is under way."""


class LedgerUnavailable(Unavailable, code="ledger_unavailable"):
    """The store does not answer."""


class LedgerCorrupt(ErrataError, code="ledger_corrupt"):
    """The stored data was altered or lost, at a `version` or `block`. A person has to act: no Retry-After."""


class UpstreamFailed(ErrataError, code="upstream_failed"):
    """An upstream cannot be reached, or was cut."""


class UpstreamSlow(ErrataError, code="upstream_slow"):
    """An upstream was silent for too long."""


class Crashed(ErrataError, code="crashed"):
    """The request ended the processes that worked for it. It is refused, and nothing was changed."""


class Internal(ErrataError):
    """A fault of the service itself."""
