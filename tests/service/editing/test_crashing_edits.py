"""An edit at which an editor died is refused by the next one and leaves nothing, unless it was made before."""

from __future__ import annotations

from typing import Any

import redis
from errata.wire import EditRequest

from service.editing.editor import Editor
from service.editing.operations import Edit
from service.ledger import keys
from tests.service.editing.requests import NO_WAIT, PERU, change, checksum, head, item
from tests.service.parts import body_of, sample

ID = "a1b2"


async def send_again(editor: Editor, **options: Any) -> dict[str, Any]:
    """Send an edit as the ingress does after its editor died."""
    request = {"edits": [item(PERU, "Cusco")], **NO_WAIT, **options}
    return body_of(await editor.call(Edit(EditRequest.model_validate(request), "ana", "k1"), suspect=ID))


async def test_it_is_refused_and_nothing_was_changed(editor: Editor, raw: redis.Redis) -> None:
    before = await checksum(editor)
    for options in ({}, {"dry_run": True}, {"measure": False, "dry_run": True}):
        raw.hset(keys.SUSPECTS, ID, "an editor that died")
        refusal = await send_again(editor, **options)
        assert (refusal["status"], refusal["code"], refusal["crash_id"]) == (500, "crashed", ID)
        assert "nothing was changed" in refusal["detail"]
    assert (await head(editor), await checksum(editor)) == (0, before)
    assert sample("errata_edits_total", kind="edit", outcome="crashed")


async def test_an_edit_that_only_was_beside_it_is_made(editor: Editor, raw: redis.Redis) -> None:
    raw.hset(keys.SUSPECTS, "another", "an editor that died")
    assert (await send_again(editor))["status"] == 201
    assert raw.hkeys(keys.SUSPECTS) == [b"another"]


async def test_one_that_was_made_before_the_death_gets_its_receipt(editor: Editor, raw: redis.Redis) -> None:
    await change(editor, PERU, "Cusco", key="k1")
    raw.hset(keys.SUSPECTS, ID, "an editor that died")
    receipt = await send_again(editor)
    assert (receipt["status"], receipt["version"], await head(editor)) == (201, 1, 1)
