"""Keys, TLS and the audit on a real service, and a secret that must not turn up anywhere."""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import trustme
from errata import Errata
from errata.errors import Forbidden, Unauthorized

from tests.cluster.running import Service

NOBODY = "http://127.0.0.1:9"  # the port of the protocol that throws everything away, which nobody speaks
PLANTED = "errata_planted_bRm7TqZk0vX3yLw9HsNd5uJf1cGa8oEi2pKt6"


class Closed(Service):
    """Speaks TLS alone, wants a key of everybody, and has a collector of traces that is away."""

    def __init__(self, var: Path, cert: Path, key: Path) -> None:
        tls = ["--tls-cert", str(cert), "--tls-key", str(key)]
        super().__init__(var, words=[*tls, "--asking", "keys", "--traces", NOBODY])

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory, authority: trustme.CA) -> Iterator[Closed]:
    folder = tmp_path_factory.mktemp("closed")
    issued = authority.issue_cert("127.0.0.1")
    cert, key = folder / "cert.pem", folder / "key.pem"
    issued.cert_chain_pems[0].write_to_path(cert)
    issued.private_key_pem.write_to_path(key)
    service = Closed(folder / "var", cert, key)
    try:
        service.start()
        yield service
    finally:
        service.stop()


@pytest.fixture
def trusted(authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ssl.SSLContext:
    """Also by what reads SSL_CERT_FILE."""
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return context


def test_a_collector_of_traces_that_is_away_costs_no_answer(closed: Closed, trusted: ssl.SSLContext) -> None:
    with closed.errata() as admin:
        assert len({admin.ask("Who is away?").version for _ in range(50)}) == 1


def test_a_key_lives_from_its_making_to_its_end(closed: Closed, trusted: ssl.SSLContext) -> None:
    with closed.errata() as admin:
        made = admin.make_key("anna", ["ask", "read", "edit"])
        with Errata(closed.url, key=made.key) as anna:
            version = anna.edit("Who keeps the keys?", "Anna").version
            assert anna.ask("Who keeps the keys?").answer == "Anna"
            with pytest.raises(Forbidden):
                anna.make_key("ben", ["admin"])
            admin.revoke_key("anna")
            with pytest.raises(Unauthorized):
                anna.ask("Who keeps the keys?")
        assert admin.log(limit=1).versions[0].author == "anna"
        (noted,) = admin.audit(version=version).entries
        assert (noted.name, noted.path, noted.address) == ("anna", "/admin/edits", "127.0.0.1")
        outcomes = {(one.path, one.code) for one in admin.audit(name="anna", refused=True).entries}
        assert outcomes == {("/admin/keys", "forbidden")}


def test_nobody_asks_without_a_key_nor_in_clear(closed: Closed, trusted: ssl.SSLContext) -> None:
    with httpx.Client(base_url=closed.url, verify=trusted, trust_env=False) as http:
        assert http.get("/v1/memory").status_code == 401
        assert http.get("/healthz").status_code == 200
    with pytest.raises(httpx.HTTPError):
        httpx.get(closed.url.replace("https", "http") + "/healthz", trust_env=False)
    with pytest.raises(httpx.ConnectError, match=r"(?i)certificate"):
        httpx.get(f"{closed.url}/healthz", trust_env=False)


def test_a_key_turns_up_in_no_log_no_metric_and_no_answer(closed: Closed, trusted: ssl.SSLContext) -> None:
    with closed.errata() as admin:
        real = admin.make_key("watched", ["ask", "read"]).key
    secrets = [PLANTED, real, closed.key]
    with httpx.Client(base_url=closed.url, verify=trusted, trust_env=False) as http:
        answers = [
            *(_misused(http, secret) for secret in secrets),
            http.get("/metrics").text,
        ]
    kept = [path.read_bytes() for path in _files(closed.var) if path.name != "admin.key"]
    for secret in secrets:
        assert not any(secret in answer for answer in answers)
        assert not [path for path in kept if secret.encode() in path], "in a file of the var folder"
    said = closed.said().replace(f"admin key  {closed.key}", "")
    assert not any(secret in said for secret in secrets)


def _misused(http: httpx.Client, secret: str) -> str:
    """Everything that is said when a key is sent where it is good, and in ways that fail."""
    headers = {"authorization": f"Bearer {secret}"}
    replies = [
        http.get("/admin/versions", headers=headers),
        http.get("/admin/versions/999999", headers=headers),
        http.post("/admin/edits", headers=headers, content=b"{"),
        http.post("/v1/answers", headers=headers, json={"question": "who?", "model": "none"}),
        http.get("/v1/entities", headers=headers, params={"q": "x", "limit": -1}),
        http.get("/admin/versions", headers={"authorization": f"Basic {secret}"}),
        http.get("/admin/versions", headers={"authorization": secret}),
        http.request("BREW", "/admin/edits", headers=headers),
    ]
    return "".join(reply.text + str(reply.headers) for reply in replies)


def _files(folder: Path) -> Iterator[Path]:
    for path, _, names in os.walk(folder):
        yield from (Path(path, name) for name in names if Path(path, name).is_file())
