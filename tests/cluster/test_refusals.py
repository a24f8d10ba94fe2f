"""A service that cannot start says why in one sentence, with status 1, before it has started anything."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cluster.running import ROOT, Service, clean_environment, quiet_port


def refused(*words: str, **environment: str) -> str:
    """What it says; it must end by itself, with status 1 and without a traceback."""
    process = subprocess.run(
        [sys.executable, "-m", "service", *words],
        cwd=ROOT,
        env=clean_environment() | environment,
        capture_output=True,
        text=True,
        timeout=40,
        check=False,
    )
    assert process.returncode == 1, process.stdout + process.stderr
    assert "Traceback" not in process.stderr
    assert process.stderr.startswith("Errata cannot start: ")
    sentence, *hint = process.stderr.strip().splitlines()
    assert all(line.startswith("More is in ") for line in hint)
    return sentence


@pytest.fixture
def var(tmp_path: Path) -> Path:
    return tmp_path / "var"


@contextmanager
def stranger(reply: bytes) -> Iterator[int]:
    """Something that listens and is not Redis."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            while True:
                try:
                    channel, _ = listener.accept()
                except OSError:
                    return
                with channel:
                    channel.recv(1000)
                    channel.sendall(reply)

        threading.Thread(target=answer, daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)


def test_a_port_that_another_service_has(service: Service, var: Path) -> None:
    sentence = refused("--port", str(service.port), "--var", str(var))
    assert f"port {service.port}" in sentence
    assert "--port" in sentence


@pytest.mark.parametrize("port", ["0", "-1", "70000"])
def test_a_port_that_is_none(port: str, var: Path) -> None:
    assert "choose" in refused("--port", port, "--var", str(var))


def test_a_folder_that_another_service_has(service: Service) -> None:
    sentence = refused("--port", str(quiet_port()), "--var", str(service.var))
    assert str(service.var) in sentence
    assert str(service.pid) in sentence


def test_a_folder_that_is_a_file(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    assert str(file) in refused("--port", str(quiet_port()), "--var", str(file))


@pytest.mark.parametrize("key", ["qwertz", "with some spaces in it"])
def test_a_key_that_anybody_guesses(key: str, var: Path) -> None:
    sentence = refused("--port", str(quiet_port()), "--var", str(var), ERRATA_ADMIN_KEY=key)
    assert "ERRATA_ADMIN_KEY" in sentence
    assert key not in sentence


def test_an_emptied_key_file(var: Path) -> None:
    var.mkdir()
    (var / "admin.key").touch()
    assert "admin.key" in refused("--port", str(quiet_port()), "--var", str(var))


@pytest.mark.parametrize("reply", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"hello\r\n", b""])
def test_a_redis_that_is_not_redis(reply: bytes, var: Path) -> None:
    with stranger(reply) as port:
        url = f"redis://127.0.0.1:{port}"
        assert str(port) in refused("--port", str(quiet_port()), "--var", str(var), ERRATA_REDIS_URL=url)


def test_a_redis_that_is_not_there(var: Path) -> None:
    url = f"redis://user:secret@127.0.0.1:{quiet_port()}"
    sentence = refused("--port", str(quiet_port()), "--var", str(var), ERRATA_REDIS_URL=url)
    assert "secret" not in sentence


@pytest.mark.parametrize(
    ("url", "names"),
    [
        ("localhost", "ERRATA_REDIS_URL"),
        ("redis://[::1:6379", "address of Redis"),
        ("redis://:secret[@localhost", "%5B"),
    ],
)
def test_an_address_of_redis_that_is_none(url: str, names: str, var: Path) -> None:
    sentence = refused("--port", str(quiet_port()), "--var", str(var), ERRATA_REDIS_URL=url)
    assert names in sentence
    assert "secret" not in sentence


def test_no_replicas_at_all(var: Path) -> None:
    assert "replicas" in refused("--port", str(quiet_port()), "--var", str(var), "--replicas", "0")


@pytest.mark.parametrize(
    ("loader", "names"), [("models.nowhere:load", "models.nowhere"), (".models:load", "--system")]
)
def test_a_model_that_cannot_be_found(loader: str, names: str, var: Path) -> None:
    words = ["--port", str(quiet_port()), "--var", str(var), "--system", f"nkb={loader}"]
    assert names in refused(*words)
