"""The service's one settings object: what a person may choose, checked before anything starts.

Everything comes from the command line, but for the two things that do not belong there: ERRATA_REDIS_URL, the
address of the ledger's Redis, and ERRATA_KEY, the admin key; or the files that ..._FILE names. Both are taken out
of the environment when they are read, for every process that is started later would inherit them. The key itself is
not kept: only its SHA-256 is.
The object travels to every replica, so it holds plain values only.
"""

from __future__ import annotations

import os
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, FilePath, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from service.access.limits import Rate
from service.logs import Format, Level

SYSTEMS = {"nkb": "models.registry:load_nkb", "kbert": "models.registry:load_kbert"}
CORES_FOR_TWO = 4
BANK_SLOTS = 65_536  # some 15,000 edits

Port = Annotated[int, Field(ge=1, le=65_535)]
Count = Annotated[int, Field(ge=1, le=1_024)]
Seconds = Annotated[float, Field(gt=0, le=600)]
ImportPath = Annotated[str, Field(pattern=r"^[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*$")]


NO_LIMIT = "none"
PER_KEY, PER_ADDRESS = "6000/minute", "1200/minute"  # where others can connect


def _rate(text: str) -> str:
    Rate.of(None if text == NO_LIMIT else text)
    return text


def _network(text: str) -> str:
    ip_network(text)
    return text


def _confidential(url: str) -> str:
    """Keys that came over an open line are nobody's."""
    parts = urlsplit(url)
    if parts.scheme != "https" and not is_loopback(parts.hostname or ""):
        raise ValueError(f"the issuer {url} has to be an https address")
    return url


def is_loopback(host: str) -> bool:
    """Whether only this machine can connect there."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


RateText = Annotated[str, AfterValidator(_rate)]
Network = Annotated[str, AfterValidator(_network)]


class Oidc(BaseModel):
    """Whose tokens are good here, besides keys.

    issuer: its address, as in the claim `iss`. audience: the claim `aud` that is meant for this service.
    scopes: the claim with the scopes, each written with `prefix`, such as errata:ask. name: the claim with the author.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    issuer: Annotated[str, Field(pattern=r"^https?://\S+$"), AfterValidator(_confidential)]
    audience: Annotated[str, Field(min_length=1)]
    scopes: str = "scope"
    prefix: str = "errata:"
    name: str = "sub"


class SecretMissing(ValueError):
    """The text names the file that should hold it."""


