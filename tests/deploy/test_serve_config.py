"""Ray and the service accept the files in deploy/serve, and the settings decide how many replicas there are."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from ray._common.utils import load_class
from ray._private.ray_constants import WORKER_PROCESS_SETUP_HOOK_ENV_VAR
from ray.serve._private.build_app import build_app
from ray.serve._private.deploy_utils import get_app_code_version
from ray.serve.schema import ServeDeploySchema

from service import logs
from service.app import build
from service.config import Settings
from service.editing.replication import Patience, wait_for_replicas
from service.http.ingress import Ingress
from service.launch.arguments import parse
from service.launch.environment import REPLICA_ENVIRONMENT
from service.launch.serve_deploy import SET_ELSEWHERE, application, read_settings
from service.ledger.embedded.server import EmbeddedValkey
from service.ledger.store import RedisLedger
from tests.cluster.running import ROOT
from tests.deploy.ray_head import KEY
from tests.service.parts import TOY, settings

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
def test_another_release_starts_every_part_anew(path: Path) -> None:
    """Ray compares the file and not the installed code."""
    config = read(path)
    before = _code_version(config)
    assert _code_version(config) == before
    config["applications"][0]["runtime_env"]["env_vars"]["RELEASE"] += "!"
    assert _code_version(config) != before


def _code_version(config: dict[str, Any]) -> str:
    [app_schema] = ServeDeploySchema.model_validate(config).applications
    version: str = get_app_code_version(app_schema)
    return version


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_process_is_set_up_to_log(path: Path) -> None:
    """The name is one that Ray reserves; an application's file has no other for it."""
    [app_schema] = read(path)["applications"]
    assert (
        load_class(app_schema["runtime_env"]["env_vars"][WORKER_PROCESS_SETUP_HOOK_ENV_VAR]) is logs.configure
    )


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_replicas_compute_as_those_of_the_launcher(path: Path) -> None:
    [app_schema] = read(path)["applications"]
    assert app_schema["runtime_env"]["env_vars"].items() >= REPLICA_ENVIRONMENT.items()


def test_a_part_may_fail_on_a_machine_that_is_lost_and_start_on_another(secrets: None) -> None:
    for part in build_app(application({}), name="errata").deployments:
        assert part._deployment_config.max_constructor_retry_count > 3, part.name


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


@pytest.mark.parametrize("name", SET_ELSEWHERE)
def test_what_a_file_has_no_say_in_is_refused(secrets: None, name: str) -> None:
    with pytest.raises(ValueError, match=f"'{name}' is no setting of a deployed service"):
        read_settings({name: "x"})


def test_a_short_key_and_a_misspelt_setting_are_refused(
    secrets: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ValueError, match="replics"):
        read_settings({"replics": 2})
    for name, value in (SECRETS | {"ERRATA_ADMIN_KEY": "short"}).items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ValueError, match="too short"):
        read_settings({})


def test_a_secret_may_lie_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ERRATA_REDIS_URL_FILE", str(tmp_path / "url"))
    monkeypatch.setenv("ERRATA_ADMIN_KEY", KEY)
    with pytest.raises(ValueError, match="which ERRATA_REDIS_URL_FILE names, cannot be read"):
        read_settings({})
    (tmp_path / "url").write_text("redis://in-a-file\n")
    monkeypatch.setenv("ERRATA_REDIS_URL_FILE", str(tmp_path / "url"))
    monkeypatch.setenv("ERRATA_ADMIN_KEY", KEY)
    assert read_settings({}).redis_url == "redis://in-a-file"


def test_from_one_to_four_replicas_are_rays_to_choose(tmp_path: Path) -> None:
    parts = deployments(settings("redis://x", tmp_path, replicas=1, max_replicas=4))
    config = parts["toy"]._deployment_config
    assert config.autoscaling_config is not None
    assert (config.autoscaling_config.min_replicas, config.autoscaling_config.max_replicas) == (1, 4)
    for name in ("ingress", "editor"):
        assert parts[name]._deployment_config.autoscaling_config is None
        assert parts[name].num_replicas == 1


def test_without_a_highest_number_there_are_always_as_many(tmp_path: Path) -> None:
    parts = deployments(settings("redis://x", tmp_path, replicas=3))
    assert (parts["toy"].num_replicas, parts["toy"]._deployment_config.autoscaling_config) == (3, None)


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


def test_a_gpu_that_is_named_by_its_number_is_seen_by_that_number(tmp_path: Path) -> None:
    service_settings = settings(
        "redis://x", tmp_path, systems={"toy": TOY, "twin": TOY}, device={"toy": "cuda:1", "twin": "cpu"}
    )
    options = reservations(service_settings, n_gpus=2)
    sees_all = {
        name for name, part in options.items() if "RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES" in str(part)
    }
    assert sees_all == {"toy", "editor"}


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


def test_enough_calls_are_under_way_that_the_highest_number_has_work(tmp_path: Path) -> None:
    """Ray counts calls: with fewer of them it would never start another replica."""
    service_settings = settings("redis://x", tmp_path, replicas=1, max_replicas=4)
    config = deployments(service_settings)["toy"]._deployment_config.autoscaling_config
    handle: Any = None  # no part is called
    ingress = Ingress(service_settings, {"toy": handle}, handle)
    assert config is not None
    assert ingress._models._queues["toy"]._max_running >= config.target_ongoing_requests * 4


async def test_of_replicas_that_come_and_go_all_that_live_have_to_confirm(ledger: RedisLedger) -> None:
    await ledger.heartbeat("toy-1", beat(version=3))
    await ledger.heartbeat("toy-2", beat(version=2))
    assert (await wait_for_replicas(ledger, 3, Patience(0.1, {"toy": 1})))[1] is False
    await ledger.heartbeat("toy-2", beat(version=3))
    assert (await wait_for_replicas(ledger, 3, Patience(0.1, {"toy": 1})))[1] is True
    await ledger.forget("toy-2")
    assert (await wait_for_replicas(ledger, 3, Patience(0.1, {"toy": 1})))[1] is True
    await ledger.forget("toy-1")
    assert (await wait_for_replicas(ledger, 3, Patience(0.1, {"toy": 1})))[1] is False


def beat(version: int) -> dict[str, Any]:
    heartbeat = {"model": "toy", "checksums": {}, "lag": 0, "healthy": True, "degraded": None, "pid": 1}
    return {**heartbeat, "version": version, "applied_ms": None}


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


@pytest.mark.parametrize("range_", ["x", "1-", "-4", "1-x", "1..4"])
def test_what_is_no_range_ends_with_usage(range_: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse([f"--replicas={range_}"])
    assert "such as 2 or 1-4" in capsys.readouterr().err


def test_a_highest_number_below_the_lowest_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="max_replicas 1 is below replicas 2"):
        settings("redis://x", tmp_path, replicas=2, max_replicas=1)
