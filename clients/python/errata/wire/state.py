"""The current state of the service: its models, memories and replicas, hits of edits, and the caller's key."""

from __future__ import annotations

from typing import Literal

from pydantic import AwareDatetime, Field

from errata.wire.base import Details, Response, Version


class Hits(Response):
    """The answers to users that rested on an edit.

    Attributes:
        count: Their number.
        last: When the last was given; None if there were none.
    """

    count: int
    last: AwareDatetime | None = None


class ReplicaState(Response):
    """A replica.

    Attributes:
        lag: Number of versions that it is behind.
        healthy: True if the replica answers, and from rows that are as they should be.
        degraded: Code of the problem for which its version may be old, else null.
        host: Its machine or pod.
        pid: Id of its process there.
        applied_ms: Milliseconds from the newest commit until the replica had it.
        seen_s_ago: Seconds since it last reported.
    """

    replica: str
    model: str
    version: Version
    checksums: dict[str, str]
    lag: int
    healthy: bool
    degraded: str | None = None
    host: str | None = None
    pid: int | None = None
    applied_ms: float | None = None
    seen_s_ago: float


class ReplicaList(Response):
    """The replicas, and the newest version of the ledger (`head`), which each should have."""

    head: Version
    replicas: list[ReplicaState]


class MemoryCard(Response):
    """One editable memory that a model reads.

    Attributes:
        base: Digest of its state without edits.
        accepts: Kinds of change.
        options: JSON schema of each editing option.
        changes: A kind of change that only this memory knows -> JSON schema of each field.
    """

    name: str
    base: str
    accepts: list[str]
    options: Details = Field(default_factory=dict)
    changes: Details = Field(default_factory=dict)


class ModelCard(Response):
    """One answering system, in OpenAI's shape, too.

    Attributes:
        memories: The memories that the model reads and that can be edited.
        methods: The ways in which an edit can be written.
        ready: True if a replica answers.
        replicas: Number of replicas.
        details: Further properties, in the form of the model.
        answers: Questions that reached this ingress since it started, by outcome: answered, declined, or the code of
            a problem. One to `auto` counts for each system that it was put to.
        object: Always `model`.
        owned_by: Always `errata`.
    """

    id: str
    memories: list[MemoryCard]
    methods: list[str]
    ready: bool
    replicas: int
    details: Details = Field(default_factory=dict)
    answers: dict[str, int] = Field(default_factory=dict)
    object: Literal["model"] = "model"
    created: int = 0
    owned_by: str = "errata"


class ModelList(Response):
    object: Literal["list"] = "list"
    data: list[ModelCard]


class EditCounts(Response):
    """Counts of edits: each is active or reverted, and each active one has one of three states by its fact tests.

    Attributes:
        active: Edits that answer.
        reverted: Edits that were taken back.
        superseded: Edits whose questions later active edits answer.
        broken: Edits of which an answer differs from the expected one.
        holding: Edits whose fact tests all hold.
    """

    active: int
    reverted: int
    superseded: int
    broken: int = 0
    holding: int = 0


class Capacity(Response):
    """The room of a memory.

    Attributes:
        slots_used: Slots of all active edits.
        slots_reserved: These, and the slots of the memory itself that surgery may move.
        rows_per_slot: Rows for each slot.
        margin: Room that is left before answers get worse.
        warnings: Whole sentences.
    """

    slots_used: int
    slots_reserved: int
    rows_per_slot: float | None = None
    margin: float | None = None
    warnings: list[str] = Field(default_factory=list)


class MemoryState(Response):
    """The memories at a version, each by the checksum of all its rows, and counts of edits.

    Attributes:
        capacities: The room of each memory that has a limit.
    """

    version: Version
    checksums: dict[str, str]
    edits: EditCounts
    capacities: dict[str, Capacity] = Field(default_factory=dict)


class Whoami(Response):
    """The name and scopes of the key in the request."""

    name: str
    scopes: list[str]


BACKUP_TYPE = "application/x-tar"
SEAL = "sha256"  # last member of a backup, which names the SHA-256 of every byte before it


class BackupHead(Response):
    """The description of a backup, with its unix time in seconds and the checkpoint of each memory."""

    format: int
    version: Version
    digest: str
    created: float = 0.0
    checkpoints: dict[str, str]


class RestoreReceipt(Response):
    """The receipt of a restore, with counts of data that were not there yet.

    Attributes:
        commits: Number of restored commits.
        tags: Number of restored tags.
        keys: Number of restored keys.
        audit: Number of restored calls of the audit.
    """

    version: Version
    commits: int
    tags: int = 0
    keys: int
    audit: int
