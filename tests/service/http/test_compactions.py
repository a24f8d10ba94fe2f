"""Which versions can be asked: shown, narrowed, refused by name, and brought back by a tag."""

from __future__ import annotations

import json
import re

import httpx
import pytest
from fastapi import FastAPI

from service.config import Settings
from service.replicas.replica import Replica
from tests.service.http.conftest import Run
from tests.service.http.test_tags import PERU, done
from tests.service.parts import started


@pytest.fixture
def chosen(chosen: Settings) -> Settings:
    """No old version is at hand, so each that is asked has to be loaded."""
    return chosen.model_copy(update={"history": 1})


@pytest.fixture
async def moved(run: Run) -> Run:
    """City 1 at version 1 to City 5 at version 5, each in a row of its own."""
    for number in range(1, 6):
        await done(run, "edit", PERU, f"City {number}", "--model", "toy", "--method", "surgery")
    return run


async def at(run: Run, version: int) -> str:
    result = await run("ask", PERU, "--model", "toy", "--at", str(version))
    return re.sub(r"[\s│]+", " ", result.stdout or result.output).strip()


async def test_old_versions_go_and_a_tag_keeps_and_brings_back(moved: Run) -> None:
    assert await done(moved, "compact") == "Every version can be asked: 0 to 5.\n"
    await done(moved, "tag", "release", "2")
    tried = await done(moved, "compact", "--versions", "2", "--dry-run")
    assert re.match(
        r"2 blocks of rows \([\d.]+ (bytes|kB)\) would be dropped, and 2 versions with them\.\n", tried
    )
    assert await at(moved, 1) == "City 1"
    dropped = await done(moved, "compact", "--versions", "2")
    assert dropped == tried.replace("would be ", "")
    assert dropped.endswith("Versions that can be asked: 0, 2 and 4 to 5.\n")
    assert [await at(moved, version) for version in (0, 2, 4, 5)] == ["Lima", "City 2", "City 4", "City 5"]
    for gone in (1, 3):
        said = await at(moved, gone)
        assert f"the rows of version {gone} were dropped; there are 0, 2 and all from 4 on" in said
        assert f"errata tag NAME {gone}" in said
        assert "hint: `errata compact` shows the versions that can be asked" in said
    await done(moved, "tag", "again", "3")
    assert await at(moved, 3) == "City 3"
    assert "Versions that can be asked: 0, 2, 3 and 4 to 5." in await done(moved, "compact")
    assert "There is nothing to drop." in await done(moved, "compact", "--versions", "2")


async def test_every_way_to_ask_says_that_a_version_is_gone(moved: Run, http: httpx.AsyncClient) -> None:
    await done(moved, "compact", "--versions", "2")
    pinned = {"question": PERU, "model": "toy", "version": 2}
    for told in (
        await http.post("/v1/answers", json=pinned),
        await http.post("/v1/answers", json={**pinned, "stream": True}),
        await http.get("/v1/answers", params=pinned),
    ):
        assert (told.status_code, told.json()["code"], told.json()["oldest"]) == (410, "version_dropped", 4)
    (one,) = (await http.post("/v1/answers/batch", json={"questions": [pinned]})).json()["results"]
    assert (one["answer"], one["problem"]["code"]) == (None, "version_dropped")
    chat = {"model": "toy", "messages": [{"role": "user", "content": PERU}], "errata": {"version": 2}}
    told = await http.post("/v1/chat/completions", json=chat)
    assert (told.status_code, told.json()["error"]["code"]) == (410, "version_dropped")
    result = await moved("ask", PERU, "--model", "toy", "--at", "2")
    assert result.exit_code == 1


async def test_what_stays_has_to_be_said(moved: Run) -> None:
    for words, said in (
        (("--dry-run",), "say what stays: --versions, --days or both"),
        (("--versions", "0"), "versions: Input should be greater than or equal to 1"),
        (("--days", "-1"), "days: Input should be greater than or equal to 0"),
    ):
        result = await moved("compact", *words)
        assert result.exit_code == 2, words
        assert said in re.sub(r"[\s│]+", " ", result.output)
    assert "Every version" in await done(moved, "compact")


async def test_it_takes_the_scope_admin_and_is_audited(moved: Run, app: FastAPI) -> None:
    _, key = await app.state.access.register.issue("anna", ("read", "edit"), None, "admin")
    assert "Every version" in await done(moved, "compact", key=key)
    refused = await moved("compact", "--versions", "1", key=key)
    assert (refused.exit_code, "admin" in refused.output) == (1, True)
    await done(moved, "compact", "--versions", "2", "--days", "0.5")
    noted = [json.loads(line) for line in (await done(moved, "audit", "--export")).splitlines()]
    mine = [one for one in noted if one["path"] == "/admin/compactions"]
    assert [(one["status"], one["summary"]) for one in mine] == [
        (200, "kept the newest 2 and 0.5 days"),
        (403, ""),
        (200, ""),
    ]


async def test_a_replica_that_starts_afterwards_answers_from_what_is_kept(
    moved: Run, chosen: Settings, app: FastAPI
) -> None:
    await done(moved, "compact", "--versions", "1")
    async with started(Replica, chosen, "toy") as late:
        said = await late.answer({"question": PERU, "model": "toy", "version": 5})
        assert json.loads(said.body)["answer"] == "City 5"
        refused = await late.answer({"question": PERU, "model": "toy", "version": 4})
        assert (refused.status, json.loads(refused.body)["oldest"]) == (410, 5)
