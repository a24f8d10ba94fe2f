"""No client can hold a connection, or fill memory, without a limit; tested with real bytes on real sockets."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import httpx
import pytest
import pytest_asyncio
from fastapi import FastAPI, Request
from fastapi.responses import Response, StreamingResponse

from service.http import protocol
from service.http.protocol import BoundedProtocol, Connections
from tests.service.http.listening import listening
from tests.service.parts import wait_until

GET = b"GET / HTTP/1.1\r\nhost: x\r\n"
POST = b"POST / HTTP/1.1\r\nhost: x\r\n"
LIMIT_S = 60.0  # time after which a test that hangs has failed
SHORT_S = 0.2

pytestmark = pytest.mark.asyncio(loop_scope="module")


def build_app() -> FastAPI:
    app = FastAPI()

    @app.get("/")
    async def root() -> Response:
        return Response(b"ok")

    @app.post("/")
    async def refuse() -> Response:
        return Response(b"no", status_code=401)

    @app.post("/echo")
    async def count(request: Request) -> Response:
        return Response(str(len(await request.body())).encode())

    @app.get("/stream")
    async def stream() -> StreamingResponse:
        async def pieces() -> AsyncIterator[bytes]:
            for piece in (b"one ", b"", b"two"):
                yield piece

        return StreamingResponse(pieces())

    @app.get("/endless")
    async def endless() -> StreamingResponse:
        async def zeros() -> AsyncIterator[bytes]:
            while True:
                yield bytes(100_000)
                await asyncio.sleep(0)

        return StreamingResponse(zeros())

    return app


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def url() -> AsyncIterator[httpx.URL]:
    async with listening(build_app()) as url:
        yield httpx.URL(url)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Times of the tests' own."""
    for name in ("HEAD_S", "LEFTOVER_S", "STALL_S"):
        monkeypatch.setattr(protocol, name, SHORT_S)
    monkeypatch.setattr(protocol, "LOOK_EVERY_S", 0.05)


@asynccontextmanager
async def connect(url: httpx.URL) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection(url.host, url.port)
    try:
        async with asyncio.timeout(LIMIT_S):
            yield reader, writer
    finally:
        writer.close()


async def send(url: httpx.URL, *pieces: bytes) -> bytes:
    """Send bytes; return all that comes back until the server hangs up."""
    async with connect(url) as (reader, writer):
        for piece in pieces:
            writer.write(piece)
        try:
            return await reader.read()
        except ConnectionError:
            return b""


async def trickle(writer: asyncio.StreamWriter) -> None:
    while True:
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(0.02)


def n_open() -> int:
    """Return how many connections the server has."""
    return sum(len(connections._open) for connections in BoundedProtocol._servers.values())


async def is_well(url: httpx.URL) -> bool:
    async with httpx.AsyncClient(trust_env=False) as http:
        return (await http.get(url)).text == "ok"


@pytest.mark.parametrize(
    "head",
    [
        GET + b"x: " + b"y" * 70_000,
        GET + b"x: " + b"y" * 70_000 + b"\r\n\r\n",
        GET + b"x: y\r\n" * 20_000,
        GET + b"x: y\r\n" * 129 + b"\r\n",
        b"GET /" + b"y" * 70_000,
        b"\r\n" * 40_000,
    ],
    ids=["endless value", "long value", "endless headers", "many headers", "long path", "blank lines"],
)
async def test_a_head_is_bounded(url: httpx.URL, head: bytes) -> None:
    reply = await send(url, head)
    assert reply.startswith(b"HTTP/1.1 413 "), reply
    assert b"connection: close" in reply
    assert b"may have 64,000 bytes and 128 headers: send less" in reply
    assert await is_well(url)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    ("start", "expected"),
    [
        (b"", b""),
        (GET, b"HTTP/1.1 408 "),
        (GET + b"\r\n" + GET, b"HTTP/1.1 200 "),
        (b"\r\n", b"HTTP/1.1 408 "),
    ],
    ids=["nothing", "half a head", "half a second head", "a blank line"],
)
async def test_a_head_has_to_come_in_time(url: httpx.URL, start: bytes, expected: bytes) -> None:
    reply = await send(url, start)
    assert reply.startswith(expected), reply
    assert bool(reply) == bool(expected)


