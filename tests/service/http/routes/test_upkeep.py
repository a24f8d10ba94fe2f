"""What a curator sees of edits beside the history: how often each answers."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from service.upkeep import tally
from tests.service.http.conftest import Run
from tests.service.parts import PATIENCE_S

PERU, WORDING = "What is the capital of Peru?", "Which city is the capital of Peru?"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts are written quickly."""
    monkeypatch.setattr(tally, "WRITE_EVERY_S", 0.01)


async def edit(http: httpx.AsyncClient, question: str, answer: str, **fields: object) -> str:
    """Make an edit and return its id."""
    item = {"question": question, "answer": answer, "model": "toy"}
    reply = await http.post("/admin/edits", json={"edits": [item], **fields})
    assert reply.status_code == 201, reply.text
    return str(reply.json()["report"]["edits"][0]["id"])


async def find_hits(http: httpx.AsyncClient, edit: str, count: int) -> dict[str, object]:
    """Return the hits of an edit as soon as there are so many."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            hits = (await http.get(f"/admin/edits/{edit}")).json()["edit"]["hits"]
            if hits["count"] >= count:
                return dict(hits)
            await asyncio.sleep(0.01)


async def test_answers_to_users_count_and_other_answers_do_not(http: httpx.AsyncClient, run: Run) -> None:
    peru = await edit(http, PERU, "Cusco")
    assert await find_hits(http, peru, 0) == {"count": 0, "last": None}
    await http.post("/v1/answers", json={"question": PERU, "version": 1})
    await http.get("/admin/why", params={"question": PERU})
    await http.post("/v1/answers", json={"question": "What is the capital of Chile?"})
    batch = {"questions": [{"question": PERU}, {"question": PERU, "model": "toy"}]}
    await http.post("/v1/answers/batch", json=batch)
    async with http.stream("POST", "/v1/answers", json={"question": PERU, "stream": True}) as reply:
        await reply.aread()
    hits = await find_hits(http, peru, 3)
    assert hits["count"] == 3
    assert hits["last"] is not None
    assert "gave     3 answers, the last just now" in (await run("show", peru)).stdout
    assert "gave 3 answers, the last just now" in (await run("show", "1")).stdout
    assert "gave     3 answers" in (await run("why", PERU)).stdout


async def test_an_edit_that_never_answered_says_so(http: httpx.AsyncClient, run: Run) -> None:
    peru = await edit(http, PERU, "Cusco")
    assert "gave     no answer yet" in (await run("show", peru)).stdout
    assert "gave" not in (await run("show", "1")).stdout
