"""Bytes on the socket, and the readers of files."""

import gzip
import json
import os
import resource
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from tests.fuzz.targets import TARGETS
from tests.service.http.serving import Service

QUESTION = json.dumps({"question": "What is the capital of Peru?"}).encode()
ASK, CHAT, EDITS, LOAD = "/v1/answers", "/v1/chat/completions", "/admin/edits", "/admin/graph/import"
QUIET_S = 60.0
REQUEST = b"""\
POST %b HTTP/1.1\r
host: localhost\r
content-type: application/json\r
authorization: Bearer %b\r
%b\r
\r
%b"""

CUT = {
    "chunked, without an end": (b"transfer-encoding: chunked", b'5\r\n{"que\r\n'),
    "chunked, cut in a chunk": (b"transfer-encoding: chunked", b"ff\r\n{"),
    "chunked, of no length": (b"transfer-encoding: chunked", b"xyz\r\n{}\r\n0\r\n\r\n"),
    "chunked, of endless length": (b"transfer-encoding: chunked", b"f" * 40 + b"\r\n{}"),
    "chunked, of negative length": (b"transfer-encoding: chunked", b"-1\r\n{}\r\n0\r\n\r\n"),
    "shorter than it says": (b"content-length: 1000", b"{"),
    "of negative length": (b"content-length: -1", b"{}"),
    "of two lengths": (b"content-length: 2\r\ncontent-length: 3", b"{}x"),
    "chunked and of a length": (b"transfer-encoding: chunked\r\ncontent-length: 3", b"3\r\n{}x\r\n0\r\n\r\n"),
    "packed in an unknown way": (b"transfer-encoding: gzip, chunked", b"2\r\n{}\r\n0\r\n\r\n"),
}


@pytest.mark.parametrize("path", [ASK, CHAT, EDITS, LOAD])
@pytest.mark.parametrize("how", CUT)
def test_a_body_that_is(how: str, path: str, service: Service) -> None:
    """There is no answer, or a refusal; then the next request is served, and nothing has changed."""
    before = read_head(service)
    framing, body = CUT[how]
    key = service.key.encode()
    reply = send(service, REQUEST % (path.encode(), key, framing, body))
    status = int(reply.split(b" ")[1]) if reply.startswith(b"HTTP/1.1 ") else None
    assert status is None or 400 <= status < 500, reply
    assert read_head(service) == before


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        ({"content-encoding": "gzip"}, gzip.compress(QUESTION, mtime=0), 415),
        ({"content-encoding": "gzip"}, QUESTION, 415),  # no body is unpacked
        ({"content-encoding": "no-such"}, QUESTION, 415),
        (
            {"content-type": "text/plain"},
            QUESTION,
            415,
        ),  # a page may send it to any address without asking first
        ({"content-type": "application/x-www-form-urlencoded"}, QUESTION, 415),
        ({"content-type": ""}, QUESTION, 415),
        ({"content-type": "application/vnd.errata+json"}, QUESTION, 200),
        ({"content-type": "application/json; charset=utf-16"}, QUESTION, 200),  # JSON is UTF-8, RFC 8259
        ({"content-type": "application/json; charset=latin-1"}, QUESTION.replace(b"Peru", b"Per\xfa"), 400),
        ({"content-type": "multipart/form-data; boundary=x"}, b"--x\r\n\r\n--x--", 415),
        ({"expect": "100-continue"}, QUESTION, 200),
        ({"accept": "application/xml"}, QUESTION, 200),
        ({"range": "bytes=0-1"}, QUESTION, 200),
        ({"x-http-method-override": "DELETE"}, QUESTION, 200),
        ({"host": "elsewhere:1"}, QUESTION, 403),
        ({"cookie": "a=" + "x" * 4_000}, QUESTION, 200),
        ({"x-request-id": "a\tb"}, QUESTION, 200),
        ({"x-request-id": "y" * 8_000}, QUESTION, 200),
    ],
)
def test_headers_that_say_something_else(
    service: Service, headers: dict[str, str], body: bytes, status: int
) -> None:
    request_headers = {**service.authorization, "content-type": "application/json", **headers}
    assert httpx.post(service.url + ASK, content=body, headers=request_headers).status_code == status