@pytest.mark.usefixtures("quick")
async def test_a_head_that_trickles_is_given_up(url: httpx.URL) -> None:
    async with connect(url) as (reader, writer):
        reply = asyncio.ensure_future(reader.read())
        while not reply.done():
            writer.write(b"\r\n")
            await asyncio.sleep(0.02)
        assert (await reply).startswith(b"HTTP/1.1 408 ")


@pytest.mark.usefixtures("quick")
async def test_who_pauses_between_two_requests_is_not_cut_off(url: httpx.URL) -> None:
    async with connect(url) as (reader, writer):
        for _ in range(2):
            writer.write(GET + b"\r\n")
            assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200 ")
            await asyncio.sleep(3 * SHORT_S)


@pytest.mark.usefixtures("quick")
async def test_a_body_that_nobody_wants_is_not_taken_for_ever(url: httpx.URL) -> None:
    async with connect(url) as (reader, writer):
        writer.write(POST + b"content-length: 1000000000\r\n\r\n")
        assert (await reader.readuntil(b"no")).startswith(b"HTTP/1.1 401 ")
        with pytest.raises(ConnectionError):
            await trickle(writer)


@pytest.mark.usefixtures("quick")
async def test_who_does_not_read_is_cut_off(url: httpx.URL) -> None:
    async with connect(url) as (reader, writer):
        writer.write(b"GET /endless HTTP/1.1\r\nhost: x\r\n\r\n")
        await asyncio.sleep(5 * SHORT_S)
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await reader.readexactly(100_000_000)


@pytest.mark.parametrize(
    "body",
    [b"0\r\nx: " + b"y" * 200_000, b"0\r\n" + b"x: y\r\n" * 40_000, b"1;" + b"y" * 200_000],
    ids=["long trailer", "many trailers", "long extension"],
)
async def test_what_is_neither_head_nor_body_is_bounded(url: httpx.URL, body: bytes) -> None:
    head = b"POST /echo HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n"
    async with connect(url) as (reader, writer):
        writer.write(head)
        await asyncio.sleep(0.05)
        writer.write(body[:100_000])
        await asyncio.sleep(0.05)
        writer.write(body[100_000:])
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await reader.readexactly(1_000_000)


async def test_requests_ahead_of_their_answers_are_bounded(url: httpx.URL) -> None:
    reply = await send(url, (GET + b"\r\n") * 1_000)
    assert reply.count(b"HTTP/1.1 200 ") <= protocol.MAX_PIPELINED + 2
    assert await is_well(url)


async def test_connections_of_an_address_are_bounded_and_free_again(
    url: httpx.URL, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Connections, "per_address", 3)
    async with AsyncExitStack() as stack:
        for _ in range(3):
            await stack.enter_async_context(connect(url))
        await wait_until(lambda: n_open() == 3)
        reply = await send(url)
        assert reply.startswith(b"HTTP/1.1 429 ")
        assert b"this address has 3 connections open already: close some, or reuse them" in reply
        assert b"Retry-After" in reply
    await wait_until(lambda: n_open() == 0)
    for _ in range(6):
        assert await is_well(url)


@pytest.mark.parametrize("network", ["127.0.0.0/8", "127.0.0.1"])
async def test_a_proxy_speaks_for_many(url: httpx.URL, network: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Connections, "per_address", 1)
    monkeypatch.setattr(Connections, "exempt", (network,))
    async with connect(url), connect(url):
        await wait_until(lambda: n_open() == 2)
        assert await is_well(url)


async def test_a_client_of_http_1_0_gets_no_chunks(url: httpx.URL) -> None:
    head, _, body = (await send(url, b"GET /stream HTTP/1.0\r\nhost: x\r\n\r\n")).partition(b"\r\n\r\n")
    assert body == b"one two"
    assert b"transfer-encoding" not in head
    assert b"connection: close" in head
    whole = await send(url, b"GET / HTTP/1.0\r\nhost: x\r\n\r\n")
    assert b"content-length: 2\r\n" in whole
    assert whole.endswith(b"\r\n\r\nok")
    newer = await send(url, b"GET /stream HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
    assert newer.endswith(b"4\r\none \r\n3\r\ntwo\r\n0\r\n\r\n")
