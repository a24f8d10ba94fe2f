"""Answers piece by piece and entries page by page, from both clients; what help() says of each method."""

from __future__ import annotations

import inspect
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing, closing
from typing import Any

import httpx
import pytest
from errata import Answer, AnswerDelta, AsyncErrata, Errata, errors
from errata.calls import Calls
from errata.wire import AuditEntry, EditReceipt, VersionSummary

from tests.service.editing.requests import PERU

TIMES = {"queue_ms": 0, "graph_ms": 0, "model_ms": 1, "total_ms": 1}
WHOLE = {
    "answer": "Lima\u2028city", "score": 1, "best": "Lima", "alternatives": [], "model": "nkb", "version": 0,
    "edits": [], "facts": [], "timings": TIMES, "replica": "nkb-1",
}  # fmt: skip
PROBLEM = {"title": "Not ready", "status": 503, "code": "not_ready", "detail": "the replica died: ask again"}


def event(name: str, data: object) -> bytes:
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


DELTAS = [event("delta", {"text": "Li"}), event("delta", {"text": "ma\u2028city"})]
END = [event("answer", WHOLE), event("done", {})]


class Pieces(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A body that comes piece by piece. n_read: pieces that were read. is_closed: whether reading has ended."""

    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces, self.n_read, self.is_closed = pieces, 0, False

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._pieces:
            self.n_read += 1
            yield piece

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self:
            yield piece

    def close(self) -> None:
        self.is_closed = True

    async def aclose(self) -> None:
        self.is_closed = True


def answer_with(pieces: Pieces) -> httpx.MockTransport:
    def answer(request: httpx.Request) -> httpx.Response:
        assert json.loads(request.content) == {"question": PERU, "stream": True}
        return httpx.Response(
            200, headers={"content-type": "text/event-stream; charset=utf-8"}, stream=pieces
        )

    return httpx.MockTransport(answer)


def read(pieces: Pieces) -> list[AnswerDelta | Answer]:
    with Errata(transport=answer_with(pieces)) as client:
        return list(client.stream(PERU))


async def aread(pieces: Pieces) -> list[AnswerDelta | Answer]:
    async with AsyncErrata(transport=answer_with(pieces)) as client:
        return [part async for part in client.stream(PERU)]


async def test_an_answer_comes_in_parts_and_then_whole() -> None:
    for parts in (read(Pieces(DELTAS + END)), await aread(Pieces(DELTAS + END))):
        *deltas, whole = parts
        assert [delta.text for delta in deltas if isinstance(delta, AnswerDelta)] == ["Li", "ma\u2028city"]
        assert isinstance(whole, Answer)
        assert whole.answer == "Lima\u2028city"


async def test_events_may_be_cut_anywhere() -> None:
    body = b"".join(DELTAS + END)
    pieces = [body[start : start + 7] for start in range(0, len(body), 7)]
    assert len(read(Pieces(pieces))) == len(await aread(Pieces(pieces))) == 3


@pytest.mark.parametrize(
    ("end", "kind", "text"),
    [
        ([event("problem", PROBLEM)], errors.Unavailable, "the replica died"),
        ([], errors.Unreachable, "stopped before the answer was whole"),
        ([b'event: delta\ndata: {"txt": 1}\n\n'], errors.NotErrata, "streams no events of Errata"),
    ],
)
async def test_a_stream_that_breaks_raises_what_is_wrong(
    end: list[bytes], kind: type[errors.ErrataError], text: str
) -> None:
    with pytest.raises(kind, match=text):
        read(Pieces(DELTAS + end))
    with pytest.raises(kind, match=text):
        await aread(Pieces(DELTAS + end))


async def test_who_reads_no_further_ends_the_request() -> None:
    pieces = Pieces(DELTAS * 50 + END)
    with Errata(transport=answer_with(pieces)) as client, closing(client.stream(PERU)) as parts:
        next(parts)
    assert (pieces.n_read, pieces.is_closed) == (1, True)
    pieces = Pieces(DELTAS * 50 + END)
    async with (
        AsyncErrata(transport=answer_with(pieces)) as async_client,
        aclosing(async_client.stream(PERU)) as async_parts,
    ):
        await anext(async_parts)
    assert (pieces.n_read, pieces.is_closed) == (1, True)


async def test_a_refusal_at_the_start_and_an_answer_that_is_no_stream() -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        return httpx.Response(503, json=PROBLEM)

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json=WHOLE)

    with Errata(transport=httpx.MockTransport(refuse)) as client, pytest.raises(errors.Unavailable):
        next(client.stream(PERU))
    with Errata(transport=httpx.MockTransport(answer)) as client:
        assert [type(part) for part in client.stream(PERU)] == [Answer]


def serve_pages(queries: list[dict[str, str]]) -> Callable[[httpx.Request], httpx.Response]:
    """Seven commits and five calls, the newest first; one page of the audit is empty."""

    def page(request: httpx.Request) -> httpx.Response:
        query = dict(request.url.params)
        queries.append(query)
        limit, before = int(query["limit"]), int(query.get("before", 8))
        if request.url.path == "/admin/versions":
            fields = {
                "kind": "edit",
                "author": "ada",
                "time": "2026-11-23T00:00:00Z",
                "message": "",
                "edits": 1,
            }
            versions = [{"version": n, "checksums": {}, **fields} for n in range(before - 1, 0, -1)][:limit]
            return httpx.Response(200, json={"versions": versions, "head": 7})
        fields = {"time": "2026-11-23T00:00:00Z", "name": "", "address": "", "method": "GET", "path": "/"}
        numbers = list(range(before - 1, max(0, before - 1 - limit), -1))
        entries = [{"id": str(n), "status": 401, **fields} for n in numbers if n not in (4, 5)]
        return httpx.Response(
            200, json={"entries": entries, "next": str(numbers[-1]) if numbers[-1] > 1 else None}
        )

    return page


async def test_every_entry_comes_once_and_no_page_before_it_is_read() -> None:
    queries: list[dict[str, str]] = []
    transport = httpx.MockTransport(serve_pages(queries))
    with Errata(transport=transport) as client:
        assert [entry.version for entry in client.iterate_log(page_size=3)] == [7, 6, 5, 4, 3, 2, 1]
        assert [query.get("before") for query in queries] == [None, "5", "2"]
        queries.clear()
        first = next(iter(client.iterate_log(page_size=3)))
        assert (type(first), first.version, len(queries)) == (VersionSummary, 7, 1)
        assert [entry.id for entry in client.iterate_audit(page_size=2, refused=True)] == [
            "7",
            "6",
            "3",
            "2",
            "1",
        ]
        assert queries[-1]["refused"] == "true"
    async with AsyncErrata(transport=transport) as client:
        assert [entry.version async for entry in client.iterate_log(before=4, page_size=2)] == [3, 2, 1]
        entries = [entry async for entry in client.iterate_audit(page_size=2)]
        assert [type(entry) for entry in entries] == [AuditEntry] * 5


@pytest.mark.parametrize("client", [Errata, AsyncErrata])
def test_help_says_what_a_method_returns(client: type[Any]) -> None:
    names = [name for name, _ in inspect.getmembers(Calls, inspect.isfunction) if hasattr(client, name)]
    assert len(names) > 25
    for name in names:
        assert "Call" not in str(inspect.signature(getattr(client, name)).return_annotation), name
    assert inspect.signature(client.ask).return_annotation is Answer
    assert inspect.signature(client.edit).return_annotation is EditReceipt
    assert "Generator" in str(inspect.signature(client.stream).return_annotation)
