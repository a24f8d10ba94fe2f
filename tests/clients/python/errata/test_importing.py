"""An import by the SDK: streamed to the service, with progress, and never in doubt without saying so."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from errata import Errata, Retry, errors
from errata.wire import ImportProgress

LINES = b"Peru\tcapital\tLima\nPeru\tcurrency\tsol\nno triple\n"
NDJSON = {"content-type": "application/x-ndjson"}
PROBLEM = {"title": "t", "status": 503, "code": "ledger_unavailable", "detail": "the ledger is away"}
READING = b'{"progress": {"phase": "reading", "done": 1}}\n'
Handler = Callable[[httpx.Request], httpx.Response]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "peru.tsv").write_bytes(LINES)
    return tmp_path / "peru.tsv"


def test_a_file_becomes_one_commit_and_its_progress_is_told(errata: Errata, tiny: Any, file: Path) -> None:
    events: list[ImportProgress] = []
    receipt = errata.import_graph(str(file), message="fill", progress=events.append)
    assert (receipt.version, receipt.counts.triples, receipt.counts.rejected) == (1, 2, 1)
    assert [(event.phase, event.done) for event in events] == [
        ("sending", 46),
        ("reading", 46),
        ("committing", 0),
    ]
    assert errata.last_version == 1
    request, body = tiny.requests[-1]
    assert body == LINES
    assert dict(request.query_params) == {"source": "peru.tsv", "message": "fill"}
    assert request.headers["transfer-encoding"] == "chunked"
    assert "content-length" not in request.headers


def test_every_option_is_sent(errata: Errata, tiny: Any) -> None:
    options: dict[str, Any] = {"expected_version": 0, "dry_run": True, "wait": "none", "message": "m"}
    errata.import_graph(io.BytesIO(LINES), format="nt", language="de", source="a pipe", **options)
    assert dict(tiny.requests[-1][0].query_params) == {
        "format": "nt",
        "language": "de",
        "source": "a pipe",
        "message": "m",
        "expected_version": "0",
        "dry_run": "true",
        "wait": "none",
    }


@pytest.mark.parametrize(
    ("options", "source"),
    [
        ({"format": "xml"}, "format: "),
        ({"language": "x"}, "language: "),
        ({"expected_version": -1}, "version: "),
    ],
)
def test_a_bad_option_is_refused_before_it_is_sent(
    errata: Errata, tiny: Any, file: Path, options: dict[str, Any], source: str
) -> None:
    with pytest.raises(errors.Malformed, match=source):
        errata.import_graph(file, **options)
    assert tiny.requests == []


def test_a_refusal_in_the_stream_is_the_error_that_it_names(errata: Errata, tiny: Any, file: Path) -> None:
    tiny.told_of_import = [{"problem": {**PROBLEM, "status": 409, "code": "stale_version", "current": 7}}]
    with pytest.raises(errors.StaleVersion) as error:
        errata.import_graph(file)
    assert (error.value.current, error.value.in_doubt) == (7, False)


def through(handler: Handler, body: Any = None, **how: Any) -> Any:
    """Return the result or the error of an import of `body` through this network."""
    retry = Retry(times=how.pop("times", 0), first_pause_s=0.001)
    with Errata("http://errata.test", transport=httpx.MockTransport(handler), retry=retry) as errata:
        return errata.import_graph(body or io.BytesIO(LINES), **how)


def answering(*content: bytes, status: int = 200) -> Handler:
    return lambda _: httpx.Response(status, headers=NDJSON, content=iter(content))


def cut(_: httpx.Request) -> httpx.Response:
    def stream() -> Iterator[bytes]:
        yield READING
        raise httpx.RemoteProtocolError("peer closed connection")

    return httpx.Response(200, headers=NDJSON, content=stream())


@pytest.mark.parametrize(
    "handler",
    [
        answering(READING),
        answering(),
        cut,
        answering(b"{nonsense\n"),
        answering(b'{"receipt": {"version": 1}}'),
    ],
    ids=["no last line", "no line", "cut", "no JSON", "no receipt"],
)
def test_an_import_that_may_be_made_says_so(handler: Handler) -> None:
    with pytest.raises(errors.ErrataError, match="the change may have been made: repeat it with") as error:
        through(handler, times=2)
    assert error.value.in_doubt
    assert error.value.idempotency_key is not None
    with pytest.raises(errors.ErrataError) as dry:
        through(handler, dry_run=True)
    assert not dry.value.in_doubt


def test_an_import_that_may_be_made_is_repeated_with_its_key() -> None:
    keys: list[str] = []

    def handler(request: httpx.Request) -> httpx.Response:
        keys.append(request.headers["idempotency-key"])
        return cut(request)

    with pytest.raises(errors.Unreachable) as error:
        through(handler, times=2)
    assert keys == 3 * [error.value.idempotency_key]
