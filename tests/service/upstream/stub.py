"""A server of a language model on a bare socket: it plays, byte for byte, the reply that the asked model's name names.

`python -m tests.service.upstream.stub PORT` serves the replies of `wires` until it is ended, for the bench.
"""

import asyncio
import json
import sys
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from tests.service.upstream.wires import Wire, find_wire


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    headers: tuple[tuple[str, str], ...]
    body: bytes

    @property
    def model(self) -> str:
        try:
            return str(json.loads(self.body)["model"])
        except (ValueError, KeyError, TypeError):
            return ""


@dataclass
class Stub:
    """Play replies. find: the reply to a name.

    requests: what was asked. connections: those that are open now. is_paused: a stepwise reply waits for `go_on`.
    has_hung_up: a caller closed while its reply was sent.
    """

    find: Callable[[str], Wire]
    url: str = ""
    requests: list[Request] = field(default_factory=list)
    is_paused: asyncio.Event = field(default_factory=asyncio.Event)
    go_on: asyncio.Event = field(default_factory=asyncio.Event)
    has_hung_up: asyncio.Event = field(default_factory=asyncio.Event)
    connections: set[StreamWriter] = field(default_factory=set)

    async def serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        self.connections.add(writer)
        try:
            while request := await read_request(reader):
                self.requests.append(request)
                if not await self._play(self.find(request.model), reader, writer):
                    return
        except (ConnectionError, asyncio.IncompleteReadError):
            self.has_hung_up.set()
        finally:
            self.connections.discard(writer)
            writer.close()

    async def _play(self, wire: Wire, reader: StreamReader, writer: StreamWriter) -> bool:
        """Send a reply; return whether the connection may be used again."""
        for place, data in enumerate(wire.writes):
            if place and wire.is_stepwise and not await self._wait(reader):
                return False
            writer.write(data)
            await writer.drain()
            await asyncio.sleep(0)
        return wire.is_kept

    async def _wait(self, reader: StreamReader) -> bool:
        """Wait until the test lets it go on; return whether the caller is there then."""
        self.is_paused.set()
        tasks = asyncio.ensure_future(self.go_on.wait()), asyncio.ensure_future(reader.read(1))
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
        if not self.go_on.is_set():
            self.has_hung_up.set()
            return False
        self.go_on.clear()
        return True


async def read_request(reader: StreamReader) -> Request | None:
    """Read a request with a body of a given length or of chunks; None at the end of the connection."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").split("\r\n")[:-2]
    method, path, _ = first.split(" ")
    pairs = [line.partition(":") for line in lines]
    headers = tuple((name.lower(), value.strip()) for name, _, value in pairs)
    length = dict(headers).get("content-length")
    if length is not None:
        return Request(method, path, headers, await reader.readexactly(int(length)))
    body = b""
    if "transfer-encoding" in dict(headers):
        while size := int(await reader.readline(), 16):
            body += (await reader.readexactly(size + 2))[:-2]
        await reader.readline()
    return Request(method, path, headers, body)


@asynccontextmanager
async def run_stub(find: Callable[[str], Wire] = find_wire) -> AsyncIterator[Stub]:
    stub = Stub(find)
    server = await asyncio.start_server(stub.serve, "127.0.0.1", 0)
    stub.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield stub
    finally:
        stub.go_on.set()
        server.close()
        for connection in stub.connections:
            connection.close()


async def main(port: int) -> None:
    stub = Stub(find_wire, requests=_Forgetful())
    server = await asyncio.start_server(stub.serve, "127.0.0.1", port, backlog=1_024)
    async with server:
        await server.serve_forever()


class _Forgetful(list[Request]):
    """Keep nothing, because the bench asks for long."""

    def append(self, request: Request) -> None:
        return


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        asyncio.run(main(int(sys.argv[1])))
