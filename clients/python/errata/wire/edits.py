"""What a curator asks for and gets back: edits, reverts and rollbacks, each answered with a receipt."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from errata.wire.base import CommitVersion, Message, Name, Request, Response, Text, Version
from errata.wire.report import Report
from errata.wire.state import ReplicaState

MAX_EDITS = 1_000
MAX_PARAPHRASES = 20

Kind = Literal["edit", "revert", "rollback"]
Method = Literal["gated", "surgery"]
Wait = Literal["all", "none"]


class EditItem(Request):
    question: Text
    answer: Text
    paraphrases: Annotated[list[Text], Field(max_length=MAX_PARAPHRASES)] = Field(default_factory=list)
    model: Name = "nkb"


class EditRequest(Request):
    """All edits become one commit, or none does. expected_version: 409 if the ledger has moved on."""

    edits: Annotated[list[EditItem], Field(min_length=1, max_length=MAX_EDITS)]
    message: Message = ""
    expected_version: Version | None = None
    method: Method | None = None
    wait: Wait = "all"
    dry_run: bool = False


class RevertRequest(Request):
    version: CommitVersion
    message: Message = ""
    wait: Wait = "all"


class RollbackRequest(Request):
    to: Version
    message: Message = ""
    wait: Wait = "all"


class Repetition(Request):
    """The Idempotency-Key header: a write repeated with the same key is answered with its first result."""

    idempotency_key: Annotated[str, StringConstraints(pattern=r"^[!-~]{1,200}$")]


class EditReceipt(Response):
    """version: None for a dry run. all_applied: every replica confirmed before the answer was sent."""

    version: Version | None
    kind: Kind
    report: Report
    replicas: list[ReplicaState]
    all_applied: bool
