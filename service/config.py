"""The service's one settings object: what a person may choose, checked before anything starts.

Everything comes from the command line, but for the two things that do not belong there: ERRATA_REDIS_URL, the
address of the ledger's Redis, and ERRATA_KEY, the admin key. Both are taken out of the environment when they are
read, for every process that is started later would inherit them. The key itself is not kept: only its SHA-256 is.
The object travels to every replica, so it holds plain values only.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

SYSTEMS = {"nkb": "models.registry:load_nkb", "kbert": "models.registry:load_kbert"}
CORES_FOR_TWO = 4
BANK_SLOTS = 65_536  # some 15,000 edits

Port = Annotated[int, Field(ge=1, le=65_535)]
Count = Annotated[int, Field(ge=1, le=1_024)]
Seconds = Annotated[float, Field(gt=0, le=600)]
ImportPath = Annotated[str, Field(pattern=r"^[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*$")]


class Settings(BaseSettings):
    """systems: model name -> `module:attribute` of a loader without arguments.

    replicas: of each model; None chooses by the machine's cores. torch_threads: of each replica; None shares
    the cores out. history: how many recent versions a replica keeps ready for pins. max_queued: requests that
    wait at one ingress for one model before further ones get 429. bank_slots: what is set aside for edits, one for
    each token of their answers. bank_grows: set as many more aside when four fifths are taken.
    """

    model_config = SettingsConfigDict(frozen=True, extra="forbid")

    var: Path
    admin_key_sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    redis_url: Annotated[str, Field(pattern=r"^(redis|rediss|unix)://")] | None = None
    host: str = "127.0.0.1"
    port: Port = 8000
    systems: Annotated[dict[str, ImportPath], Field(min_length=1)] = SYSTEMS
    replicas: Count | None = None
    torch_threads: Count | None = None
    max_batch: Count = 32
    max_queued: Annotated[int, Field(ge=1, le=100_000)] = 256
    history: Count = 8
    snapshot_every: Annotated[int, Field(ge=1)] = 256
    bank_slots: Annotated[int, Field(ge=1, le=2**24)] = BANK_SLOTS
    bank_grows: bool = False
    version_wait_s: Seconds = 2.0
    ack_timeout_s: Seconds = 5.0
    redis_timeout_s: Seconds = 1.0

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

    @property
    def replica_count(self) -> int:
        return self.replicas or (2 if cores() >= CORES_FOR_TWO else 1)

    @property
    def threads_per_replica(self) -> int:
        """The systems share no cores out among themselves: one that is not asked needs none."""
        return self.torch_threads or max(1, cores() // self.replica_count)

    @classmethod
    def settings_customise_sources(
        cls, settings_cls: type[BaseSettings], init_settings: PydanticBaseSettingsSource, *_: Any, **__: Any
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Nothing is read from the environment but by `given_redis_url` and `given_key`."""
        return (init_settings,)


def given_redis_url() -> str | None:
    """Once: it is gone afterwards."""
    return os.environ.pop("ERRATA_REDIS_URL", None) or None


def given_key() -> str | None:
    """Once: it is gone afterwards."""
    return os.environ.pop("ERRATA_KEY", None) or None


def cores() -> int:
    """The cores this process may use, which a container or `taskset` may have made fewer than the machine's."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
