"""Redis with a password that changes, behind sentinels, and over TLS."""

import asyncio
import itertools
import os
import ssl
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
import redis
import trustme

from models.blocks import Block
from service.errors import LedgerUnavailable
from service.ledger import keys
from service.ledger.commit import Commit
from service.ledger.connection import parse_sentinels
from service.ledger.store import RedisLedger
from tests.deploy.valkeys import (
    HOST,
    NAME,
    PASSWORD,
    REDIS,
    AclValkey,
    SentinelSetup,
    Valkey,
    run_sentinels,
    start_acl_valkey,
)
from tests.service.ledger.writing import fill, until, write_and_read

NEW = "another-password-of-errata"
CLI = f"""#!{sys.executable}
import os, sys
import redis
quiet, user, operator, port, number, *words = sys.argv[1:]
assert (quiet, user, port) == ("-e", "--user", "-p")
server = redis.Redis(port=int(number), username=operator, password=os.environ["REDISCLI_AUTH"], decode_responses=True)
reply = server.execute_command(*words)
print("\\n".join(reply) if isinstance(reply, list) else reply)
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[AclValkey]:
    with start_acl_valkey(tmp_path) as server:
        cli = tmp_path / "bin" / "valkey-cli"
        cli.write_text(CLI)
        cli.chmod(0o755)
        yield server


def password(server: AclValkey, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {
        "PATH": f"{server.folder / 'bin'}:{os.environ['PATH']}",
        "PASSWORD_FILE": str(server.folder / "errata"),
        "OPERATOR_PASSWORD_FILE": str(server.folder / "operator"),
    }
    command = [str(REDIS / "password.sh"), *words, "-p", str(server.port)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)


def opens(server: AclValkey, password: str) -> bool:
    with redis.Redis(host=HOST, port=server.port, username="errata", password=password) as client:
        try:
            return bool(client.echo("here"))
        except redis.AuthenticationError:
            return False


def test_both_open_until_only_the_new_one_does(server: AclValkey) -> None:
    assert password(server, "add").stdout == "the user errata has 1\n", "the file has no second password"
    (server.folder / "errata").write_text(NEW + "\n")
    assert password(server, "add").stdout == "the user errata has 2\n"
    assert opens(server, PASSWORD)
    assert opens(server, NEW)
    assert password(server, "only").stdout == "the user errata has 1\n"
    assert not opens(server, PASSWORD)
    assert opens(server, NEW)


@pytest.mark.parametrize(
    ("words", "content", "complaint"),
    [(["both"], NEW, "usage: "), (["add"], "too short", "is shorter than 16")],
)
def test_what_cannot_be_done_is_said_and_changes_nothing(
    server: AclValkey, words: list[str], content: str, complaint: str
) -> None:
    (server.folder / "errata").write_text(content)
    refused = password(server, *words)
    assert (refused.returncode > 0, complaint in refused.stderr) == (True, True)
    assert opens(server, PASSWORD)


UNUSED_ADDRESS = "127.0.0.1:9"
LIMIT_S = 120.0


@pytest.fixture(scope="module")
def watch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SentinelSetup]:
    """The last test of this file kills the master."""
    with run_sentinels(tmp_path_factory.mktemp("watched")) as servers:
        yield servers


async def append_until_accepted(ledger: RedisLedger, commit: Commit, blocks: Sequence[Block]) -> int:
    """Append until it is accepted; return the number of refusals."""
    deadline = time.monotonic() + LIMIT_S
    for refused in itertools.count():
        try:
            assert await ledger.append(commit, blocks) == commit.version
            return refused
        except LedgerUnavailable:
            assert time.monotonic() < deadline
            await asyncio.sleep(0.05)
    raise AssertionError("for ever is not over")


async def test_the_check_says_what_such_a_master_does_not_promise(watch: SentinelSetup) -> None:
    ledger = RedisLedger.connect(watch.url)
    server = await ledger.check()
    await ledger.aclose()
    assert "a server with replicas acknowledges an edit before a replica has it" in server.warnings[0]


async def test_sentinels_that_all_are_gone_are_named_without_their_password() -> None:
    ledger = RedisLedger.connect(f"redis+sentinel://:secret@{UNUSED_ADDRESS}/{NAME}?sentinel_password=secret")
    with pytest.raises(
        LedgerUnavailable, match=rf"redis\+sentinel://{UNUSED_ADDRESS}/{NAME} failed"
    ) as error:
        await ledger.head()
    await ledger.aclose()
    assert "secret" not in str(error.value)


def test_who_asks_the_sentinels_is_not_who_asks_the_master() -> None:
    address = parse_sentinels(
        "rediss+sentinel://ann:p%2Cw@a:1,b/m/2?sentinel_password=s&ssl_ca_certs=/ca.pem"
    )
    assert address is not None
    master = [address.master[setting] for setting in ("username", "password", "db")]
    assert (address.master_name, *master) == ("m", "ann", "p,w", 2)
    assert [(sentinel["host"], sentinel["port"]) for sentinel in address.sentinels] == [
        ("a", 1),
        ("b", 26379),
    ]
    assert all(sentinel["password"] == "s" and "username" not in sentinel for sentinel in address.sentinels)
    assert all(server["ssl_ca_certs"] == "/ca.pem" for server in (address.master, *address.sentinels))
    assert "sentinel_password" not in address.master


async def test_commits_go_on_at_the_server_that_succeeds_a_killed_master(watch: SentinelSetup) -> None:
    ledger = RedisLedger.connect(
        watch.url.replace("//", f"//{UNUSED_ADDRESS},"), limit_s=2.0
    )  # one watchman is gone
    writer = await fill(ledger, 3)
    until(watch.is_replicated)
    watch.master.stop()
    assert await append_until_accepted(ledger, *writer.edit()), (
        "while there is no master nothing is acknowledged"
    )
    assert await ledger.read(0) == writer.commits
    assert watch.replica.say("XLEN", keys.LOG) == 4
    await ledger.aclose()


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
