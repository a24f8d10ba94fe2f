"""What is looked at before the service starts: its arguments, its places and its ledger."""

import logging
import os
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from models.systems import DEFAULT_SYSTEMS, SYSTEMS
from service.__main__ import GROUPS, parse
from service.config import Settings
from service.launch import ledger as launch
from service.launch import requirements as checks
from service.launch.environment import CLUSTER_ENVIRONMENT, RAY_ENVIRONMENT, REPLICA_ENVIRONMENT
from service.launch.ledger import CannotStart
from service.launch.places import check_port, claim, free_port, ray_folder
from service.launch.requirements import check_memory
from service.launch.worker import to_loopback
from service.ledger.embedded.server import EmbeddedValkey
from tests.cluster.running import ROOT, clean_environment
from tests.service.ledger.writing import kill, pid_of
from tests.service.parts import settings

FROM_ENVIRONMENT = {"admin_key_sha256", "redis_url", "upstream_keys"}
BESIDE_ANOTHER = {"max_replicas", "oidc"}  # --replicas 1-4, --oidc-issuer and so on


def test_every_setting_but_a_secret_has_a_flag_and_a_description() -> None:
    flags = {name for names in GROUPS.values() for name in names.split() if not name.startswith("oidc_")}
    assert flags == Settings.model_fields.keys() - FROM_ENVIRONMENT - BESIDE_ANOTHER
    assert all(Settings.model_fields[name].description for name in flags)


def test_words_become_the_settings_of_their_names() -> None:
    words = """--system a=m:f --system b=m.n:g --device cpu --device b=cuda:1 --proxy 10.0.0.0/8 --auto-grow-bank
        --oidc-issuer https://x --oidc-audience y --max-concurrent 3 --trace-sample-rate 0.5 --tls-cert c.pem"""
    assert parse(words.split()) == parse([]) | {
        "systems": {"a": "m:f", "b": "m.n:g"},
        "device": ["cpu", "b=cuda:1"],
        "proxies": ["10.0.0.0/8"],
        "auto_grow_bank": True,
        "oidc": {"issuer": "https://x", "audience": "y"},
        "max_concurrent": 3,
        "trace_sample_rate": 0.5,
        "tls_cert": Path("c.pem").absolute(),  # the process that reads it may run in another folder
    }