@pytest.mark.parametrize(
    "target",
    [
        *("/v1/models/%00", "/v1/models/..%2f..%2fetc", "/v1/models/%ff", "/v1/models/" + "x" * 5_000),
        *("/v1/entities?q=%00", "/v1/entities?q=%ff%fe", "/v1/entities?q=x&limit=1e3", "/v1/entities/%00"),
        *("/v1/entities/%F0%9F%A6%99", "/v1/entities/..%2f", "/v1/entities?q=x&q=y&version=-0"),
        *(
            "/v1/answers?question=%00",
            "/v1/answers?question=%ed%a0%80",
            "/v1/answers?question=a&version=%D9%A3",
        ),
        *(
            "/admin/versions/%D9%A3",
            "/admin/versions/1_0",
            "/admin/versions?limit=%D9%A3",
            "/admin/versions/1.0",
        ),
        *("/admin/audit?before=0-0", "/admin/audit?before=%D9%A3-%D9%A3", "/admin/audit?since=nan"),
        *(
            "/admin/audit?until=inf",
            "/admin/audit?since=-0",
            "/admin/audit?name=%00",
            "/admin/audit?path=%ff",
        ),
        *("/admin/audit?version=99999999999999999999999", "/admin/diff?from=0&to=%00", "//v1//models"),
    ],
)
def test_an_odd_address_is_answered_or_refused(service: Service, target: str) -> None:
    reply = httpx.get(service.url + target, headers=service.authorization)
    assert reply.status_code in (200, 404, 422), reply.text
    if reply.status_code >= 400:
        assert reply.headers["content-type"] == "application/problem+json"


def test_the_verbs_of_a_path_are_all_named(service: Service) -> None:
    """Where a path has several routes, too."""
    allowed = {path: httpx.put(service.url + path).headers["allow"] for path in (ASK, "/healthz", CHAT)}
    assert allowed == {ASK: "GET, HEAD, POST", "/healthz": "GET, HEAD", CHAT: "POST"}


def read_head(service: Service) -> int:
    reply = httpx.get(f"{service.url}/admin/versions", headers=service.authorization)
    assert reply.status_code == 200
    return int(reply.json()["head"])


def send(service: Service, request: bytes) -> bytes:
    """Send bytes and the end of the stream; return the reply until the service hangs up or is silent."""
    url, reply = httpx.URL(service.url), b""
    with socket.create_connection((url.host, url.port), timeout=QUIET_S) as stranger:
        stranger.sendall(request)
        stranger.shutdown(socket.SHUT_WR)
        with suppress(TimeoutError, ConnectionResetError):
            while data := stranger.recv(65_536):
                reply += data
    return reply


ROOT = Path(__file__).parents[2]
LIMIT_S, ONE_S, LONGEST = 7_200, 20, 4_096
NO_LIMIT = "-rss_limit_mb=0"  # Linux derives the largest size of a process from the one that started it
HEAP = 2 << 30  # bytes, in place of that limit
REGRESSIONS = Path(__file__).parent / "regressions"


@pytest.mark.timeout(LIMIT_S)
@pytest.mark.parametrize("name", TARGETS)
def test_any_bytes_are_read_or_refused(name: str, tmp_path: Path, times: int, seed: int) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for number, first in enumerate(TARGETS[name].seeds):
        (corpus / str(number)).write_bytes(first)
    runs = TARGETS[name].runs * times
    bounds = f"-runs={runs}", f"-seed={seed}", f"-timeout={ONE_S}", f"-max_len={LONGEST}", NO_LIMIT
    result = subprocess.run(
        [sys.executable, "-m", "tests.fuzz", name, *bounds, f"-artifact_prefix={tmp_path}/", str(corpus)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'clients' / 'python'}"},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (HEAP, HEAP)),
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert f"Done {runs} runs" in result.stdout + result.stderr


@pytest.mark.parametrize(
    "file", sorted(REGRESSIONS.glob("*/*")), ids=lambda file: f"{file.parent.name}/{file.name}"
)
def test_what_was_found_once_is_no_longer_so(file: Path) -> None:
    TARGETS[file.parent.name].run(file.read_bytes())
