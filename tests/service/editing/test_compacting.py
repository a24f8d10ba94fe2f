"""Old versions are dropped and nothing is lost: all that a curator does with them goes on, to the same bits."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import redis
from errata.wire import CompactionRequest

from service.editing import compacting
from service.editing.compacting import oldest_kept
from service.editing.editor import Editor
from service.ledger import images, keys
from service.ledger.commit import Commit
from service.ledger.kept import Kept, Retention
from service.ledger.store import RedisLedger
from tests.service.editing.conftest import Starting
from tests.service.editing.requests import FRANCE, PERU, change, checksum, edits, item, revert, rollback
from tests.service.parts import said, until
from tests.service.toy import load_toy

DAY_S = 86_400.0


def commits(*days: float) -> list[Commit]:
    """Made so many days ago."""
    return [Commit(version, "edit", "ana", (100 - ago) * DAY_S, "") for version, ago in enumerate(days, 1)]


@pytest.mark.parametrize(
    ("versions", "days", "oldest"),
    [
        (1, None, 5),
        (3, None, 3),
        (99, None, 1),
        (None, 0, 5),
        (None, 1.5, 4),
        (None, 3, 3),
        (None, 9.5, 1),
        (None, 500, 1),
        (1, 3, 3),
        (4, 1.5, 2),
    ],
)
def test_what_was_the_newest_within_the_time_stays(
    versions: int | None, days: float | None, oldest: int
) -> None:
    """Version 4 was made two days ago, so it is what was answered from one and a half days ago."""
    asked = CompactionRequest(versions=versions, days=days)
    assert oldest_kept(commits(9, 5, 4, 2, 1), asked, 100 * DAY_S) == oldest


def test_a_clock_that_was_put_back_keeps_more_and_an_empty_ledger_all() -> None:
    assert oldest_kept(commits(9, 1, 4, 2, 1), CompactionRequest(days=3), 100 * DAY_S) == 1
    assert oldest_kept([], CompactionRequest(versions=1), 0.0) == 1


@pytest.fixture
async def moved(editor: Editor) -> Editor:
    """Six commits, each of which makes the one row of a question anew; another edit beside them."""
    await change(editor, FRANCE, "Lyon")
    for number in range(6):
        await change(editor, PERU, f"City {number}", method="surgery")
    return editor


async def compact(editor: Editor, **asked: Any) -> dict[str, Any]:
    return said(await editor.compact(asked))


def stored(raw: redis.Redis) -> set[bytes]:
    return set(raw.scan_iter(keys.block("*")))


async def test_it_tells_what_would_go_and_then_drops_that(moved: Editor, raw: redis.Redis) -> None:
    before = stored(raw)
    tried = await compact(moved, versions=2, dry_run=True)
    assert stored(raw) == before
    assert (tried["oldest"], tried["newest"], tried["versions"], tried["dry_run"]) == (6, 7, 5, True)
    done = await compact(moved, versions=2)
    assert {**tried, "dry_run": False} == done
    assert len(before) - len(stored(raw)) == done["rows"] == 4
    assert done["bytes"] > 0
    assert said(await moved.retained())["oldest"] == 6
    assert (await compact(moved, versions=5))["rows"] == 0, "what is gone is gone"
    assert said(await moved.retained())["oldest"] == 6


async def test_where_no_row_would_go_no_version_does(editor: Editor) -> None:
    for number in range(3):
        await change(editor, PERU, f"City {number}")
    done = await compact(editor, versions=1)
    assert (done["oldest"], done["versions"], done["rows"]) == (1, 0, 0), (
        "each edit has its own row, which stays"
    )


async def test_everything_but_a_question_still_knows_a_dropped_version(
    moved: Editor, another: Starting
) -> None:
    before = [said(await moved.diff(1, 4)), said(await moved.show(3))]
    await compact(moved, versions=1)
    async with another() as fresh:  # which has nothing at hand
        assert [said(await fresh.diff(1, 4)), said(await fresh.show(3))] == before
        assert (await revert(fresh, 7))["status"] == 201
        assert (await revert(fresh, 2))["status"] == 201
        back = await rollback(fresh, 4)
        assert (back["status"], back["version"]) == (201, 10)
        recorded = said(await fresh.show(4))["checksums"]["toy/table"]
        assert await checksum(fresh) == recorded


async def test_versions_with_a_tag_stay_until_it_is_taken_away(moved: Editor, raw: redis.Redis) -> None:
    await moved.tag("then", 3, "ana")
    done = await compact(moved, versions=1)
    assert (done["older"], done["rows"]) == ([3], 4)
    await moved.untag("then")
    done = await compact(moved, versions=1)
    assert (done["older"], done["rows"], done["versions"]) == ([], 1, 1)


async def test_a_tag_brings_a_version_back(moved: Editor, raw: redis.Redis) -> None:
    before = stored(raw)
    await compact(moved, versions=1)
    assert said(await moved.tag("then", 3, "ana"))["version"] == 3
    assert said(await moved.retained())["older"] == [3]
    assert len(before - stored(raw)) == 4, "one of the five is there again"
    assert (await compact(moved, versions=1))["rows"] == 0


async def test_a_version_that_cannot_be_folded_here_is_not_brought_back(
    moved: Editor, another: Starting
) -> None:
    await compact(moved, versions=1)
    async with another(systems={"atlas": "tests.service.toy_graph:load_atlas"}) as other:
        refused = said(await other.tag("then", 3, "ana"))
        assert (refused["status"], refused["code"]) == (410, "version_dropped")
        assert "toy/table is not served here" in refused["detail"]
        assert said(await other.tags())["tags"] == []


def between(
    monkeypatch: pytest.MonkeyPatch, method: str, time: int, act: Callable[[], Awaitable[Any]]
) -> None:
    """What another does before this step of a compaction, when it is taken for the `time`-th time."""
    step, left = getattr(Retention, method), time

    async def overtaken(self: Retention, *args: Any) -> Any:
        nonlocal left
        left -= 1
        if left == 0:
            await act()
        return await step(self, *args)

    monkeypatch.setattr(Retention, method, overtaken)


async def test_what_another_editor_commits_meanwhile_is_kept(
    moved: Editor, another: Starting, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It makes the rows of version 3 the newest ones between the count and the drop."""
    async with another() as other:
        between(monkeypatch, "drop", 1, lambda: rollback(other, 3))
        done = await compact(moved, versions=1)
        assert (done["newest"], done["oldest"], done["rows"], done["versions"]) == (8, 8, 5, 7)
        async with another() as fresh:
            assert await checksum(fresh) == said(await fresh.show(3))["checksums"]["toy/table"]