@pytest.mark.parametrize(
    "words", [["--port", "x"], ["--system", "nkp"], ["--system", "=m:f"], ["start"], ["--prot", "1"]]
)
def test_a_wrong_word_ends_with_usage(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        parse(words)
    assert end.value.code == 2
    assert "usage" in capsys.readouterr().err


def test_help_names_the_environment_and_has_each_default_once(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse(["--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert "ERRATA_REDIS_URL" in text
    assert "ERRATA_ADMIN_KEY" in text
    assert "--device DEVICE" in text
    assert "(default: None)" not in text


def of_systems(tmp_path: Path, *names: str, **options: Any) -> Settings:
    return settings("unix:///x", tmp_path, systems={name: SYSTEMS[name] for name in names}, **options)


@pytest.mark.parametrize(
    ("names", "replicas", "too_few_gb", "enough_gb"),
    [(DEFAULT_SYSTEMS, 1, 2.0, 3.5), (DEFAULT_SYSTEMS, 2, 3.5, 4.2), (tuple(SYSTEMS), 1, 4.2, 6.5)],
)
def test_the_systems_and_their_replicas_need_memory(
    names: tuple[str, ...],
    replicas: int,
    too_few_gb: float,
    enough_gb: float,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    choice = of_systems(tmp_path, *names, replicas=replicas)
    monkeypatch.setattr(checks, "count_memory", lambda: int(enough_gb * 1e9))
    check_memory(choice)
    monkeypatch.setattr(checks, "count_memory", lambda: int(too_few_gb * 1e9))
    with pytest.raises(CannotStart, match=rf"there are {too_few_gb} GB .*{names[-1]}.* at least \d\.\d GB"):
        check_memory(choice)


def test_a_shell_takes_it_over_with_one_command() -> None:
    command = f'eval "$({sys.executable} -m service.launch.environment)"; env'
    result = subprocess.run(
        ["sh", "-euc", command], cwd=ROOT, env=clean_environment(), capture_output=True, text=True, check=True
    )
    environment = dict(line.split("=", 1) for line in result.stdout.splitlines() if "=" in line)
    assert environment.items() >= CLUSTER_ENVIRONMENT.items()


def test_a_cluster_has_all_that_the_launchers_ray_has() -> None:
    assert CLUSTER_ENVIRONMENT.items() >= (RAY_ENVIRONMENT | REPLICA_ENVIRONMENT).items()


class Fails:
    """A server whose restart fails each time for the next of these reasons, and then succeeds."""

    def __init__(self, *reasons: Exception) -> None:
        self.times: list[float] = []
        self._reasons = iter(reasons)

    def revive(self) -> bool:
        self.times.append(time.monotonic())
        for reason in self._reasons:
            raise reason
        return False


def watch(valkey: Fails, looks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "CHECK_EVERY_S", 0.01)
    with launch.keep_alive(valkey):  # type: ignore[arg-type]
        until(lambda: len(valkey.times) >= looks)


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_an_error_of_the_system_is_not_the_end_of_looking(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    valkey = Fails(OSError(28, "No space left on device"), RuntimeError("what nobody foresaw"))
    watch(valkey, 4, monkeypatch)
    assert ["No space" in caplog.messages[0], "nobody foresaw" in caplog.messages[1]] == [True, True]


def test_a_server_that_died_while_its_folder_was_blocked_comes_back_when_it_is_not(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = tmp_path / "valkey.conf"
    with EmbeddedValkey(tmp_path) as valkey, launch.keep_alive(valkey), caplog.at_level(logging.WARNING):
        first = pid_of(valkey)
        config.unlink()
        config.mkdir()
        kill(first)
        until(lambda: any("cannot be started" in message for message in caplog.messages))
        config.rmdir()
        until(lambda: valkey.alive and pid_of(valkey) != first)


def test_all_interfaces_become_this_machine() -> None:
    assert to_loopback("[::]:8123") == to_loopback("127.0.0.1:8123") == "127.0.0.1:8123"


@pytest.mark.parametrize("address", ["0.0.0.0:8123", "[::1%eth0]:8123", "10.0.0.7:8123", "*:8123"])
def test_another_address_is_refused(address: str) -> None:
    with pytest.raises(RuntimeError, match="not known to be private"):
        to_loopback(address)


@pytest.mark.parametrize(
    ("host", "port", "says"),
    [
        *(("127.0.0.1", port, f"{port} is not a port") for port in (0, 65_536, -1)),
        *((host, None, host) for host in ("no such host", "192.0.2.77")),
    ],
)
def test_a_port_that_is_none_and_an_address_of_somebody_else_are_named(
    host: str, port: int | None, says: str
) -> None:
    with pytest.raises(CannotStart, match=says):
        check_port(host, free_port() if port is None else port)


@pytest.mark.parametrize(("host", "family"), [("127.0.0.1", socket.AF_INET), ("::1", socket.AF_INET6)])
def test_a_taken_port_is_named(host: str, family: socket.AddressFamily) -> None:
    with socket.create_server((host, 0), family=family) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(CannotStart, match=f"port {port} of {host} .* --port"):
            check_port(host, port)
    check_port(host, port)


def test_a_folder_is_claimed_by_one_at_a_time(tmp_path: Path) -> None:
    with claim(tmp_path / "var", "127.0.0.1", free_port()) as claimed_places:
        assert claimed_places.log.is_dir()
        with (
            pytest.raises(CannotStart, match=f"process {os.getpid()}"),
            claim(tmp_path / "var", "127.0.0.1", free_port()),
        ):
            pass
    with claim(tmp_path / "var", "127.0.0.1", free_port()):
        pass


def test_counters_of_an_earlier_run_are_forgotten_and_edits_are_not(tmp_path: Path) -> None:
    for name in ("metrics/counter_1.db", "valkey/appendonlydir/log"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).touch()
    with claim(tmp_path, "127.0.0.1", free_port()) as claimed_places:
        assert list(claimed_places.metrics.iterdir()) == []
        assert (tmp_path / "valkey/appendonlydir/log").exists()


def test_rays_folder_is_short_in_a_private_one_and_each_services_own(tmp_path: Path) -> None:
    deep = tmp_path / ("x" * 200)
    assert ray_folder(deep) != ray_folder(tmp_path)
    with claim(deep, "127.0.0.1", free_port()) as claimed_places:
        assert len(os.fsencode(claimed_places.ray)) < 40, "Ray's sockets get about 65 bytes longer names"
        assert claimed_places.ray.parent == ray_folder(deep)
        assert mode(ray_folder(deep)) == 0o700
    assert not ray_folder(deep).exists(), "nothing has run"


def test_a_temporary_folder_that_is_too_deep_for_sockets_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder, parent in (("/scratch/job.1", "/scratch/job.1"), ("/scratch/slurm/job.1234567", "/tmp")):
        monkeypatch.setattr(tempfile, "tempdir", folder)
        path = ray_folder(tmp_path)
        assert path.parent == Path(parent)
        longest = path / "r" / "session_2026-11-26_22-43-50_280804_4194304" / "sockets" / "plasma_store"
        assert len(os.fsencode(longest)) <= 107


def test_logs_and_metrics_are_closed_to_others_also_where_they_were_open(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir(mode=0o755)
    (tmp_path / "log" / "errata.log").touch(0o644)
    with claim(tmp_path, "127.0.0.1", free_port()) as claimed_places:
        assert [mode(folder) for folder in (claimed_places.log, claimed_places.metrics)] == [0o700] * 2
    assert (tmp_path / "log" / "errata.log").exists()


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_rays_folder_is_no_link_to_another(tmp_path: Path) -> None:
    """Its name can be predicted, and its content is deleted at the next start."""
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").touch()
    trap = ray_folder(tmp_path / "var")
    trap.symlink_to(precious)
    try:
        with pytest.raises(CannotStart, match=str(trap)), claim(tmp_path / "var", "127.0.0.1", free_port()):
            pass
    finally:
        trap.unlink()
    assert (precious / "file").exists()
