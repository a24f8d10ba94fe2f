"""An upstream on a real socket that answers with exactly the bytes of a test, and keeps the bytes that it gets."""

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

JSON_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=utf-8\r\n"
EVENTS_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n"
)


def of_json(body: bytes, headers: bytes = b"", head: bytes = JSON_HEAD) -> list[bytes]:
    """Return the bytes of a reply with its length."""
    return [head + headers + b"content-length: %d\r\n\r\n" % len(body) + body]


def of_events(*events: bytes, ends: bool = True) -> list[bytes]:
    """Return the bytes of a stream, a chunk of HTTP for each event."""
    chunks = [b"%x\r\n%b\r\n" % (len(event), event) for event in events]
    return [EVENTS_HEAD, *chunks, *([b"0\r\n\r\n"] if ends else [])]


class Origin:
    """The server. `pieces`: what it writes to each request; `gate` is awaited after the first of them."""

    def __init__(self) -> None:
        self.pieces: Sequence[bytes] = of_json(b"{}")
        self.requests: list[tuple[bytes, bytes]] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.hang_up = asyncio.Event()  # a caller closed its connection
        self.n_connections = 0
        self.url = ""

    @property
    def body(self) -> bytes:
        return self.requests[-1][1]

    @property
    def head(self) -> bytes:
        return self.requests[-1][0].lower()

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.n_connections += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = re.search(rb"content-length: (\d+)", head.lower())
                body = await reader.readexactly(int(length[1])) if length else b""
                self.requests.append((head, body))
                await self._write(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.hang_up.set()
            writer.close()

    async def _write(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first, *rest = self.pieces
        writer.write(first)
        await writer.drain()
        opening, closing = asyncio.create_task(self.gate.wait()), asyncio.create_task(reader.read(1))
        await asyncio.wait({opening, closing}, return_when=asyncio.FIRST_COMPLETED)
        if not opening.done():
            raise ConnectionError
        closing.cancel()
        await asyncio.gather(closing, return_exceptions=True)
        for piece in rest:
            writer.write(piece)
            await writer.drain()
        if self.pieces[0].startswith(EVENTS_HEAD) and not self.pieces[-1].endswith(b"0\r\n\r\n"):
            raise ConnectionError


@asynccontextmanager
async def start_origin() -> AsyncIterator[Origin]:
    origin = Origin()
    server = await asyncio.start_server(origin.handle, "127.0.0.1", 0)
    origin.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    try:
        yield origin
    finally:
        origin.gate.set()
        server.close()
