"""A wrong setting stops the start, and no setting is changed without the operator's knowledge."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from service.config import Settings
from service.config_problems import explain
from service.config_secrets import take_admin_key, take_redis_url


def settings(**fields: Any) -> Settings:
    return Settings(**{"var": Path("/var/errata"), "admin_key_sha256": "0" * 64, **fields})


@pytest.mark.parametrize(
    ("fields", "is_open"),
    [
        ({}, True),
        ({"allowed_hosts": ("localhost",)}, True),
        ({"host": "0.0.0.0"}, False),
        ({"proxies": ("127.0.0.1/32",)}, False),
        ({"allowed_hosts": ("errata.example.org",)}, False),
        ({"proxies": ("127.0.0.1/32",), "anonymous_access": "everyone"}, True),
    ],
)
def test_behind_a_proxy_of_this_machine_it_is_as_reachable_as_the_proxy(
    fields: dict[str, Any], is_open: bool
) -> None:
    config = settings(**fields)
    assert config.open_to_all == is_open
    assert (config.address_rate is None) == (is_open and "proxies" not in fields)


@pytest.mark.parametrize(
    "wrong",
    [
        {"port": 0},
        {"port": 65_536},
        {"replicas": 0},
        {"systems": {}},
        {"systems": {"nkb": "no colon"}},
        {"systems": {"nkb": ".a:b"}},
        {"systems": {"nkb": "a..b:c"}},
        {"systems": {"nkb": "a:1"}},
        {"redis_url": "http://somewhere"},
        {"admin_key_sha256": "secret"},
        {"max_batch": 0},
        {"version_wait_s": 0},
        {"prot": 8000},
    ],
)
def test_a_wrong_value_is_named(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        settings(**wrong)


def test_only_two_values_are_read_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"PORT": "1", "HOST": "0.0.0.0", "REPLICAS": "9", "VAR": "/etc"}.items():
        monkeypatch.setenv(name, value)
        monkeypatch.setenv(f"ERRATA_{name}", value)
    options = settings()
    assert (options.port, options.host, options.replicas, options.var) == (
        8000,
        "127.0.0.1",
        None,
        Path("/var/errata"),
    )
    monkeypatch.setenv("ERRATA_REDIS_URL", "redis://somewhere")
    monkeypatch.setenv("ERRATA_ADMIN_KEY", "")
    assert take_redis_url() == "redis://somewhere"
    assert take_admin_key() is None


def test_secrets_are_not_inherited_by_other_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ERRATA_REDIS_URL", "redis://:secret@somewhere")
    monkeypatch.setenv("ERRATA_ADMIN_KEY", "a-secret-that-is-mine")
    assert (take_redis_url(), take_admin_key()) == ("redis://:secret@somewhere", "a-secret-that-is-mine")
    environment = subprocess.run(["env"], capture_output=True, text=True, check=True).stdout
    assert "ERRATA_" not in environment


@pytest.mark.parametrize(
    ("n_cores", "fields", "replicas", "threads"),
    [
        (1, {}, 1, 1),
        (2, {}, 1, 2),
        (4, {}, 2, 2),
        (16, {}, 2, 8),
        (16, {"max_replicas": 4}, 2, 4),
        (16, {"max_replicas": 1}, 1, 16),
        (16, {"replicas": 3}, 3, 5),
        (16, {"torch_threads": 1}, 2, 1),
        (1, {"replicas": 3}, 3, 1),
    ],
)
def test_the_replicas_share_the_cores_out_as_far_as_nobody_has_chosen(
    n_cores: int, fields: dict[str, int], replicas: int, threads: int
) -> None:
    shared = settings(**fields).share_cores(n_cores)
    assert (shared.min_replicas, shared.n_threads) == (replicas, threads)
    assert shared.share_cores(64) == shared, "once"


@pytest.mark.parametrize(
    ("device", "devices"),
    [
        (None, ("auto", "auto")),
        ("cuda", ("cuda", "cuda")),
        (["cpu", "nkb=cuda:1"], ("cuda:1", "cpu")),
        ({"nkb": "cpu"}, ("cpu", "auto")),
    ],
)
def test_a_device_is_for_all_models_or_for_those_it_names(device: Any, devices: tuple[str, str]) -> None:
    options = settings() if device is None else settings(device=device)
    assert (options.device_of("nkb"), options.device_of("kbert")) == devices
    options = settings(dtype=["kbert=bfloat16"])
    assert (options.dtype_of("nkb"), options.dtype_of("kbert")) == ("float32", "bfloat16")


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"device": "gpu"}, "'gpu' is no device: give auto, cpu, cuda or cuda:N: check --device$"),
        ({"device": ["nkb=cuda:x"]}, "'cuda:x' is no device"),
        ({"dtype": "float16"}, "'float16' is no dtype: give float32 or bfloat16"),
        (
            {"device": ["nbk=cpu"]},
            "--device names the model 'nbk', and there is none: give one of nkb, kbert",
        ),
        ({"redis_url": "http://x"}, "ERRATA_REDIS_URL is not the address of a Redis"),
        ({"systems": {"nkb": "no colon"}}, "the model 'nkb' is not given as MODULE:LOADER"),
        (
            {"oidc": {"issuer": "https://user:password@x", "audience": "a"}},
            "without a user, a query or a fragment",
        ),
        ({"oidc": {"issuer": "https://x/?y=z", "audience": "a"}}, "without a user, a query or a fragment"),
        ({"oidc": {"issuer": "https://x/#y", "audience": "a"}}, "without a user, a query or a fragment"),
        ({"oidc": {"issuer": "https://x", "audience": "a", "jwks_host": "https://y"}}, "oidc.jwks_host"),
        (
            {"upstreams": ["a=http://x", "a=http://y"]},
            "given twice",
        ),
        (
            {"upstreams": ["a-b=http://x", "a_B=http://y"]},
            "'a-b' and 'a_B', and ERRATA_UPSTREAM_KEY_A_B would",
        ),
        (
            {"upstreams": ["a=http://x"], "default_model": "kbert"},
            "'kbert', .* has none: serve nkb, and give",
        ),
        ({"tls_cert": "/no/such"}, r"the setting tls_cert cannot be used: .* \(/no/such\)"),
    ],
)
def test_a_wrong_value_is_explained_in_one_sentence(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError) as error:
        settings(**wrong)
    sentence = explain(error.value)
    assert re.search(says, sentence)
    assert "factory" not in sentence
    assert "\n" not in sentence
