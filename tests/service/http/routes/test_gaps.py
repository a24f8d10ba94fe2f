"""Questions that no system answers, as a curator reads them, over HTTP and by the command."""

import asyncio
from pathlib import Path

import httpx
import pytest
import redis
from fastapi import FastAPI

from service.access.api_keys import fingerprint
from service.config import Settings
from service.curation import buffered_counter
from service.curation.gaps import COUNTS
from service.ledger.embedded.server import EmbeddedValkey
from tests.service.http.conftest import KEY, Run
from tests.service.parts import PATIENCE_S, settings

HR, DEPOT, PERU = "Who runs HR at Tallwater?", "Where is the depot?", "What is the capital of Peru?"


@pytest.fixture
def config(valkey: EmbeddedValkey, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """The service keeps questions, and writes them quickly."""
    monkeypatch.setattr(buffered_counter, "WRITE_EVERY_S", 0.01)
    return settings(valkey.url, tmp_path, admin_key_sha256=fingerprint(KEY), replicas=1, gaps_days=1)


async def ask(http: httpx.AsyncClient, *questions: str, **fields: object) -> None:
    for question in questions:
        reply = await http.post("/v1/answers", json={"question": question, **fields})
        assert reply.status_code == 200, reply.text


async def list_gaps(http: httpx.AsyncClient, n_asked: int) -> list[dict[str, object]]:
    """Return the lines as soon as so many questions are counted."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            page = (await http.get("/admin/gaps")).json()
            if sum(gap["count"] for gap in page["gaps"]) >= n_asked:
                return list(page["gaps"])
            await asyncio.sleep(0.01)


async def test_streams_and_models_by_name_count_and_pinned_versions_do_not(http: httpx.AsyncClient) -> None:
    await ask(http, DEPOT, version=0)
    async with http.stream("POST", "/v1/answers", json={"question": HR, "stream": True}) as reply:
        await reply.aread()
    await ask(http, HR, model="toy", explain=True)
    assert [(gap["question"], gap["count"]) for gap in await list_gaps(http, 2)] == [(HR, 2)]


async def test_what_is_counted_is_written_when_the_service_ends(
    http: httpx.AsyncClient, app: FastAPI, raw: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(buffered_counter, "WRITE_EVERY_S", 3_600)
    await ask(http, HR)
    assert (await http.get("/admin/gaps")).json()["gaps"] == []
    for close in app.router.on_shutdown:
        await close()
    assert raw.zrange(COUNTS, 0, -1, withscores=True) == [(b"000000000001", 1.0)]


class TestServiceThatKeepsNoQuestions:
    @pytest.fixture
    def config(self, valkey: EmbeddedValkey, tmp_path: Path) -> Settings:
        return settings(valkey.url, tmp_path, admin_key_sha256=fingerprint(KEY), replicas=1)

    async def test_it_says_how_to_keep_them(self, http: httpx.AsyncClient, run: Run) -> None:
        await ask(http, HR)
        assert (await http.get("/admin/gaps")).json() == {
            "gaps": [],
            "total": 0,
            "days": 0.0,
            "facts": [],
            "things": [],
        }
        refused = await http.delete("/admin/gaps/1")
        assert (refused.status_code, refused.json()["code"]) == (404, "not_found")
        assert "start it with --gaps-days 7" in refused.json()["detail"]
        assert "Start it with --gaps-days 7" in (await run("gaps")).stdout
