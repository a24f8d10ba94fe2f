"""Secrets stay with the launcher and the terminal, and a wrong argument is one sentence."""

import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
import trustme
from cryptography.hazmat.primitives import serialization

from service.launch import cluster, run
from service.launch import signals as exits
from service.launch.ledger import CannotStart
from service.launch.places import Places, free_port
from service.ledger.embedded.server import EmbeddedValkey
from tests.service.parts import TOY

ARGUMENTS: Mapping[str, Any] = {"host": "127.0.0.1", "port": 8000, "replicas": 1}


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Return the environment that a cluster would inherit; the service is asked to stop as soon as it is ready."""
    environment: dict[str, str] = {}

    @contextmanager
    def no_cluster(*_: Any) -> Iterator[None]:
        environment.update(os.environ)
        yield

    monkeypatch.setattr(cluster, "cluster", no_cluster)
    for owner, name in (
        (cluster, "deploy"),
        (cluster, "undeploy"),
        (exits, "catch_signals"),
        (signal, "pause"),
    ):
        monkeypatch.setattr(owner, name, lambda *_: None)
    return environment


def serve(places: Places, loader: str = TOY, to_terminal: bool = True) -> str:
    lines: list[str] = []
    arguments = {**ARGUMENTS, "var": places.var, "systems": {"toy": loader}}
    run._serve(arguments, places, lines.append, to_terminal)
    return "\n".join(lines)


def test_neither_the_key_nor_the_address_of_redis_is_inherited(
    places: Places,
    environment: dict[str, str],
    own_valkey: EmbeddedValkey,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ERRATA_ADMIN_KEY", "a-secret-that-is-mine")
    monkeypatch.setenv("ERRATA_REDIS_URL", own_valkey.url)
    text = serve(places)
    assert "the one in ERRATA_ADMIN_KEY" in text
    assert "a-secret-that-is-mine" not in text
    assert environment
    assert not {"ERRATA_ADMIN_KEY", "ERRATA_REDIS_URL"} & environment.keys()


def test_the_key_of_the_command_never_becomes_the_admins(
    places: Places, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is exported in terminals where curators work with another service."""
    monkeypatch.setenv("ERRATA_KEY", "the-key-of-another-service")
    monkeypatch.setenv("ERRATA_KEY_FILE", "/no/such/file")
    text = serve(places)
    key = (places.var / "admin.key").read_text().strip()
    assert key != "the-key-of-another-service"
    assert key in text
    assert f"key file   {places.var / 'admin.key'}" in text
    assert "export ERRATA_KEY=" in text, "or the command would send the other key"


def test_the_key_that_was_made_is_for_the_terminal_and_no_log(
    places: Places, environment: dict[str, str], capfd: pytest.CaptureFixture[str]
) -> None:
    text = serve(places)
    key = (places.var / "admin.key").read_text().strip()
    assert key in text
    assert key not in "".join(capfd.readouterr()), "where the log is written"
    assert key not in serve(places, to_terminal=False), "what may be kept"


@pytest.mark.parametrize(
    ("loader", "names"),
    [
        (".a:b", "MODULE:LOADER"),
        ("a..b:c", "MODULE:LOADER"),
        ("no.such.module:load", "no.such.module"),
        ("__main__.x:load", "__main__.x"),
        ("broken.inside:load", "broken.inside"),
    ],
)
def test_a_model_that_cannot_be_found_is_named(
    loader: str, names: str, places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "__init__.py").write_text("import math; math.nothing")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(CannotStart) as refusal:
        serve(places, loader)
    assert names in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("wrong", ["the two swapped", "the key of another", "a key with a password"])
def test_files_that_make_no_tls_are_named_before_anything_starts(
    wrong: str, places: Places, tmp_path: Path
) -> None:
    pair, other = (trustme.CA().issue_cert("127.0.0.1") for _ in range(2))
    key = serialization.load_pem_private_key(pair.private_key_pem.bytes(), None)
    cipher = serialization.BestAvailableEncryption(b"secret")
    locked_key = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, cipher)
    cert, plain = pair.cert_chain_pems[0].bytes(), pair.private_key_pem.bytes()
    files = {
        "the two swapped": (plain, cert),
        "the key of another": (cert, other.private_key_pem.bytes()),
        "a key with a password": (cert, locked_key),
    }
    paths = tmp_path / "cert.pem", tmp_path / "key.pem"
    for path, content in zip(paths, files[wrong], strict=True):
        path.write_bytes(content)
    tls = dict(zip(("tls_cert", "tls_key"), paths, strict=True))
    arguments = {**ARGUMENTS, "var": places.var, "systems": {"toy": TOY}, **tls}
    with pytest.raises(CannotStart, match=f"{paths[0]} and {paths[1]} are no certificate"):
        run._serve(arguments, places, str, True)


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
@pytest.mark.parametrize("device", ["cuda", "cuda:1", "toy=cuda"])
def test_a_device_that_is_not_there_is_named_before_anything_starts(device: str, places: Places) -> None:
    arguments = {**ARGUMENTS, "var": places.var, "systems": {"toy": TOY}, "device": [device]}
    with pytest.raises(
        CannotStart, match=rf"'toy' .* device {device.removeprefix('toy=')} .* give the device cpu"
    ):
        run._serve(arguments, places, str, True)


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("disguise", [None, SystemError], ids=["as it is", "as an import turns it"])
def test_ctrl_c_while_starting_is_the_end_and_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, disguise: type[Exception] | None
) -> None:
    def starting(*_: Any) -> None:
        try:
            os.kill(os.getpid(), signal.SIGINT)
        except exits.StopRequested as asked:
            raise (disguise() if disguise else asked) from asked

    monkeypatch.setattr(run, "_serve", starting)
    lines: list[str] = []
    run.run({**ARGUMENTS, "var": tmp_path / "var", "port": free_port()}, lines.append, True)
    assert lines == ["Stopped."]
