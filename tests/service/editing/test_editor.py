"""An editor commits what was asked for, says what it did, and takes it back without a trace."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from errata.wire import EditReceipt

from service.editing.editor import Editor
from service.ledger.embedded import EmbeddedValkey
from service.ledger.store import RedisLedger
from tests.service.parts import edit, said, settings, started
from tests.service.toy import load_toy

PERU = "What is the capital of Peru?"


@pytest.fixture
async def editor(valkey: EmbeddedValkey, ledger: RedisLedger, tmp_path: Path) -> AsyncIterator[Editor]:
    async with started(Editor, settings(valkey.url, tmp_path)) as editor:
        yield editor


async def test_an_edit_becomes_a_commit_with_a_report_of_what_it_did(editor: Editor) -> None:
    receipt = await edit(editor, PERU, "Cusco", message="try")
    EditReceipt.model_validate(receipt, strict=False)
    assert (receipt["status"], receipt["version"], receipt["kind"]) == (201, 1, "edit")
    [report] = receipt["report"]["edits"]
    assert (report["before"], report["after"], report["holds"]) == ("Lima", "Cusco", True)


async def test_a_revert_leaves_the_memory_as_if_the_edit_had_never_been_made(editor: Editor) -> None:
    await edit(editor, PERU, "Cusco")
    back = said(await editor.revert({"version": 1}, "ana", None))
    memory = said(await editor.memory())
    assert (back["status"], back["version"]) == (201, 2)
    assert [(e["before"], e["after"]) for e in back["report"]["edits"]] == [("Cusco", "Lima")]
    assert memory["checksums"] == {"toy/table": load_toy().base.checksum}
