"""An acknowledged commit survives `kill -9` of the server and of its owner at any moment."""

import asyncio
import random
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from service.errors import LedgerUnavailable
from service.ledger import snapshots
from service.ledger.commit import Commit
from service.ledger.embedded.server import EmbeddedValkey
from service.ledger.store import RedisLedger
from tests.service.ledger.writing import BASES, Writer, kill, pid_of

OWNER = """
import asyncio, pathlib, sys
from service.ledger.embedded.server import EmbeddedValkey
from service.ledger.store import RedisLedger
from tests.service.ledger.writing import Writer

async def write(url):
    ledger, writer = RedisLedger.connect(url), Writer()
    while True:
        commit, blocks = writer.edit(3)
        await ledger.append(commit, blocks)
        print(commit.version, commit.digest, flush=True)

asyncio.run(write(EmbeddedValkey(pathlib.Path(sys.argv[1])).start().url))
"""


@dataclass
class Session:
    """A writer that goes on until the server is gone, and remembers acknowledged commits."""

    writer: Writer = field(default_factory=Writer)
    acks: list[Commit] = field(default_factory=list)
    progress: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(0))

    async def write(self, ledger: RedisLedger) -> None:
        while True:
            commit, blocks = self.writer.edit(3)
            await ledger.append(commit, blocks)
            self.acks.append(commit)
            self.progress.release()

    def forget_unacknowledged(self, head: int) -> None:
        """Continue from the ledger's state, with or without the commit that was under way."""
        del self.writer.commits[head:], self.writer.history[head + 1 :]
        self.acks = list(self.writer.commits)
        self.progress = asyncio.Semaphore(0)


async def check_whole(ledger: RedisLedger, session: Session) -> None:
    commits = await ledger.read(0)
    expected = session.acks
    assert commits[: len(expected)] == expected
    assert len(commits) <= len(expected) + 1, "only the commit under way may be there beside"
    await ledger.check()
    images = await snapshots.load(ledger, len(commits), BASES)
    for memory, image in session.writer.history[len(commits)].items():
        assert images[memory].checksum == image.checksum


async def test_a_server_killed_at_any_moment_loses_no_acknowledged_commit(own_valkey: EmbeddedValkey) -> None:
    ledger, session, rng = RedisLedger.connect(own_valkey.url), Session(), random.Random(7)
    for _ in range(8):
        writing = asyncio.create_task(session.write(ledger))
        for _ in range(rng.randint(1, 6)):
            await session.progress.acquire()
        await asyncio.sleep(rng.random() * 0.02)
        kill(pid_of(own_valkey))
        with pytest.raises(LedgerUnavailable):
            await writing
        own_valkey.revive()
        await check_whole(ledger, session)
        session.forget_unacknowledged(await ledger.head())
    assert len(session.acks) >= 8
    await ledger.aclose()


async def read_log(folder: Path) -> list[list[str]]:
    with EmbeddedValkey(folder) as server:
        ledger = RedisLedger.connect(server.url)
        commits = [[str(commit.version), commit.digest] for commit in await ledger.read(0)]
        await ledger.aclose()
    return commits


def test_server_and_owner_killed_together_lose_no_acknowledged_commit(tmp_path: Path) -> None:
    command = [sys.executable, "-c", OWNER, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        lines = [owner.stdout.readline() for _ in range(15)]
        kill(int((tmp_path / "valkey.pid").read_text()))
        kill(owner.pid)
        lines += owner.stdout.read().splitlines()
    acks = [line.split() for line in lines if line.count("sha256:") == 1 and len(line.split()) == 2]
    assert len(acks) >= 15
    assert asyncio.run(read_log(tmp_path))[: len(acks)] == acks
