"""The console while the store is away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from html import unescape

import httpx
import pytest
from fastapi import FastAPI

from service.ledger.embedded.server import EmbeddedValkey
from tests.service.http.conftest import KEY, client_of
from tests.service.http.test_console import EDIT, OPTIONS, correct, hidden_fields, send

__all__ = ["OPTIONS"]  # the settings of this module's service

AWAY = "The store of this service does not answer."
READABLE = {
    "ask?question=who%20runs%20the%20mill%3F": "<strong>Ada</strong>",
    "why?question=who%20runs%20the%20mill%3F": "By a correction of",
    "facts?q=peru": "Republic of Peru",
    "facts/Q419": "Lima",
    "history": "who runs the mill?",
    "versions/1": "Take back",
    "diff?older=0&newer=1": "<ins>Ada</ins>",
    "correct": "Try it",
    "files": "Try it",
    "files/edits.csv": "who runs the mill?",
}
UNREADABLE = ("worklist", "proposals", "proposals/1")
FORMS = {
    "correct": {**EDIT, "do": "try", "message": "Bo left", "counterexamples": "who owns the mill?"},
    "files": {"name": "a.csv", "text": "question,answer\nwho?,me", "message": "hers", "do": "try"},
    "undo": {"version": "1", "message": "too early", "do": "commit", "once": "0123"},
    "proposals/1": {"do": "reject", "reason": "it is wrong"},
    "worklist/drop": {"lines": "1 2"},
}


@pytest.fixture
def valkey(own_valkey: EmbeddedValkey) -> EmbeddedValkey:
    """Return a server that the test may stop, for the whole service of the test."""
    return own_valkey


@pytest.fixture
async def browser(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    """A browser that has signed in with the admin's key."""
    async with client_of(app) as client:
        client.cookies.update({"errata_key": KEY, "errata_form": "token"})
        yield client


async def test_pages_go_on_without_the_store_say_so_and_keep_what_is_written(
    browser: httpx.AsyncClient, valkey: EmbeddedValkey
) -> None:
    await correct(browser)
    assert (await send(browser, "/console/correct", **EDIT | {"answer": "Cy"}, do="propose")).is_redirect
    valkey.stop()
    for path in UNREADABLE:
        page = await browser.get(f"/console/{path}")
        assert (page.status_code, "This cannot be shown now" in page.text) == (503, True), path
        assert AWAY in page.text
    refusals = {}
    for path, fields in FORMS.items():
        page = refusals[path] = await send(browser, f"/console/{path}", **fields)
        assert (page.status_code, AWAY in page.text) == (503, True), path
        assert "What you wrote is still here" in page.text
        assert all(value in unescape(page.text) for value in fields.values()), path
        assert "Traceback" not in page.text
    for _ in range(200):  # the state is looked up now and then
        if AWAY in (await browser.get("/console/ask")).text:
            break
        await asyncio.sleep(0.1)
    for path, text in READABLE.items():
        page = await browser.get(f"/console/{path}")
        assert (page.status_code, text in unescape(page.text)) == (200, True), (path, page.text)
        assert AWAY in page.text or path.endswith(".csv")
    valkey.start()
    again = hidden_fields(refusals["undo"], "/console/undo")
    assert again == FORMS["undo"] | {"token": "token"}
    for _ in range(2):  # sent twice, it is done once
        page = await browser.post("/console/undo", data=again)
        assert page.headers["location"] == "/console/versions/2?fresh=1"
