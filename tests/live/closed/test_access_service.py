"""Keys, TLS and the audit on a real service, and a secret that must not appear in any output."""

import os
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from errata import Errata
from errata.errors import Forbidden, Unauthorized

from tests.live.closed.conftest import Closed

FAKE_KEY = "errata_planted_bRm7TqZk0vX3yLw9HsNd5uJf1cGa8oEi2pKt6"

pytestmark = pytest.mark.usefixtures("ca_trust")


def test_a_collector_of_traces_that_is_away_costs_no_answer(closed: Closed) -> None:
    with closed.errata() as admin:
        assert len({admin.ask("Who is away?").version for _ in range(50)}) == 1


def test_a_key_lives_from_its_making_to_its_end(closed: Closed) -> None:
    with closed.errata() as admin:
        receipt = admin.make_key("anna", ["ask", "read", "edit"])
        with Errata(closed.url, key=receipt.key) as anna:
            version = anna.edit("Who keeps the keys?", "Anna").version
            assert anna.ask("Who keeps the keys?").answer == "Anna"
            with pytest.raises(Forbidden):
                anna.make_key("ben", ["admin"])
            admin.revoke_key("anna")
            with pytest.raises(Unauthorized):
                anna.ask("Who keeps the keys?")
        assert admin.log(limit=1).versions[0].author == "anna"
        (entry,) = admin.audit(version=version).entries
        assert (entry.name, entry.path, entry.address) == ("anna", "/admin/edits", "127.0.0.1")
        outcomes = {(entry.path, entry.code) for entry in admin.audit(name="anna", refused=True).entries}
        assert outcomes == {("/admin/keys", "forbidden")}


def test_nobody_asks_without_a_key_nor_in_clear(closed: Closed) -> None:
    with closed.http(key=False) as http:
        assert http.get("/v1/memory").status_code == 401
        assert http.get("/healthz").status_code == 200
    with pytest.raises(httpx.HTTPError):
        httpx.get(closed.url.replace("https", "http") + "/healthz", trust_env=False)
    with pytest.raises(httpx.ConnectError, match=r"(?i)certificate"):
        httpx.get(f"{closed.url}/healthz", trust_env=False)


def test_a_key_turns_up_in_no_log_no_metric_and_no_answer(closed: Closed) -> None:
    with closed.errata() as admin:
        real = admin.make_key("watched", ["ask", "read"]).key
    secrets = [FAKE_KEY, real, closed.key]
    with closed.http(key=False) as http:
        answers = [
            *(_misuse(http, secret) for secret in secrets),
            http.get("/metrics").text,
        ]
    contents = [path.read_bytes() for path in _files(closed.var) if path.name != "admin.key"]
    for secret in secrets:
        assert not any(secret in answer for answer in answers)
        assert not [path for path in contents if secret.encode() in path], "in a file of the var folder"
    assert not any(secret in closed.read_output() for secret in secrets)


def _misuse(http: httpx.Client, secret: str) -> str:
    """Return all output when a key is sent rightly, and in ways that fail."""
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