class Settings(BaseSettings):
    """systems: model name -> `module:attribute` of a loader without arguments.

    replicas: of each model; None chooses by the machine's cores. max_replicas: let Ray start up to so many while
    there is more to answer, and no fewer than `replicas`; None always runs `replicas` of them. torch_threads: of
    each replica; None shares the cores out. history: how many recent versions a replica keeps ready for pins.
    max_queued: requests that wait at one ingress for one model before further ones get 429. bank_slots: what is set
    aside for edits, one for each token of their answers. auto_grow_bank: set as many more aside when four fifths are
    taken.
    anonymous_access: who may ask without a key: loopback, those on this machine while nobody else can connect;
    everyone; none.
    rate_per_key, rate_per_address: calls of one key, and of an address without one; None for the usual ones, which are
    no limit where nobody else can connect. max_concurrent: calls of one caller that may be under way. proxies: whose
    X-Forwarded-For is believed. tls_cert, tls_key: PEM files. metrics_port: /metrics of each machine on a port of its
    own, where Ray's proxies stand before the ingress. traces: the OpenTelemetry collector that is sent
    traces, by OTLP/HTTP. trace_sample_rate: of the requests whose sender does not say whether they are traced.
    """

    model_config = SettingsConfigDict(frozen=True, extra="forbid")

    var: Path
    admin_key_sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    redis_url: Annotated[str, Field(pattern=r"^(rediss?(\+sentinel)?|unix)://")] | None = None
    host: str = "127.0.0.1"
    port: Port = 8000
    systems: Annotated[dict[str, ImportPath], Field(min_length=1)] = SYSTEMS
    replicas: Count | None = None
    max_replicas: Count | None = None
    torch_threads: Count | None = None
    max_batch: Count = 32
    max_queued: Annotated[int, Field(ge=1, le=100_000)] = 256
    history: Count = 8
    snapshot_every: Annotated[int, Field(ge=1)] = 256
    bank_slots: Annotated[int, Field(ge=1, le=2**24)] = BANK_SLOTS
    auto_grow_bank: bool = False
    version_wait_s: Seconds = 2.0
    ack_timeout_s: Seconds = 5.0
    redis_timeout_s: Seconds = 1.0
    anonymous_access: Literal["loopback", "everyone", "none"] = "loopback"
    rate_per_key: RateText | None = None
    rate_per_address: RateText | None = None
    max_concurrent: Count | None = None
    proxies: tuple[Network, ...] = ()
    tls_cert: FilePath | None = None
    tls_key: FilePath | None = None
    metrics_port: Port | None = None
    oidc: Oidc | None = None
    log_format: Format = "console"
    log_level: Level = "warning"
    traces: Annotated[str, Field(pattern=r"^https?://\S+$")] | None = None
    trace_sample_rate: Annotated[float, Field(ge=0, le=1)] = 1.0

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.tls_cert else 'http'}://{host}:{self.port}"

    @property
    def is_reachable(self) -> bool:
        """From other machines."""
        return not is_loopback(self.host)

    @property
    def open_to_all(self) -> bool:
        """Whether asking needs no key."""
        return self.anonymous_access == "everyone" or (
            self.anonymous_access == "loopback" and not self.is_reachable
        )

    @property
    def key_rate(self) -> str | None:
        return self._limited(self.rate_per_key, PER_KEY)

    @property
    def address_rate(self) -> str | None:
        return self._limited(self.rate_per_address, PER_ADDRESS)

    def _limited(self, given: str | None, usual: str) -> str | None:
        chosen = given or (usual if self.is_reachable else NO_LIMIT)
        return None if chosen == NO_LIMIT else chosen

    @model_validator(mode="after")
    def _both_halves(self) -> Self:
        if (self.tls_cert is None) != (self.tls_key is None):
            raise ValueError("TLS needs both a certificate and its key: give --tls-cert and --tls-key")
        return self

    @model_validator(mode="after")
    def _least_and_most(self) -> Self:
        if self.max_replicas is not None and self.max_replicas < self.replica_count:
            raise ValueError(f"max_replicas {self.max_replicas} is below replicas {self.replica_count}")
        return self

    @property
    def replica_count(self) -> int:
        """Of each model, at least: fewer are too few, and with `max_replicas` there may be more."""
        return self.replicas or (2 if cores() >= CORES_FOR_TWO else 1)

    @property
    def highest_count(self) -> int:
        return self.max_replicas or self.replica_count

    @property
    def threads_per_replica(self) -> int:
        """The systems share no cores out among themselves: one that is not asked needs none."""
        return self.torch_threads or max(1, cores() // self.highest_count)

    @classmethod
    def settings_customise_sources(
        cls, settings_cls: type[BaseSettings], init_settings: PydanticBaseSettingsSource, *_: Any, **__: Any
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Nothing is read from the environment but by `given_redis_url` and `given_key`."""
        return (init_settings,)


def given_redis_url() -> str | None:
    """Once: it is gone afterwards. SecretMissing."""
    return _given("ERRATA_REDIS_URL")


def given_key() -> str | None:
    """Once: it is gone afterwards. SecretMissing."""
    return _given("ERRATA_KEY")


def _given(name: str) -> str | None:
    said, file = os.environ.pop(name, None), os.environ.pop(f"{name}_FILE", None)
    if said or not file:
        return said or None
    try:
        return Path(file).read_text(encoding="utf-8").strip() or None
    except (OSError, UnicodeDecodeError) as error:
        raise SecretMissing(f"{file}, which {name}_FILE names, cannot be read ({error}): check it") from error


def cores() -> int:
    """The cores this process may use, which a container or `taskset` may have made fewer than the machine's."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
