"""The check reads every row of the imports in force, so that damage is found before a question meets it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import redis

from service.editing.deployment import Editor
from tests.service.editing.conftest import StartEditor
from tests.service.graph.requests import import_file, rows, tsv
from tests.service.parts import body_of
from tests.service.toy_graph import TOYS

HUB = [("Oz", "motto", f"word {number}") for number in range(2_000)]  # more than one piece holds
FILE = tsv(*HUB, ("Ev", "capital", "Evna"))


@pytest.fixture
async def editor(start_editor: StartEditor) -> AsyncIterator[Editor]:
    async with start_editor(systems=TOYS) as editor:
        yield editor


async def test_rows_that_are_as_they_were_written_are_no_damage(editor: Editor) -> None:
    await import_file(editor, FILE)
    assert body_of(await editor.check(True))["damaged_imports"] == []


async def test_every_row_that_is_altered_or_gone_is_found(editor: Editor, raw: redis.Redis) -> None:
    await import_file(editor, FILE)
    for key in sorted(name for name in rows(raw) if b":graph:" in name):
        sound = raw.get(key)
        assert isinstance(sound, bytes)
        for data in (b"", sound[:-1] + bytes([sound[-1] ^ 1])):
            raw.set(key, data)
            assert len(body_of(await editor.check(True))["damaged_imports"]) == 1, key
        raw.set(key, sound)
    assert body_of(await editor.check(True))["damaged_imports"] == []
