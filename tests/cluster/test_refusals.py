"""A service that cannot start gives the reason in one sentence, with status 1, before it has started anything."""

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.cluster.running import ROOT, Service, clean_environment, quiet_port

Refused: TypeAlias = Callable[..., str]
STARTER = """
import json, os, sys, traceback
from service.__main__ import main

for line in sys.stdin:
    words, environment, errors = json.loads(line)
    if not os.fork():
        for number, path in enumerate((os.devnull, os.devnull, errors)):
            os.dup2(os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC), number)
        os.environ.update(environment)
        sys.argv[1:] = words
        status = 70
        try:
            status = main()
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)
    print(os.waitstatus_to_exitcode(os.wait()[1]), flush=True)
"""  # it forks for each start, so that the imports, which take most of the time, are done once


@pytest.fixture(scope="module")
def starter() -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", STARTER],
        cwd=ROOT,
        env=clean_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as starter:
        yield starter
        starter.kill()


@pytest.fixture
def refused(starter: subprocess.Popen[str], tmp_path: Path) -> Refused:
    """Start the service, and return its sentence."""

    def refused(*words: str, **environment: str) -> str:
        assert starter.stdin is not None
        assert starter.stdout is not None
        errors = tmp_path / "errors"
        starter.stdin.write(json.dumps([words, environment, str(errors)]) + "\n")
        starter.stdin.flush()
        return sentence_of(int(starter.stdout.readline()), errors.read_text())

    return refused


def sentence_of(status: int, errors: str) -> str:
    """Return the output of a service that ended by itself, with status 1 and without a traceback."""
    assert status == 1, errors
    assert "Traceback" not in errors
    assert errors.startswith("Errata cannot start: ")
    sentence, *hint = errors.strip().splitlines()
    assert all(line.startswith("More is in ") for line in hint)
    return sentence


@pytest.fixture
def var(tmp_path: Path) -> Path:
    return tmp_path / "var"


@contextmanager
def stranger(reply: bytes) -> Iterator[int]:
    """Listen on a port and answer not as Redis does."""
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
    """This one is run as a command, as a person does."""
    process = subprocess.run(
        [sys.executable, "-m", "service", "--port", str(service.port), "--var", str(var)],
        cwd=ROOT,
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    sentence = sentence_of(process.returncode, process.stderr)
    assert f"port {service.port}" in sentence
    assert "--port" in sentence


def test_a_folder_that_another_service_has(refused: Refused, service: Service) -> None:
    sentence = refused("--port", str(quiet_port()), "--var", str(service.var))
    assert str(service.var) in sentence
    assert str(service.pid) in sentence


@pytest.mark.parametrize("key", ["qwertz", "with some spaces in it"])
def test_a_key_that_anybody_guesses(refused: Refused, key: str, var: Path) -> None:
    sentence = refused("--port", str(quiet_port()), "--var", str(var), ERRATA_ADMIN_KEY=key)
    assert "ERRATA_ADMIN_KEY" in sentence
    assert key not in sentence


def test_an_emptied_key_file(refused: Refused, var: Path) -> None:
    var.mkdir()
    (var / "admin.key").touch()
    assert "admin.key" in refused("--port", str(quiet_port()), "--var", str(var))


@pytest.mark.parametrize("reply", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"hello\r\n", b""])
def test_a_redis_that_is_not_redis(refused: Refused, reply: bytes, var: Path) -> None:
    with stranger(reply) as port:
        url = f"redis://127.0.0.1:{port}"
        assert str(port) in refused("--port", str(quiet_port()), "--var", str(var), ERRATA_REDIS_URL=url)


@pytest.mark.parametrize(
    ("url", "names"),
    [
        ("localhost", "ERRATA_REDIS_URL"),
        ("redis://[::1:6379", "address of Redis"),
        ("redis://:secret[@localhost", "%5B"),
    ],
)
def test_an_address_of_redis_that_is_none(refused: Refused, url: str, names: str, var: Path) -> None:
    sentence = refused("--port", str(quiet_port()), "--var", str(var), ERRATA_REDIS_URL=url)
    assert names in sentence
    assert "secret" not in sentence


@pytest.mark.parametrize(
    ("loader", "names"), [("models.nowhere:load", "models.nowhere"), (".models:load", "--system")]
)
def test_a_model_that_cannot_be_found(refused: Refused, loader: str, names: str, var: Path) -> None:
    words = ["--port", str(quiet_port()), "--var", str(var), "--system", f"nkb={loader}"]
    assert names in refused(*words)
