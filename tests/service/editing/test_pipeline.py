"""Commits are serialized and idempotent, and a stale draft is never committed."""

import asyncio
from typing import Any

import pytest

from models.blocks import Image
from service.editing.editor import Editor
from service.editing.operations import ListVersions
from service.errors import LedgerUnavailable
from service.ledger import snapshots
from service.ledger.commit import Commit
from service.ledger.store import RedisLedger
from tests.service.editing.conftest import StartEditor
from tests.service.editing.requests import (
    FRANCE,
    JAPAN,
    PERU,
    before_and_after,
    change,
    checksum,
    edits,
    head,
    item,
    revert,
)
from tests.service.parts import PATIENCE_S, run_ready
from tests.service.toy import FACTS, ToyMemory


async def test_another_writers_commits_are_built_upon(editor: Editor, start_editor: StartEditor) -> None:
    async with start_editor() as other:
        await change(other, PERU, "Cusco")
        receipt = await change(editor, FRANCE, "Lyon")
        assert (receipt["version"], await head(other)) == (2, 2)
        assert await checksum(other) == await checksum(editor)


async def test_writers_that_race_each_get_their_commit(editor: Editor, start_editor: StartEditor) -> None:
    async with start_editor() as other:
        requests = [
            change(writer, f"{writer is other} {n}?", "Yes") for n in range(8) for writer in (editor, other)
        ]
        receipts = await asyncio.gather(*requests)
    assert sorted(receipt["version"] for receipt in receipts) == list(range(1, 17))


async def test_a_draft_is_made_again_when_another_was_faster(
    editor: Editor, start_editor: StartEditor
) -> None:
    """Its report is of the version on which it was committed, not of the one with which it began."""
    async with start_editor() as other:
        await change(other, JAPAN, "Kyoto")
        measuring = editor.pipeline._evaluate

        async def overtake(*arguments: Any) -> Any:
            evaluation = await measuring(*arguments)
            if await head(other) == 1:
                await change(other, PERU, "Puno")
            return evaluation

        editor.pipeline._evaluate = overtake  # type: ignore[method-assign]
        receipt = await change(editor, PERU, "Cusco")
    assert (receipt["version"], before_and_after(receipt)) == (3, [("Puno", "Cusco")])


async def test_an_expected_version_that_is_overtaken_is_refused(
    editor: Editor, start_editor: StartEditor
) -> None:
    async with start_editor() as other:
        measuring = editor.pipeline._evaluate

        async def overtake(*arguments: Any) -> Any:
            evaluation = await measuring(*arguments)
            await change(other, PERU, "Puno")
            return evaluation

        editor.pipeline._evaluate = overtake  # type: ignore[method-assign]
        refused = await change(editor, PERU, "Cusco", expected_version=0)
    assert (refused["status"], refused["current"], refused["expected"]) == (409, 1, 0)
    assert await head(editor) == 1


async def test_the_expected_version_is_the_newest_one(editor: Editor) -> None:
    assert (await change(editor, PERU, "Cusco", expected_version=0))["status"] == 201
    assert (await change(editor, PERU, "Puno", expected_version=0))["status"] == 409
    assert (await change(editor, PERU, "Puno", expected_version=1))["version"] == 2


async def test_a_repeated_request_is_answered_with_its_first_result(editor: Editor) -> None:
    first = await change(editor, PERU, "Cusco", key="k1")
    await change(editor, FRANCE, "Lyon")
    again = await change(editor, PERU, "Cusco", key="k1")
    assert (again["status"], again["version"]) == (201, 1)
    assert again["report"]["edits"] == first["report"]["edits"]
    assert await head(editor) == 2


async def test_a_key_is_remembered_for_reverts_and_by_another_editor(
    editor: Editor, start_editor: StartEditor
) -> None:
    await change(editor, PERU, "Cusco", key="k1")
    await revert(editor, 1, key="k2")
    async with start_editor() as other:
        assert (await revert(other, 1, key="k2"))["version"] == 2
        assert (await change(other, PERU, "Cusco", key="k1"))["version"] == 1
        assert await head(other) == 2


async def test_a_key_of_another_request_is_refused(editor: Editor) -> None:
    await change(editor, PERU, "Cusco", key="k1")
    refused = await change(editor, PERU, "Puno", key="k1")
    assert (refused["status"], refused["code"], refused["version"]) == (422, "invalid_input", 1)
    assert (await revert(editor, 1, key="k1"))["status"] == 422


async def test_requests_with_one_key_at_the_same_time_make_one_commit(
    editor: Editor, start_editor: StartEditor
) -> None:
    async with start_editor() as other:
        writers = (editor, other, editor, other)
        receipts = await asyncio.gather(*(change(writer, PERU, "Cusco", key="k1") for writer in writers))
    assert [receipt["version"] for receipt in receipts] == [1, 1, 1, 1]
    assert await head(editor) == 1


async def test_a_dry_run_does_not_use_up_its_key(editor: Editor) -> None:
    await change(editor, PERU, "Cusco", key="k1", dry_run=True)
    assert (await change(editor, PERU, "Cusco", key="k1"))["version"] == 1


