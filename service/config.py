"""The service's one settings object, checked before anything starts.

Each setting's description is its help text. Two secrets come from the environment (config_secrets.py).
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    FilePath,
    SecretStr,
    model_validator,
)

from models.system import Thresholds
from models.systems import DEFAULT_SYSTEMS, SYSTEMS, WITH_GRAPH, WITH_SCOPE
from service.graph.imports.spool import ImportLimits
from service.logs import Format, Level
from service.setting_types import (
    ALL,
    NO_LIMIT,
    Count,
    Devices,
    Dtypes,
    HostName,
    ImportPath,
    Network,
    Origin,
    Port,
    Probability,
    RateText,
    Seconds,
    is_loopback,
    split_by_model,
)
from service.upstream.setting import Mode, Upstreams, name_key_variable, split_by_name

CORES_FOR_TWO = 4  # number of cores from which a model has two replicas
AUTO = "auto"  # model that a request names to ask every system that can read it
PER_KEY, PER_ADDRESS = "6000/minute", "1200/minute"  # default rates where other machines can connect
MAX_CONCURRENT = 128  # default for calls of one caller at the same time, there
LOOPBACK_NAMES = ("127.0.0.1", "::1", "localhost")


def _check_issuer(url: str) -> str:
    """Refuse an address without encryption, over which keys could be replaced, and one with more than host and path."""
    parts = urlsplit(url)
    if "@" in parts.netloc or "?" in url or "#" in url:
        raise ValueError("the issuer is an address without a user, a query or a fragment")
    if parts.scheme != "https" and not is_loopback(parts.hostname or ""):
        raise ValueError(f"the issuer {url} has to be an https address")
    return url


class Oidc(BaseModel, frozen=True, extra="forbid"):
    """An OpenID Connect issuer whose tokens are accepted besides keys."""

    issuer: Annotated[str, Field(pattern=r"^https?://\S+$"), AfterValidator(_check_issuer)] = Field(
        description="address of the issuer whose tokens are accepted"
    )
    audience: str = Field(min_length=1, description="audience that a token has to name")
    scopes: str = Field("scope", description="claim with the scopes")
    prefix: str = Field("errata:", description="prefix of Errata's scopes in that claim, as in errata:ask")
    name: str = Field("sub", description="claim that names the author")
    jwks_host: Annotated[str, Field(pattern=r"^[^\s/@?#]+$")] | None = Field(
        None, description="HOST or HOST:PORT of the issuer's keys, where it differs from the issuer's"
    )


class Settings(BaseModel, frozen=True, extra="forbid"):
    """The settings. They are made once, where the service is launched, and travel to every process.

    Without a choice, `replicas` and `torch_threads` are None until the service is built: `share_cores`.
    """

    admin_key_sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    redis_url: Annotated[str, Field(pattern=r"^(rediss?(\+sentinel)?|unix)://")] | None = None

    port: Port = Field(8000, description="port of HTTP")
    var: Path = Field(Path("var"), description="folder for all data")
    host: str = Field("127.0.0.1", description="address to listen on")
    systems: Annotated[dict[str, ImportPath], Field(min_length=1)] = Field(
        {name: SYSTEMS[name] for name in DEFAULT_SYSTEMS},
        description=f"a model to serve, one of {', '.join(SYSTEMS)} or your own with its loader; may be repeated",
    )
    default_model: str | None = Field(
        None,
        description="the model that answers, and is corrected, where a request names none (default with several "
        "models: auto, which asks all, returns the surest answer, and corrects the first)",
    )
    replicas: Count | None = Field(
        None,
        description="replicas of each model; 1-4: one to four, depending on the load "
        f"(default: 2 with {CORES_FOR_TWO} cores or more, else 1)",
    )
    max_replicas: Count | None = None
    device: Devices = Field(
        {ALL: "auto"},
        description="device of the models: cpu, cuda, cuda:N, or auto, which is cuda where there is a GPU (default: "
        "auto); NAME=cuda:1 is for that model alone; may be repeated",
    )
    dtype: Dtypes = Field(
        {ALL: "float32"},
        description="float32, or bfloat16, which takes half the memory (default: float32); NAME=bfloat16 is for that "
        "model alone; may be repeated",
    )
    bank_slots: Annotated[int, Field(ge=1, le=2**24)] = Field(
        1_048_576,
        description="value slots for edits, one for each token of their answers; 1048576 are some 200,000 edits",
    )
    auto_grow_bank: bool = Field(False, description="double the slots when four fifths are used")
    repair_log: bool = Field(
        False,
        description="cut off the zeros that a crash of the machine left at the end of the embedded ledger's log",
    )

    scope_opens: Probability = Field(
        Thresholds.opens,
        description="an edit answers a question that asks for its fact with this probability; a higher one lets it "
        "answer fewer unrelated questions, and fewer paraphrases of its own",
    )
    scope_near: Probability = Field(
        Thresholds.near,
        description="a reply names an edit that does not answer as `nearby_edit` from this probability on, or if it is "
        "asked about another name in the same words",
    )
    scope_replaces: Probability = Field(
        Thresholds.replaces,
        description="a new edit replaces an earlier one whose question asks for the same with this probability",
    )

    anonymous_access: Literal["loopback", "everyone", "none"] = Field(
        "loopback",
        description="who may ask without a key: callers on this machine while no other machine can connect "
        "(loopback), everyone, or none",
    )
    rate_per_key: RateText | None = Field(
        None,
        description=f"calls of one key, e.g. 600/minute, or none (default: {PER_KEY} where other machines can connect, "
        "else none)",
    )
    rate_per_address: RateText | None = Field(
        None, description=f"calls of one address without a valid key (default: {PER_ADDRESS}, as above)"
    )
    max_concurrent: Annotated[int, Field(ge=1, le=65_536)] | None = Field(
        None,
        description=f"calls of one caller at the same time (default: {MAX_CONCURRENT} where other machines can "
        "connect, else any number)",
    )
    key_outage_hours: Annotated[float, Field(gt=0, le=8_760)] = Field(
        24.0, description="hours for which keys that were in use are accepted while Redis is away"
    )
    proxies: tuple[Network, ...] = Field(
        (),
        description="trust the X-Forwarded-For of proxies in this network, e.g. 10.0.0.0/8; may be repeated",
    )
    allowed_hosts: tuple[HostName, ...] = Field(
        (),
        description="a host name of this service, e.g. errata.example.org, besides those of this machine (default: "
        "any, where other machines can connect); may be repeated",
    )
    allowed_origins: tuple[Origin, ...] = Field(
        (),
        description="an origin whose pages may call this service, e.g. https://help.example; may be repeated",
    )
    decline_as: Literal["refusal", "content"] = Field(
        "refusal",
        description="the field of OpenAI's replies with the reason of a declined answer; many chat windows show only "
        "content",
    )
    max_connections_per_address: Count = Field(
        256, description="open connections of one address that is no proxy"
    )
    memory_mb: Annotated[int, Field(ge=100, le=65_536)] = Field(
        256,
        description="megabytes of requests, and of answers that wait for a slow reader, that all callers together make "
        "an ingress hold; one caller has a quarter of it",
    )
    tls_cert: FilePath | None = Field(None, description="PEM file of the certificate and its chain")
    tls_key: FilePath | None = Field(None, description="PEM file of the certificate's key")
    oidc: Oidc | None = None

    gaps_days: Annotated[float, Field(ge=0, le=366)] = Field(
        0.0,
        description="days for which questions that were declined, or nearly answered by an edit, are kept for curators "
        "(`errata gaps`); 0 keeps none",
    )

    upstreams: Upstreams = Field(
        {},
        description="NAME=ADDRESS of a server of OpenAI's shape, with its /v1, whose models are NAME/MODEL here, and "
        "whose answers edits correct; its key is in ERRATA_UPSTREAM_KEY_NAME; may be repeated",
    )
    upstream_mode: Annotated[dict[str, Mode], BeforeValidator(split_by_model)] = Field(
        {},
        description="whether edits answer in place of upstreams: observe (default) counts what they would have "
        "answered, on, or off; NAME=on is for that upstream alone, NAME/KEY=on for a key there; may be repeated",
    )
    upstream_key_file: Annotated[dict[str, FilePath], BeforeValidator(split_by_name)] = Field(
        {}, description="NAME=FILE with the key of that upstream; may be repeated"
    )
    upstream_keep_out: FilePath | None = Field(
        None,
        description="file with a text a line; no edit answers in a conversation whose system prompt has one of them",
    )
    upstream_facts: bool = Field(
        False,
        description="put facts that curators edited about a question's names before upstreams whose mode is on",
    )
    upstream_open: bool = Field(
        False, description="let callers without a key use upstreams, whose calls cost money"
    )
    upstream_keys: dict[str, SecretStr] = Field({}, exclude=True)

    self_approval: bool = Field(False, description="let the author of a proposal approve it, in a small team")
    console: bool = Field(True, description="pages for curators at /console")

    log_format: Format = Field("console", description="form of a log line")
    log_level: Level = Field("warning", description="lowest level that is logged; info logs every request")
    traces: Annotated[str, Field(pattern=r"^https?://\S+$")] | None = Field(
        None, description="send traces to this collector (OTLP/HTTP), e.g. http://127.0.0.1:4318"
    )
    trace_sample_rate: Annotated[float, Field(ge=0, le=1)] = Field(
        1.0, description="share of requests that are traced, of those whose sender does not decide it"
    )
    metrics_port: Port | None = Field(
        None,
        description="also serve /metrics of each machine on this port: Ray's proxies ask any machine for it",
    )

    torch_threads: Count | None = Field(
        None, description="threads of each replica (default: its share of the cores)"
    )
    max_batch: Count = Field(32, description="questions in a forward pass")
    max_queued: Annotated[int, Field(ge=1, le=100_000)] = Field(
        256, description="questions that wait at an ingress for a model; more get 429"
    )
    history: Count = Field(8, description="recent versions that a replica caches for requests that pin one")
    snapshot_every: Annotated[int, Field(ge=1)] = Field(
        256, description="commits from one snapshot in the ledger to the next"
    )
    upload_disk_mb: Annotated[int, Field(ge=100, le=10_000_000)] = Field(
        ImportLimits.disk_bytes // 1_000_000,
        description="megabytes of disk that one import or one restore may take; more get 413",
    )
    import_names: Annotated[int, Field(ge=1_000, le=10**9)] = Field(
        ImportLimits.names,
        description="names that one import may give, some 280 bytes of memory each; more get 413",
    )
    version_wait_s: Seconds = Field(2.0, description="seconds that a question waits for its min_version")
    ack_timeout_s: Seconds = Field(5.0, description="seconds that a commit waits for the replicas")
    redis_timeout_s: Seconds = Field(1.0, description="seconds that a call to Redis may take")

    @model_validator(mode="after")
    def _check_together(self) -> Self:
        if (self.tls_cert is None) != (self.tls_key is None):
            raise ValueError("TLS needs both a certificate and its key: give --tls-cert and --tls-key")
        if self.max_replicas and self.replicas and self.max_replicas < self.replicas:
            raise ValueError(f"max_replicas {self.max_replicas} is below replicas {self.replicas}")
        for setting in ("device", "dtype"):
            unknown = sorted(getattr(self, setting).keys() - {ALL} - self.systems.keys())
            if unknown:
                raise ValueError(
                    f"--{setting} names the model {unknown[0]!r}, and there is none: give one of "
                    f"{', '.join(self.systems)}"
                )
        if AUTO in self.systems:
            raise ValueError(f"--system names a model {AUTO!r}, which means all models: give it another name")
        if self.default_model not in (None, AUTO, *self.systems):
            raise ValueError(
                f"--default-model names {self.default_model!r}, and there is none: give one of "
                f"{', '.join((*self.systems, AUTO))}"
            )
        self._check_upstreams()
        if not self.scope_near <= self.scope_opens <= self.scope_replaces:
            raise ValueError(
                f"--scope-near {self.scope_near}, --scope-opens {self.scope_opens} and --scope-replaces "
                f"{self.scope_replaces} have to rise"
            )
        return self

    def _check_upstreams(self) -> None:
        names_by_variable: dict[str, str] = {}
        for name in self.upstreams:
            if (other := names_by_variable.setdefault(variable := name_key_variable(name), name)) != name:
                raise ValueError(
                    f"--upstream names {other!r} and {name!r}, and {variable} would be the key of both: rename one"
                )
        model = self.model_to_correct
        if self.upstreams and self.systems[model] in {
            SYSTEMS[name] for name in SYSTEMS if name not in WITH_SCOPE
        }:
            raise ValueError(
                f"--upstream needs edits with a scope, and {model!r}, which is corrected by default, has none: "
                f"serve {WITH_SCOPE[0]}, and give --default-model {WITH_SCOPE[0]}"
            )
        if models := sorted(self.upstreams.keys() & {AUTO, *self.systems}):
            raise ValueError(f"--upstream names {models[0]!r}, which is a model here: give it another name")
        if self.upstream_facts and set(self.systems.values()) <= {
            SYSTEMS[name] for name in SYSTEMS if name not in WITH_GRAPH
        }:
            raise ValueError(
                f"--upstream-facts needs a model that reads the graph: serve {WITH_GRAPH[0]}, too"
            )
        names = {*self.upstream_key_file, *(name.partition("/")[0] for name in self.upstream_mode)}
        if unknown := sorted(names - {ALL, *self.upstreams}):
            raise ValueError(f"there is no upstream {unknown[0]!r}: add --upstream {unknown[0]}=ADDRESS")

    def share_cores(self, n_cores: int) -> Self:
        """Return the settings with numbers of replicas and threads that fit the cores, where none are chosen."""
        usual = 2 if n_cores >= CORES_FOR_TWO else 1
        replicas = self.replicas or min(usual, self.max_replicas or usual)
        threads = self.torch_threads or max(1, n_cores // (self.max_replicas or replicas))
        return self.model_copy(update={"replicas": replicas, "torch_threads": threads})

    @property
    def min_replicas(self) -> int:
        assert self.replicas is not None, "share_cores() comes first"
        return self.replicas

    @property
    def n_threads(self) -> int:
        assert self.torch_threads is not None, "share_cores() comes first"
        return self.torch_threads

    @property
    def model_to_ask(self) -> str:
        """The model that answers where a question names none: `auto` among several."""
        return self.default_model or (AUTO if len(self.systems) > 1 else next(iter(self.systems)))

    @property
    def model_to_correct(self) -> str:
        """The model that is corrected where an edit names none."""
        return self.default_model if self.default_model in self.systems else next(iter(self.systems))

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.tls_cert else 'http'}://{host}:{self.port}"

    @property
    def is_reachable(self) -> bool:
        """True if other machines can connect, by network or through a proxy here (one is trusted, or has a name)."""
        own_names = {*LOOPBACK_NAMES, self.host.lower()}
        return (
            not is_loopback(self.host) or bool(self.proxies) or not own_names.issuperset(self.allowed_hosts)
        )

    @property
    def host_names(self) -> frozenset[str]:
        """Host names of this service; empty means any, because other machines may use any name."""
        if not is_loopback(self.host) and not self.allowed_hosts:
            return frozenset()
        return frozenset((*LOOPBACK_NAMES, self.host.lower(), *self.allowed_hosts))

    @property
    def open_to_all(self) -> bool:
        return self.anonymous_access == "everyone" or (
            self.anonymous_access == "loopback" and not self.is_reachable
        )

    @property
    def key_rate(self) -> str | None:
        return self._choose_rate(self.rate_per_key, PER_KEY)

    @property
    def address_rate(self) -> str | None:
        return self._choose_rate(self.rate_per_address, PER_ADDRESS)

    @property
    def concurrent_limit(self) -> int | None:
        """The calls of one caller at the same time; None for any number."""
        return self.max_concurrent or (MAX_CONCURRENT if self.is_reachable else None)

    @property
    def import_limits(self) -> ImportLimits:
        return ImportLimits(1_000_000 * self.upload_disk_mb, self.import_names)

    def _choose_rate(self, rate: str | None, default: str) -> str | None:
        rate = rate or (default if self.is_reachable else NO_LIMIT)
        return None if rate == NO_LIMIT else rate

    @property
    def replica_limit(self) -> int:
        return self.max_replicas or self.min_replicas

    @property
    def thresholds(self) -> Thresholds:
        return Thresholds(self.scope_opens, self.scope_near, self.scope_replaces)

    def device_of(self, model: str) -> str:
        return self.device.get(model) or self.device.get(ALL, "auto")

    def dtype_of(self, model: str) -> str:
        return self.dtype.get(model) or self.dtype.get(ALL, "float32")
