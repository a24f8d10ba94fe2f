"""A wrong setting stops the start, and nothing is set behind the operator's back."""

from __future__ import annotations

import pickle
import subprocess
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from service.config import Settings, cores, given_key, given_redis_url


def settings(**more: Any) -> Settings:
    return Settings(**{"var": Path("/var/errata"), "admin_key_sha256": "0" * 64, **more})


def test_it_travels_to_other_processes_and_cannot_be_changed() -> None:
    chosen = settings(port=8123)
    assert pickle.loads(pickle.dumps(chosen)) == chosen
    with pytest.raises(ValidationError):
        chosen.port = 1  # type: ignore[misc]


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


def test_the_environment_is_read_for_two_things_only(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"PORT": "1", "HOST": "0.0.0.0", "REPLICAS": "9", "VAR": "/etc"}.items():
        monkeypatch.setenv(name, value)
        monkeypatch.setenv(f"ERRATA_{name}", value)
    chosen = settings()
    assert (chosen.port, chosen.host, chosen.replicas, chosen.var) == (
        8000,
        "127.0.0.1",
        None,
        Path("/var/errata"),
    )
    monkeypatch.setenv("ERRATA_REDIS_URL", "redis://somewhere")
    monkeypatch.setenv("ERRATA_KEY", "")
    assert given_redis_url() == "redis://somewhere"
    assert given_key() is None


def test_what_is_secret_is_inherited_by_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ERRATA_REDIS_URL", "redis://:secret@somewhere")
    monkeypatch.setenv("ERRATA_KEY", "a-secret-that-is-mine")
    assert (given_redis_url(), given_key()) == ("redis://:secret@somewhere", "a-secret-that-is-mine")
    left = subprocess.run(["env"], capture_output=True, text=True, check=True).stdout
    assert "ERRATA_" not in left


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:8000"),
        ("::1", "http://[::1]:8000"),
        ("localhost", "http://localhost:8000"),
    ],
)
def test_the_address_can_be_opened_as_it_is_printed(host: str, url: str) -> None:
    assert settings(host=host).url == url


def test_the_replicas_share_the_cores_out(monkeypatch: pytest.MonkeyPatch) -> None:
    for here, replicas, threads in [(1, 1, 1), (2, 1, 2), (4, 2, 2), (16, 2, 8)]:
        monkeypatch.setattr("service.config.cores", lambda here=here: here)
        assert (settings().replica_count, settings().threads_per_replica) == (replicas, threads)
    assert settings(replicas=3).replica_count == 3
    assert cores() >= 1
