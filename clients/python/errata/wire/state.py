"""What the service is right now: its models, its memories, its replicas, and who the caller is to it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from errata.wire.base import Details, Response, Version


class ReplicaState(Response):
    """degraded: the code of what keeps it from being healthy. pid: its process, on the machine or in the pod `host`."""

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
    """head: the newest version of the ledger, which every replica should have."""

    head: Version
    replicas: list[ReplicaState]


class MemoryCard(Response):
    """One editable memory that a model reads.

    base: digest of what its rows lie on. accepts: kinds of change. options: the JSON schema of each editing option.
    changes: by kind of change that is the memory's own, the JSON schema of each field.
    """

    name: str
    base: str
    accepts: list[str]
    options: Details = Field(default_factory=dict)
    changes: Details = Field(default_factory=dict)


class ModelCard(Response):
    """One answering system; `object`, `created` (unix s) and `owned_by` are there for OpenAI's clients."""

    id: str
    memories: list[MemoryCard]
    methods: list[str]
    ready: bool
    replicas: int
    details: Details = Field(default_factory=dict)
    object: Literal["model"] = "model"
    created: int = 0
    owned_by: str = "errata"


class ModelList(Response):
    object: Literal["list"] = "list"
    data: list[ModelCard]


class EditCounts(Response):
    """Every edit is active or reverted, and every active one is in one of three states by its fact tests.

    superseded: a later active edit answers its question anew. broken: an answer is not what the edit wants.
    """

    active: int
    reverted: int
    superseded: int
    broken: int = 0
    holding: int = 0


class MemoryState(Response):
    """checksums: memory name -> digest of every row it holds at this version."""

    version: Version
    checksums: dict[str, str]
    edits: EditCounts


class Whoami(Response):
    """The key that the request carried: its name and what it may do."""

    name: str
    scopes: list[str]


class BackupHead(Response):
    """What a backup is of. created: unix time in seconds. checkpoints: memory -> what its rows lie on."""

    format: int
    version: Version
    digest: str
    created: float = 0.0
    checkpoints: dict[str, str]


class RestoreReceipt(Response):
    """What a backup brought into the ledger: commits, tags, keys and noted calls that were not there yet."""

    version: Version
    commits: int
    tags: int = 0
    keys: int
    audit: int