class LossyLedger:
    """The editor's ledger, whose replies to `append` get lost after the commit was made."""

    def __init__(self, ledger: RedisLedger, n_lost: int) -> None:
        self._append, self.n_lost = ledger.append, n_lost

    async def append(
        self, commit: Commit, blocks: Any = (), key: str | None = None, owner: str | None = None
    ) -> int:
        version = await self._append(commit, blocks, key, owner)
        if self.n_lost:
            self.n_lost -= 1
            raise LedgerUnavailable("the reply was lost")
        return version


@pytest.mark.parametrize("key", [None, "k1"])
async def test_a_lost_reply_is_retried_and_the_commit_made_once(editor: Editor, key: str | None) -> None:
    editor.ledger.append = LossyLedger(editor.ledger, 1).append  # type: ignore[method-assign]
    receipt = await change(editor, PERU, "Cusco", key=key)
    assert (receipt["status"], receipt["version"], await head(editor)) == (201, 1, 1)


async def test_a_commit_in_doubt_is_reported_so_and_read_afterwards(editor: Editor) -> None:
    editor.ledger.append = LossyLedger(editor.ledger, 2).append  # type: ignore[method-assign]
    in_doubt = await change(editor, PERU, "Cusco")
    assert (in_doubt["status"], in_doubt["code"]) == (503, "ledger_unavailable")
    assert "not known" in in_doubt["detail"]
    assert in_doubt["in_doubt"]
    assert await head(editor) == 1
    assert (await change(editor, PERU, "Cusco"))["code"] == "nothing_to_do"


async def test_manifests_are_stored_at_the_configured_interval(
    start_editor: StartEditor, ledger: RedisLedger
) -> None:
    bases = {"toy/table": ToyMemory(FACTS).base}
    async with start_editor(snapshot_every=3) as editor:
        for number in range(7):
            await change(editor, PERU, f"City {number}")
        await wait_for_manifest(ledger, 6)
        manifest = await ledger.nearest_manifest(7)
        assert manifest is not None
        assert manifest[0] == 6
        images: dict[str, Image] = await snapshots.advance(bases, await ledger.read(0, 6), ledger)
        assert manifest[1]["toy/table"].checksum == images["toy/table"].checksum


async def wait_for_manifest(ledger: RedisLedger, version: int) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while (await ledger.nearest_manifest(version) or (0,))[0] != version:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_a_manifest_that_could_not_be_stored_is_stored_after_the_next_commit(
    start_editor: StartEditor, ledger: RedisLedger
) -> None:
    async with start_editor(snapshot_every=2) as editor:
        keeping = editor.ledger.put_manifest

        async def away(version: int, images: Any) -> None:
            raise LedgerUnavailable("away for a moment")

        editor.ledger.put_manifest = away  # type: ignore[method-assign]
        await change(editor, PERU, "Cusco")
        await change(editor, PERU, "Puno")
        await asyncio.sleep(0)
        assert await ledger.nearest_manifest(2) is None
        editor.ledger.put_manifest = keeping  # type: ignore[method-assign]
        await change(editor, PERU, "Tacna")
        await wait_for_manifest(ledger, 3)


async def test_a_replica_can_load_what_the_editor_wrote(editor: Editor, ledger: RedisLedger) -> None:
    await edits(editor, item(PERU, "Cusco"), item(FRANCE, "Lyon"))
    await change(editor, PERU, "Puno", method="surgery", dry_run=True)
    await revert(editor, 1)
    await change(editor, JAPAN, "Kyoto", method="surgery")
    images = await snapshots.load(ledger, 3, {"toy/table": ToyMemory(FACTS).base})
    assert images["toy/table"].checksum == await checksum(editor)


async def test_a_key_used_by_another_editor_meanwhile_names_its_commit(
    editor: Editor, start_editor: StartEditor, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with start_editor() as other:
        await change(other, PERU, "Cusco", key="k1")
        await change(other, FRANCE, "Lyon")

        async def not_yet(author: str, key: str) -> None:
            return None

        monkeypatch.setattr(editor.ledger, "find_version", not_yet)
        receipt = await change(editor, PERU, "Cusco", "Peru's capital city?", key="k1")
        assert (receipt["status"], receipt["code"]) == (422, "invalid_input")
        assert receipt["version"] == 1
        assert await head(other) == 2


async def test_readers_share_one_reading_when_the_ledger_hangs(
    editor: Editor, monkeypatch: pytest.MonkeyPatch
) -> None:
    await change(editor, PERU, "Cusco")
    read = []

    async def hang(state: Any) -> Any:
        read.append(state.version)
        await run_ready()
        raise LedgerUnavailable("it does not answer")

    monkeypatch.setattr(editor.builder, "caught_up", hang)
    logs = await asyncio.gather(*(editor.call(ListVersions(5)) for _ in range(6)))
    assert [outcome.status for outcome in logs] == [200] * 6
    assert read == [1]
