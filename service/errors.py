"""Every way a request can fail, so that each failure has one status, one stable code and one place to look.

    ErrataError                          500 internal
    ├── Malformed                        what was sent cannot be used
    │   ├── MalformedJson                400 malformed_json
    │   ├── InvalidInput                 422 invalid_input
    │   ├── TooLarge                     413 too_large
    │   ├── TooSlow                      408 too_slow
    │   └── EditRefused                  422 edit_refused         extras: reason
    ├── Denied
    │   ├── Unauthorized                 401 unauthorized
    │   └── Forbidden                    403 forbidden
    ├── Missing
    │   ├── NotFound                     404 not_found
    │   └── UnknownModel                 404 unknown_model
    ├── Conflict                         right in itself, wrong at this moment
    │   ├── StaleVersion                 409 stale_version        extras: current, expected
    │   ├── GraphMoved                   409 graph_moved          extras: current, expected
    │   ├── Ambiguous                    409 ambiguous            extras: candidates
    │   ├── BreaksTests                  409 breaks_tests         extras: tests
    │   ├── MemoryFull                   409 memory_full          extras: used, slots
    │   ├── KeyTaken                     409 key_taken
    │   ├── LedgerNotEmpty               409 ledger_not_empty     extras: version
    │   └── NothingToDo                  409 nothing_to_do
    ├── TooMany                          429 too_many             Retry-After; retry_after_s where it is known
    ├── Unavailable                      the same request may succeed later
    │   ├── VersionAhead                 503 version_ahead        Retry-After
    │   ├── NotReady                     503 not_ready            Retry-After
    │   └── LedgerUnavailable            503 ledger_unavailable   Retry-After; in_doubt where a commit may be made
    ├── LedgerCorrupt                    503 ledger_corrupt       extras: version or block
    └── Internal                         500 internal

The domain raises, one handler answers. Every class is built the same way, from a detail and extras, so that
an error survives pickling on its way from a replica to the ingress.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, TypeAlias

JSON: TypeAlias = bool | int | float | str | Sequence["JSON"] | Mapping[str, "JSON"] | None


class ErrataError(Exception):
    """detail: one sentence naming the thing and what to do. extras: more fields of the problem document."""

    status: ClassVar[int] = 500
    code: ClassVar[str] = "internal"
    title: ClassVar[str] = "Internal error"
    retry_after_s: ClassVar[int | None] = None

    def __init__(self, detail: str, **extras: JSON) -> None:
        super().__init__(detail)
        self.detail = detail
        self.extras: dict[str, JSON] = extras


class Malformed(ErrataError):
    status, code, title = 422, "invalid_input", "Invalid input"


class MalformedJson(Malformed):
    status, code, title = 400, "malformed_json", "Malformed JSON"


class InvalidInput(Malformed):
    pass


class TooLarge(Malformed):
    status, code, title = 413, "too_large", "Too large"


class TooSlow(Malformed):
    """A body of which too little came for too long."""

    status, code, title = 408, "too_slow", "Sent too slowly"


class EditRefused(Malformed):
    """An edit that cannot work. `reason` is the editor's own stable code (`no_active_slot`, ...)."""

    status, code, title = 422, "edit_refused", "The edit cannot work"


class Denied(ErrataError):
    status, code, title = 403, "forbidden", "Not allowed"


class Unauthorized(Denied):
    status, code, title = 401, "unauthorized", "No valid key"


class Forbidden(Denied):
    pass


class Missing(ErrataError):
    status, code, title = 404, "not_found", "Not found"


class NotFound(Missing):
    pass


class UnknownModel(Missing):
    status, code, title = 404, "unknown_model", "Unknown model"


class Conflict(ErrataError):
    status, code, title = 409, "nothing_to_do", "Nothing to do"


class StaleVersion(Conflict):
    status, code, title = 409, "stale_version", "The ledger has moved"

    @classmethod
    def at(cls, current: int, expected: int) -> StaleVersion:
        detail = (
            f"the ledger is at version {current}, not {expected}: look at that version, then send this again"
        )
        return cls(detail, current=current, expected=expected)


class GraphMoved(Conflict):
    """What was read from the graph to make this is no longer so; making it again means reading it again."""

    code, title = "graph_moved", "The graph has moved"


class Ambiguous(Conflict):
    """A name that several entities bear. `candidates` says how to tell them apart."""

    code, title = "ambiguous", "The name is ambiguous"


class BreaksTests(Conflict):
    """Fact tests of earlier edits that would no longer hold. `tests` names them; only `strict` refuses for them."""

    code, title = "breaks_tests", "It would break earlier edits"


class MemoryFull(Conflict):
    status, code, title = 409, "memory_full", "No slots are left"


class KeyTaken(Conflict):
    """A name that a key has, or had: what was done under it stands in the ledger."""

    code, title = "key_taken", "The name of the key is taken"


class LedgerNotEmpty(Conflict):
    """A backup goes into an empty ledger, or into what an earlier try has left of itself."""

    code, title = "ledger_not_empty", "The ledger is not empty"


class NothingToDo(Conflict):
    pass


class TooMany(ErrataError):
    status, code, title, retry_after_s = 429, "too_many", "Too many requests", 2


class Unavailable(ErrataError):
    status, code, title, retry_after_s = 503, "not_ready", "Not ready", 1


class VersionAhead(Unavailable):
    """A version that was asked for and that the replica did not reach in time."""

    code, title = "version_ahead", "Version not reached yet"


class NotReady(Unavailable):
    pass


class LedgerUnavailable(Unavailable):
    code, title = "ledger_unavailable", "The ledger cannot be reached"


class LedgerCorrupt(ErrataError):
    """What is stored is not what was written. A person has to act, so there is no Retry-After."""

    status, code, title = 503, "ledger_corrupt", "The ledger is damaged"


class Internal(ErrataError):
    pass
