"""Data of an older Errata is migrated step by step, once; data of a newer one is left alone."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import redis

from service.errors import LedgerCorrupt, LedgerUnavailable
from service.ledger.connection import Connection
from service.ledger.embedded.server import EmbeddedValkey
from service.ledger.keys import LEGACY_RESTORE, LOG, RESTORE, SCHEMA
from service.ledger.startup import CURRENT, STEPS, Step, migrate
from tests.service.parts import PATIENCE_S


@pytest.fixture
async def connection(valkey: EmbeddedValkey, raw: redis.Redis) -> AsyncIterator[Connection]:
    connection = Connection(valkey.url, PATIENCE_S)
    yield connection
    await connection.aclose()


class Steps:
    """Steps that note that they ran. fails: the step that dies in its middle."""

    def __init__(self, fails: int | None = None) -> None:
        self.calls: list[int] = []
        self.fails = fails

    def all(self, count: int) -> dict[int, Step]:
        return {number: self._step(number) for number in range(1, count + 1)}

    def _step(self, number: int) -> Step:
        async def step(connection: Connection) -> None:
            if number == self.fails:
                raise ConnectionAbortedError("the process died")
            self.calls.append(number)

        return step


def test_there_is_a_step_from_every_layout_but_ours() -> None:
    assert STEPS.keys() == set(range(1, CURRENT))


async def test_data_without_a_number_is_of_the_first_layout_and_gets_ours(
    connection: Connection, raw: redis.Redis
) -> None:
    await migrate(connection)
    assert raw.get(SCHEMA) == str(CURRENT).encode()


async def test_an_empty_ledger_gets_ours_without_a_word_and_an_old_one_is_told_of(
    connection: Connection, raw: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    await migrate(connection)
    assert caplog.records == []
    raw.delete(SCHEMA)
    raw.xadd(LOG, {"commit": "{}"}, id="1-0")
    await migrate(connection)
    assert "was migrated to layout 2" in caplog.text


async def test_steps_are_done_in_order_and_once(connection: Connection, raw: redis.Redis) -> None:
    steps = Steps()
    await migrate(connection, steps.all(3), current=4)
    assert steps.calls == [1, 2, 3]
    await migrate(connection, steps.all(3), current=4)
    assert steps.calls == [1, 2, 3]
    assert raw.get(SCHEMA) == b"4"


async def test_a_start_that_dies_is_gone_on_with_where_it_was(
    connection: Connection, raw: redis.Redis
) -> None:
    with pytest.raises(ConnectionAbortedError):
        await migrate(connection, Steps(fails=2).all(3), current=4)
    assert raw.get(SCHEMA) == b"2"
    steps = Steps()
    await migrate(connection, steps.all(3), current=4)
    assert steps.calls == [2, 3]


async def test_data_of_a_newer_errata_is_left_alone(connection: Connection, raw: redis.Redis) -> None:
    raw.set(SCHEMA, 99)
    with pytest.raises(LedgerUnavailable, match=r"layout 99.*newer"):
        await migrate(connection)
    assert raw.get(SCHEMA) == b"99"


@pytest.mark.parametrize(
    ("note", "restore", "warns"),
    [
        (None, None, False),
        (b'{"oldest": 1, "also": [], "until": 9, "generation": 7}', b"9", False),
        (b'{"oldest": 5, "also": [2], "until": 0, "generation": 7}', None, True),
    ],
)
async def test_what_an_older_errata_noted_of_a_restore_and_of_dropped_versions_is_understood(
    connection: Connection,
    raw: redis.Redis,
    caplog: pytest.LogCaptureFixture,
    note: bytes | None,
    restore: bytes | None,
    warns: bool,
) -> None:
    raw.mset({SCHEMA: 2} if note is None else {SCHEMA: 2, LEGACY_RESTORE: note})
    await migrate(connection)
    assert raw.get(RESTORE) == restore
    assert ("before 5 were dropped" in caplog.text) == warns


async def test_a_note_of_an_older_errata_that_cannot_be_read_is_damage(
    connection: Connection, raw: redis.Redis
) -> None:
    raw.mset({SCHEMA: 2, LEGACY_RESTORE: b"garbage"})
    with pytest.raises(LedgerCorrupt, match="is not JSON, so it was altered"):
        await migrate(connection)
