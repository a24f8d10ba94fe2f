"""Any sequence of what is done to a ledger: commits, rivals, repetitions, manifests, a
server that is killed.

Beside it stands a list of commits and of what the memories held after each. The ledger never knows less, never more.
"""

import asyncio
import tempfile
from collections.abc import Coroutine
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar

import pytest
import redis
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from models.blocks import Block, Image
from service.errors import NotFound, NothingToDo, StaleVersion
from service.ledger import snapshots
from service.ledger.commit import Commit
from service.ledger.embedded.server import EmbeddedValkey
from service.ledger.store import RedisLedger
from tests.service.ledger.writing import AUTHOR, BASES, Writer, kill, pid_of

EXAMPLES, STEPS = 40, 30
NUMBERS = st.integers(0, 30)
KEYS = st.sampled_from([None, "k1", "k2"])

Result = TypeVar("Result")


class Ledger(RuleBasedStateMachine):
    """The writer's side. writer: the model. version_by_key: version of the first commit under each Idempotency-Key."""

    server: EmbeddedValkey

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.writer, self.version_by_key = Writer(), dict[str, int]()
        self.rivals = 0
        with redis.Redis.from_url(self.server.url) as client:
            client.flushall()
        self.ledger = RedisLedger.connect(self.server.url)

    def run(self, doing: Coroutine[Any, Any, Result]) -> Result:
        return self.runner.run(doing)

    def teardown(self) -> None:
        """Check everything at the end, whatever the steps were."""
        try:
            for number in range(len(self.version_by_key)):
                self.a_key_is_used_again(number)
            self.it_is_read(0, self.version + 1)
            self.a_replica_starts(self.version)
        finally:
            self.run(self.ledger.aclose())
            self.runner.close()

    @property
    def version(self) -> int:
        return len(self.writer.commits)

    def append(self, commit_and_blocks: tuple[Commit, list[Block]], key: str | None = None) -> None:
        commit, blocks = commit_and_blocks
        assert self.run(self.ledger.append(commit, blocks, key)) == commit.version
        if key is not None:
            self.version_by_key[key] = commit.version

    @initialize(keys=st.lists(KEYS, min_size=1, max_size=8))
    def begin(self, keys: list[str | None]) -> None:
        for key in keys:
            self.edit(1, key)

    @rule(count=st.integers(1, 3), key=KEYS)
    def edit(self, count: int, key: str | None) -> None:
        self.append(self.writer.edit(count), None if key in self.version_by_key else key)

    @rule(number=NUMBERS, back=st.booleans())
    def take_back(self, number: int, back: bool) -> None:
        try:
            commit_and_blocks = (
                self.writer.rollback(number % (self.version + 1))
                if back
                else self.writer.revert(number % self.version + 1)
            )
        except NothingToDo:
            return
        self.append(commit_and_blocks)

    @rule(behind=st.integers(1, 3))
    def a_rival_is_late(self, behind: int) -> None:
        n_commits = max(0, self.version - behind)
        self.rivals += 1
        rival = Writer(
            self.writer.commits[:n_commits], self.writer.history[: n_commits + 1], f"r{self.rivals}"
        )
        with pytest.raises(StaleVersion) as stale:
            self.run(self.ledger.append(*rival.edit()))
        assert stale.value.extras == {"current": self.version, "expected": n_commits}

    @rule()
    def the_last_commit_is_sent_again(self) -> None:
        assert self.run(self.ledger.append(self.writer.commits[-1])) == self.version

    @precondition(lambda self: self.version_by_key)
    @rule(number=NUMBERS)
    def a_key_is_used_again(self, number: int) -> None:
        key = sorted(self.version_by_key)[number % len(self.version_by_key)]
        assert self.run(self.ledger.find_version(AUTHOR, key)) == self.version_by_key[key]
        assert self.run(self.ledger.append(*self._other(), key)) == self.version_by_key[key]

    def _other(self) -> tuple[Commit, list[Block]]:
        """Return a commit that could be the next, and must not be."""
        self.rivals += 1
        return Writer(list(self.writer.commits), list(self.writer.history), f"o{self.rivals}").edit()

    @rule(number=NUMBERS)
    def a_manifest_is_kept(self, number: int) -> None:
        at = number % (self.version + 1)
        self.run(self.ledger.put_manifest(at, self.writer.history[at]))

    @rule()
    def the_server_is_killed(self) -> None:
        self.run(self.ledger.aclose())
        kill(pid_of(self.server))
        self.server.revive()
        self.ledger = RedisLedger.connect(self.server.url)

    @rule(after=NUMBERS, limit=st.integers(1, 30))
    def it_is_read(self, after: int, limit: int) -> None:
        after %= self.version + 1
        assert self.run(self.ledger.read(after, limit)) == self.writer.commits[after:][:limit]
        assert self.run(self.ledger.end()) == (self.version, self.writer.commits[-1].digest)
        with pytest.raises(NotFound):
            self.run(self.ledger.get(self.version + 1))

    @rule(number=NUMBERS)
    def a_replica_starts(self, number: int) -> None:
        at = number % (self.version + 1)
        assert _bits(self.run(snapshots.load(self.ledger, at, BASES))) == _bits(self.writer.history[at])


def _bits(images: dict[str, Image]) -> dict[str, list[tuple[str, int, bytes]]]:
    return {
        memory: [(b.key, b.order, b.encoded) for b in image.ordered_blocks]
        for memory, image in images.items()
    }


@pytest.mark.timeout(7_200)
def test_no_sequence_of_steps_makes_the_ledger_forget_or_invent(times: int) -> None:
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        server = stack.enter_context(EmbeddedValkey(Path(folder) / "valkey"))
        machine = type("Machine", (Ledger,), {"server": server})
        run_state_machine_as_test(
            machine,
            settings=settings(
                max_examples=EXAMPLES * times,
                stateful_step_count=STEPS,
                derandomize=times == 1,
                database=None,
            ),
        )
