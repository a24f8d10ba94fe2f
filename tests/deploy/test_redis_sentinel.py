"""A ledger behind Sentinels is found by them, and is found again when they have made another server the master."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Iterator, Sequence

import pytest

from models.blocks import Block
from service.errors import LedgerUnavailable
from service.ledger import keys
from service.ledger.commit import Commit
from service.ledger.connection import parse_sentinels
from service.ledger.store import RedisLedger
from tests.deploy.valkeys import NAME, SentinelSetup, run_sentinels
from tests.service.ledger.waiting import until
from tests.service.ledger.writing import fill

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
