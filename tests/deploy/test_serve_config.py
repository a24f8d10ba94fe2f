"""The configuration that Ray Serve is given, and whether its parts find a place."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from ray.serve._private.build_app import build_app
from ray.serve._private.common import DeploymentID
from ray.serve._private.deployment_scheduler import (
    AvailableNodeResources,
    DeploymentSchedulingInfo,
    RequestedResources,
    SpreadDeploymentSchedulingPolicy,
)
from ray.serve.schema import ServeDeploySchema

from service.__main__ import parse
from service.app import build
from service.config import Settings
from service.launch.environment import REPLICA_ENVIRONMENT
from service.launch.serve_deploy import application, read_settings
from service.ledger.embedded.server import EmbeddedValkey
from service.ledger.store import RedisLedger
from tests.cluster.running import ROOT
from tests.deploy.ray_head import KEY
from tests.service.parts import TOY, settings

Machine = tuple[int, ...]  # number of actors of each part on a machine
RESOURCES = {"num_cpus": "CPU", "num_gpus": "GPU"}


@dataclass(frozen=True)
class Part:
    """A deployment. count: largest number of its actors."""

    name: str
    count: int
    resources: Mapping[str, float]
    max_per_machine: int | None

    @staticmethod
    def read(deployment: Mapping[str, Any], settings: Settings) -> Part:
        """Read an entry under `deployments` in deploy/serve."""
        name = deployment["name"]
        count = deployment.get("num_replicas", settings.replica_limit if name in settings.systems else 1)
        options = deployment["ray_actor_options"]
        resources = {RESOURCES[option]: amount for option, amount in options.items()}
        return Part(name, count, resources, deployment.get("max_replicas_per_node"))

    def required(self) -> RequestedResources:
        return DeploymentSchedulingInfo(
            DeploymentID(self.name, "errata"),
            SpreadDeploymentSchedulingPolicy(),
            actor_resources=RequestedResources(self.resources),
            max_replicas_per_node=self.max_per_machine,
        ).required_resources

    def on(self, machines: int) -> int:
        """Return how many of its actors this many machines may have."""
        return min(self.count, machines * (self.max_per_machine or self.count))


def can_get_stuck(parts: Sequence[Part], machine: Mapping[str, float], machines: int) -> bool:
    """Return whether some actor may find no place on so many equal machines."""
    required = [part.required() for part in parts]

    def fits(load: Machine, index: int) -> bool:
        free = AvailableNodeResources(machine)
        for part, count in enumerate(load):
            for _ in range(count):
                free = free - required[part]
        return bool(free.can_fit(required[index]))

    @cache
    def search(state: tuple[Machine, ...], pending: Machine) -> bool:
        return any(count and place(state, pending, index) for index, count in enumerate(pending))

    def place(state: tuple[Machine, ...], pending: Machine, index: int) -> bool:
        places = {load for load in state if fits(load, index)}
        rest = change(pending, index, -1)
        return not places or any(search(put(state, load, index), rest) for load in places)

    return search(((0,) * len(parts),) * machines, tuple(part.on(machines) for part in parts))


def put(state: tuple[Machine, ...], load: Machine, index: int) -> tuple[Machine, ...]:
    """Sorted, since machines are alike."""
    rest = [*state]
    rest.remove(load)
    return tuple(sorted([*rest, change(load, index, 1)]))


def change(counts: Machine, index: int, by: int) -> Machine:
    return (*counts[:index], counts[index] + by, *counts[index + 1 :])


FILES = [path for path in sorted((ROOT / "deploy" / "serve").glob("*.yaml")) if path.stem != "kustomization"]
SECRETS = {"ERRATA_REDIS_URL": "redis://:a-password@somewhere", "ERRATA_ADMIN_KEY": KEY}


def read(path: Path) -> dict[str, Any]:
    body: dict[str, Any] = yaml.safe_load(path.read_text())
    return body


def deployments(service_settings: Settings, n_gpus: int = 0) -> dict[str, Any]:
    return {part.name: part for part in build_app(build(service_settings, n_gpus), name="errata").deployments}


def reservations(service_settings: Settings, n_gpus: int) -> dict[str, dict[str, Any]]:
    """Return what each part reserves from Ray."""
    return {
        name: part.ray_actor_options or {} for name, part in deployments(service_settings, n_gpus).items()
    }


@pytest.fixture
def secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
async def ledger(own_valkey: EmbeddedValkey) -> AsyncIterator[RedisLedger]:
    ledger = RedisLedger.connect(own_valkey.url)
    yield ledger
    await ledger.aclose()


@pytest.fixture
def own_valkey(tmp_path: Path) -> Iterator[EmbeddedValkey]:
    with EmbeddedValkey(tmp_path / "valkey") as server:
        yield server


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_file_is_what_serve_and_the_service_take(path: Path, secrets: None) -> None:
    """The service takes existing settings for existing deployments."""
    schema = ServeDeploySchema.model_validate(read(path))
    [app_schema] = schema.applications
    assert app_schema.import_path == f"{application.__module__}:application"
    parts = deployments(read_settings(app_schema.args))
    assert {part.name for part in app_schema.deployments} <= parts.keys()
    assert schema.http_options.host in ("127.0.0.1", "0.0.0.0"), "said, and not left to Ray"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_how_many_replicas_a_model_has_is_said_in_one_place(path: Path) -> None:
    [app_schema] = read(path)["applications"]
    model_parts = [
        part for part in app_schema.get("deployments", []) if part["name"] not in ("ingress", "editor")
    ]
    assert not [part for part in model_parts if {"num_replicas", "autoscaling_config"} & part.keys()]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_request_ends_before_its_route_ends_it(path: Path) -> None:
    """Imports may take an hour, and backups and exports longer; Ray would count from the first byte of the request."""
    assert ServeDeploySchema.model_validate(read(path)).http_options.request_timeout_s is None


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_replicas_compute_as_those_of_the_launcher(path: Path) -> None:
    [app_schema] = read(path)["applications"]
    assert app_schema["runtime_env"]["env_vars"].items() >= REPLICA_ENVIRONMENT.items()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_file_holds_a_secret(path: Path) -> None:
    text = path.read_text()
    assert not [name for name in ("ERRATA_", "redis://", "sha256", "password") if name in text]


def test_secrets_come_from_the_environment_and_asking_needs_a_key(secrets: None) -> None:
    service_settings = read_settings({"replicas": 1})
    assert service_settings.redis_url == SECRETS["ERRATA_REDIS_URL"]
    assert not service_settings.open_to_all


@pytest.mark.parametrize("missing", SECRETS)
def test_a_secret_that_is_missing_is_named(
    secrets: None, missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(missing)
    with pytest.raises(ValueError, match=f"{missing} is not in the environment"):
        read_settings({})


def test_a_short_key_and_a_misspelt_setting_are_refused(
    secrets: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ValueError, match="replics"):
        read_settings({"replics": 2})
    for name, value in (SECRETS | {"ERRATA_ADMIN_KEY": "short"}).items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ValueError, match="too short"):
        read_settings({})


@pytest.mark.parametrize(
    ("device", "n_gpus", "shares"),
    [
        ("auto", 0, {}),
        ("cpu", 2, {}),
        ("auto", 2, {"toy": 0.3333, "twin": 0.3333, "editor": 0.3333}),  # five processes on two GPUs
        ("cuda", 0, {"toy": 0.2, "twin": 0.2, "editor": 0.2}),  # replicas that are still to come
        (["cpu", "twin=cuda"], 1, {"twin": 0.3333, "editor": 0.3333}),
    ],
)
def test_what_computes_on_a_gpu_reserves_a_share_and_all_of_them_fit(
    device: Any, n_gpus: int, shares: dict[str, float], tmp_path: Path
) -> None:
    service_settings = settings(
        "redis://x", tmp_path, replicas=2, systems={"toy": TOY, "twin": TOY}, device=device
    )
    options = reservations(service_settings, n_gpus)
    assert {name: part["num_gpus"] for name, part in options.items() if "num_gpus" in part} == shares
    assert not any("runtime_env" in part for part in options.values())


@pytest.mark.parametrize(("n_cores", "replicas", "threads"), [(2, 1, 2), (16, 2, 8)])
def test_the_cores_are_shared_out_where_the_service_is_built(
    n_cores: int, replicas: int, threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every part gets the same numbers, whatever its machine and whichever process read the settings."""
    monkeypatch.setattr("service.app.count_cores", lambda: n_cores)
    parts = deployments(settings("redis://x", tmp_path, replicas=None, torch_threads=None))
    assert parts["toy"].num_replicas == replicas
    for part in parts.values():
        [part_settings] = [argument for argument in part.init_args if isinstance(argument, Settings)]
        assert (part_settings.min_replicas, part_settings.n_threads) == (replicas, threads)


@pytest.mark.parametrize(
    ("words", "replicas"),
    [
        ([], {}),
        (["--replicas", "2"], {"replicas": 2}),
        (["--replicas", "1-4"], {"replicas": 1, "max_replicas": 4}),
    ],
)
def test_the_command_line_takes_a_number_or_a_range(words: list[str], replicas: dict[str, int]) -> None:
    assert {name: value for name, value in parse(words).items() if "replicas" in name} == replicas
