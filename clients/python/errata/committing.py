"""What all writes have in common: how they are described, and the key that makes each safe to repeat."""

from __future__ import annotations

import uuid
from typing import TypedDict, TypeVar

from pydantic import ValidationError

from errata import wire
from errata.call import Call
from errata.refusals import malformed
from errata.wire import Method, Request, Wait

R = TypeVar("R", bound=Request)


class HowToCommit(TypedDict, total=False):
    """wait: "none" does not wait for the replicas. strict: refuse with BreaksTests what breaks an earlier edit.

    idempotency_key: give the same one again to repeat a write whose receipt was lost; it is not made twice.
    """

    message: str
    wait: Wait
    strict: bool
    idempotency_key: str


class HowToEdit(HowToCommit, total=False):
    """expected_version: refuse with StaleVersion if the ledger has moved on.

    dry_run: measure and change nothing; with measure=False only see what would be refused.
    method: the service's default if left out. skip_refused: leave out what is refused, the report tells of it.
    """

    expected_version: int
    method: Method
    dry_run: bool
    skip_refused: bool
    measure: bool


class HowToImport(HowToCommit, total=False):
    """As of an edit. A file that is sent again with the same key is answered with its first receipt."""

    expected_version: int
    dry_run: bool


def commit(path: str, kind: type[Request], fields: dict[str, object]) -> Call[wire.EditReceipt]:
    key = key_among(fields)
    body = checked(kind, **fields)
    reads = bool(fields.get("dry_run"))
    return Call("POST", path, wire.EditReceipt, body, idempotency_key=key, reads=reads, slow=True)


def checked(kind: type[R], **fields: object) -> R:
    """The request, or Malformed before anything is sent."""
    try:
        return kind.model_validate(fields)
    except ValidationError as error:
        raise malformed(error) from error


def key_among(fields: dict[str, object]) -> str:
    """The key that was given, taken out of the fields, or a new one."""
    return checked(
        wire.IdempotencyHeader, idempotency_key=fields.pop("idempotency_key", new_key())
    ).idempotency_key


def new_key() -> str:
    return uuid.uuid4().hex
