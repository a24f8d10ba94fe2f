"""The current state of the service: its models, memories and replicas, and hits of edits."""

from __future__ import annotations

from typing import Literal

from pydantic import AwareDatetime, Field

from errata.wire.base import Response, Snapshot
from errata.wire.texts import Details, Version


class Hits(Response):
    """The answers to users that rested on an edit."""

    count: int
    """Their number."""
    last: AwareDatetime | None = None
    """When the last was given; None if there were none."""


class ReplicaState(Response):
    """A replica."""

    replica: str
    model: str
    version: Version
    checksums: dict[str, str]
    lag: int
    """Number of versions that it is behind."""
    healthy: bool
    """True if the replica answers, and from rows that are as they should be."""
    degraded: str | None = None
    """Code of the problem for which its version may be old, else null."""
    host: str | None = None
    """Its machine or pod."""
    pid: int | None = None
    """Id of its process there."""
    applied_ms: float | None = None
    """Milliseconds from the newest commit until the replica had it."""
    seen_s_ago: float
    """Seconds since it last reported."""


class ReplicaList(Response):
    """The replicas, and the newest version of the ledger (`head`), which each should have."""

    head: Version
    replicas: list[ReplicaState]


class MemoryCard(Response):
    """One editable memory that a model reads."""

    name: str
    base: str
    """Digest of its state without edits."""
    accepts: list[str]
    """Kinds of change."""
    options: Details = Field(default_factory=dict)
    """JSON schema of each editing option."""
    changes: Details = Field(default_factory=dict)
    """A kind of change that only this memory knows -> JSON schema of each field."""


class ModelCard(Response):
    """One answering system, in OpenAI's shape, too."""

    id: str
    memories: list[MemoryCard]
    """The memories that the model reads and that can be edited."""
    methods: list[str]
    """The ways in which an edit can be written."""
    ready: bool
    """True if a replica answers."""
    replicas: int
    """Number of replicas."""
    details: Details = Field(default_factory=dict)
    """Further properties, in the form of the model."""
    answers: dict[str, int] = Field(default_factory=dict)
    """Questions that reached this ingress since it started, by outcome: answered, declined, or the code of a
    problem. One to `auto` counts for each system that it was put to."""
    object: Literal["model"] = "model"
    """Always `model`."""
    created: int = 0
    owned_by: str = "errata"
    """Always `errata`."""


class ModelList(Response):
    object: Literal["list"] = "list"
    data: list[ModelCard]


class EditCounts(Response):
    """Counts of edits: each is active or reverted, and each active one has one of three states by its fact tests."""

    active: int
    """Edits that answer."""
    reverted: int
    """Edits that were taken back."""
    superseded: int
    """Edits whose questions later active edits answer."""
    broken: int = 0
    """Edits of which an answer differs from the expected one."""
    holding: int = 0
    """Edits whose fact tests all hold."""


class Capacity(Response):
    """The room of a memory."""

    slots_used: int
    """Slots of all active edits."""
    slots_reserved: int
    """These, and the slots of the memory itself that surgery may move."""
    warnings: list[str] = Field(default_factory=list)
    """Whole sentences."""


class MemoryState(Snapshot):
    """The memories at a version, each by the checksum of all its rows, and counts of edits."""

    checksums: dict[str, str]
    edits: EditCounts
    capacities: dict[str, Capacity] = Field(default_factory=dict)
    """The room of each memory that has a limit."""
