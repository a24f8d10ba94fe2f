"""A caller on a bare socket, who sees the bytes of a reply and how it ended."""

import asyncio
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

JSON = ("content-type", "application/json")
LIMIT_S = 60.0


@dataclass
class Reply:
    """A reply, of which `pieces` reads the body as it comes. is_whole: whether the body came to its end."""

    status: int
    headers: list[tuple[str, str]]
    reader: StreamReader
    body: bytes = b""
    is_whole: bool = False

    def header(self, name: str) -> str | None:
        return dict(self.headers).get(name)

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yield the body's chunks, or all of it."""
        try:
            if self.header("transfer-encoding") == "chunked":
                while size := int(await self.reader.readline() or b"z", 16):
                    data = (await self.reader.readexactly(size + 2))[:-2]
                    self.body += data
                    yield data
                await self.reader.readline()
            elif length := self.header("content-length"):
                self.body = await self.reader.readexactly(int(length))
                yield self.body
            else:
                self.body = await self.reader.read()
                yield self.body
            self.is_whole = True
        except asyncio.IncompleteReadError as error:  # it was cut
            self.body += error.partial
        except (ConnectionError, ValueError):  # it was cut between two chunks
            return


@asynccontextmanager
async def connect(url: str) -> AsyncIterator[tuple[StreamReader, StreamWriter]]:
    address = urlsplit(url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port, limit=2**20)
    try:
        yield reader, writer
    finally:
        writer.close()


@asynccontextmanager
async def open_reply(
    url: str, path: str, body: bytes, headers: Sequence[tuple[str, str]] = (JSON,), method: str = "POST"
) -> AsyncIterator[Reply]:
    """Send a request on a connection of its framing, and yield the reply when its head has come."""
    async with connect(url) as (reader, writer):
        framing = [
            ("host", "127.0.0.1"),
            ("connection", "close"),
            ("content-length", str(len(body))),
        ]
        lines = [
            f"{method} {path} HTTP/1.1",
            *(f"{name}: {value}" for name, value in [*framing, *headers]),
        ]
        writer.write("\r\n".join([*lines, "", ""]).encode("latin-1") + body)
        async with asyncio.timeout(LIMIT_S):
            first, *fields = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")[:-2]
        pairs = [field.partition(":") for field in fields]
        yield Reply(
            int(first.split(" ")[1]), [(name.lower(), value.strip()) for name, _, value in pairs], reader
        )


async def ask(
    url: str, path: str, body: bytes, headers: Sequence[tuple[str, str]] = (JSON,), method: str = "POST"
) -> Reply:
    """Return a reply that was read to its end."""
    async with asyncio.timeout(LIMIT_S), open_reply(url, path, body, headers, method) as reply:
        async for _ in reply.pieces():
            pass
    return reply