async def test_where_the_commit_of_another_needs_all_that_would_go_no_version_goes(
    editor: Editor, another: Starting, monkeypatch: pytest.MonkeyPatch
) -> None:
    for answer in ("Cusco", "Puno"):
        await change(editor, PERU, answer, method="surgery")
    async with another() as other:
        between(monkeypatch, "drop", 1, lambda: rollback(other, 1))
        done = await compact(editor, versions=2)
        assert (done["oldest"], done["rows"], done["versions"]) == (1, 0, 0)
        assert said(await editor.retained())["oldest"] == 1


@pytest.mark.parametrize(("step", "time"), [("change", 1), ("drop", 1)])
async def test_a_version_that_another_editor_tags_meanwhile_is_kept(
    moved: Editor,
    ledger: RedisLedger,
    another: Starting,
    monkeypatch: pytest.MonkeyPatch,
    step: str,
    time: int,
) -> None:
    async with another() as other:
        between(monkeypatch, step, time, lambda: other.tag("then", 3, "ben"))
        assert (await compact(moved, versions=1))["older"] == [3]
    await loads(ledger, 3, 7)


async def test_a_version_that_comes_back_while_another_editor_drops_stays(
    moved: Editor, ledger: RedisLedger, another: Starting, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its rows are there still when it is tagged, and about to be dropped."""
    async with another() as other:
        between(monkeypatch, "drop", 1, lambda: other.tag("then", 3, "ben"))
        await compact(moved, versions=1)
    assert said(await moved.retained())["older"] == [3]
    await loads(ledger, 3, 7)


async def test_two_editors_that_drop_at_once_keep_what_both_keep(
    moved: Editor, ledger: RedisLedger, another: Starting, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with another() as other:
        between(monkeypatch, "change", 1, lambda: compact(other, versions=1))
        assert (await compact(moved, versions=4))["oldest"] == 7
    await loads(ledger, 7)


async def loads(ledger: RedisLedger, *versions: int) -> None:
    kept = await ledger.kept()
    for version in versions:
        kept.check(version)
        await images.load(ledger, version, {"toy/table": load_toy().base})


async def test_nothing_is_dropped_while_a_restore_is_not_at_its_end(
    moved: Editor, ledger: RedisLedger
) -> None:
    """Nor is anything committed by others; that it goes on when it is resumed is tested with backups."""
    retention, restoring = Retention(ledger.connection), Kept().with_restored(Kept(), 0, 9)
    assert await retention.change(Kept(), restoring)
    for doing in (compact(moved, versions=1), change(moved, PERU, "Village", method="surgery")):
        refused = await doing
        assert (refused["status"], refused["code"]) == (503, "not_ready")
        assert "a restore has made 7 of 9 versions" in refused["detail"]
    assert await retention.change(restoring, restoring.changed(1, (), until=7))
    assert (await compact(moved, versions=1))["oldest"] == 7


async def test_edits_go_on_meanwhile(moved: Editor) -> None:
    done = await asyncio.gather(
        *(change(moved, PERU, f"Town {n}", method="surgery") for n in range(4)),
        *(compact(moved, versions=1) for _ in range(4)),
        edits(moved, item(FRANCE, "Nice")),
    )
    assert [one["status"] for one in done] == [201] * 4 + [200] * 4 + [201]
    assert not said(await moved.check(True))["broken"]


async def test_a_setting_drops_them_every_so_often(
    moved: Editor, another: Starting, monkeypatch: pytest.MonkeyPatch, raw: redis.Redis
) -> None:
    """A defect in one of them ends it no more than a ledger that is away."""
    monkeypatch.setattr(compacting, "EVERY_S", 0.02)
    between(monkeypatch, "sizes", 1, failing(ZeroDivisionError("a defect")))
    before = stored(raw)
    async with another(keep_versions=2) as editor:
        await until(lambda: len(before) - len(stored(raw)) == 4)
        await change(editor, PERU, "Tacna", method="surgery")
        await until(lambda: len(before - stored(raw)) == 5)


def failing(error: Exception) -> Callable[[], Awaitable[None]]:
    async def fail() -> None:
        raise error

    return fail
