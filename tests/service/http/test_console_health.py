"""The page of the service's health, and every page while the store is away."""

import asyncio
import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from html import unescape

import httpx
import pytest
from fastapi import FastAPI

from service.console import history
from service.errors import NotReady
from service.http.routes.status import Readiness
from service.ledger.embedded.server import EmbeddedValkey
from service.ledger.store import RedisLedger
from tests.service.editing.requests import FRANCE, PERU
from tests.service.http.conftest import ADMIN, KEY, client_of
from tests.service.http.test_console import ATTACK, EDIT, OPTIONS, QUESTION, correct, hidden_fields, send

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
    "health": "Not shown: the store does not answer.",
}
UNREADABLE = ("worklist", "proposals", "proposals/1")
FORMS = {  # what people write -> what they press
    "correct": EDIT | {"answer": "Di", "message": "Bo left", "counterexamples": "who owns the mill?"},
    "files": {"name": "a.csv", "text": "question,answer\nwho?,me", "message": "hers"},
    "undo": {"version": "1", "message": "too early", "do": "commit", "once": "0123"},
    "proposals/1": {"do": "reject", "reason": "it is wrong"},
    "worklist/drop": {"lines": "1 2"},
}
WITH_TRIAL = ("correct", "files")  # forms that are tried first


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
    forms = dict(FORMS)
    for path in WITH_TRIAL:
        trial = await send(browser, f"/console/{path}", **FORMS[path], do="try")
        forms[f"{path}?"] = hidden_fields(trial, f"/console/{path}") | FORMS[path] | {"do": "commit"}
    valkey.stop()
    for path in UNREADABLE:
        page = await browser.get(f"/console/{path}")
        assert (page.status_code, "This cannot be shown now" in page.text) == (503, True), path
        assert AWAY in page.text
    refusals = {}
    for path, fields in forms.items():
        page = refusals[path] = await send(browser, f"/console/{path}", **{"do": "try", **fields})
        assert (page.status_code, AWAY in page.text) == (503, True), path
        assert "What you wrote is still here" in page.text
        for value in FORMS[path.rstrip("?")].values():
            places = f'value="{value}"', f"{value}</textarea>"
            assert any(text in unescape(page.text) for text in places), (path, value)
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


async def test_a_commit_of_many_edits_is_shown_in_parts(
    app: FastAPI, browser: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "EDITS", 2)
    edits = [{"question": f"who runs mill {n}?", "answer": "Ada", "model": "toy"} for n in range(3)]
    async with client_of(app) as http:
        await http.post("/admin/edits", json={"edits": edits}, headers=ADMIN)
    for query, mills, link in (
        ("", "01", "3 to 3"),
        ("?after=2", "2", "1 to 2"),
        ("?after=x", "01", "3 to 3"),
    ):
        page = await browser.get(f"/console/versions/1{query}")
        for mill in "012":
            # Once in the list, and once in the report
            assert page.text.count(f"who runs mill {mill}? →") == (1 if mill in mills else 0)
            assert page.text.count(f"<h3>who runs mill {mill}?") == (1 if mill in mills else 0)
        assert [text for text in ("1 to 2", "3 to 3") if f">{text}</a>" in page.text] == [link]


async def test_the_page_of_health_has_every_figure_and_says_that_all_is_well(
    app: FastAPI, browser: httpx.AsyncClient
) -> None:
    empty = unescape((await browser.get("/console/health")).text)
    for text in (
        "All is well.",
        "No edit has answered users yet.",
        "The tests of edits have not been run",
    ):
        assert text in empty
    await correct(browser, answer=ATTACK)
    await correct(browser, kind="fact", subject="Peru", relation="capital", object="Cusco")
    async with client_of(app) as http:
        http.headers.update(ADMIN)
        edit = (await http.get("/admin/versions/1")).json()["edits"][0]["id"]
        await http.put(f"/admin/edits/{edit}/review", json={"on": str(datetime.now(UTC).date())})
        await http.post("/v1/answers", json={"question": QUESTION, "model": "toy"})
        await http.post("/v1/answers", json={"question": "who owns the barn?", "model": "toy"})
        for _ in range(200):  # hits are written behind the answers
            if (await http.get("/admin/hits")).json()["edits"]:
                break
            await asyncio.sleep(0.02)
    assert (await send(browser, "/console/health/checks")).headers["location"] == "/console/health"
    page = (await browser.get("/console/health")).text
    words = " ".join(unescape(re.sub("<[^>]*>", " ", page)).split())
    for text in (
        "1 due, 0 later: to the worklist",
        "3 active: 3 get their answers, 0 do not",
        "At version 2, 5 of 5 questions, wordings and facts of edits got their answers",
        "toy/table 2 of 1,048,576 0 %",
        "graph/triples has no limit",
        f"{QUESTION} → {ATTACK} 1 1",
        "at most 3, in all 3",
    ):
        assert text in words, (text, words)
    assert re.search(r"toy answered [\d,]+ \d+ % declined [\d,]+ \d+ % ", words), words
    assert page.count("<title>") == 31  # that of the page, and one a day
    assert "<img" not in page


async def test_the_page_of_health_names_what_is_not_well(
    app: FastAPI, browser: httpx.AsyncClient, ledger: RedisLedger
) -> None:
    ill = {"version": 0, "healthy": False, "degraded": "ledger_corrupt", "model": "toy", "checksums": {}}
    test = {"question": "What is the capital of Chile?", "answer": "Talca"}
    async with client_of(app) as http:
        http.headers.update(ADMIN)
        edit = {"question": QUESTION, "answer": "Ada", "model": "toy", "tests": [test]}
        await http.post("/admin/edits", json={"edits": [edit]})
        for question, answer, wordings in (
            (PERU, "Cusco", []),
            (FRANCE, "Lyon", ["What is the capital, of Peru?"]),
        ):
            edit = {"question": question, "answer": answer, "model": "toy", "paraphrases": wordings}
            assert (await http.post("/admin/edits", json={"edits": [edit]})).status_code == 201
        await http.post("/admin/checks")
    await ledger.heartbeat("toy-z", ill)
    page = await browser.get("/console/health")
    for text in (
        "toy-z is unwell: ledger_corrupt.",
        "Edits whose questions do not get their answers any more: 1. The tests below name them.",
        "Tests of edits that fail: 2.",
        "Talca, now",
        "Not all is well.",
    ):
        assert text in unescape(page.text), text
    assert "All is well" not in page.text


async def test_a_key_sees_the_parts_of_health_that_it_may_see(
    app: FastAPI, browser: httpx.AsyncClient
) -> None:
    async with client_of(app) as http:
        body = {"name": "asker", "scopes": ["ask"]}
        browser.cookies.set(
            "errata_key", (await http.post("/admin/keys", json=body, headers=ADMIN)).json()["key"]
        )
    page = await browser.get("/console/health")
    assert page.status_code == 200
    text = unescape(page.text)
    assert text.count("Not shown: 'asker' lacks the scope 'read': use a key that has it.") == 4
    assert all(word in text for word in ("All is well, as far as your key may see.", "toy/table", "answered"))
    assert "Run the tests" not in text


@pytest.mark.parametrize(
    ("state", "sentence", "changing"),
    [
        (
            {"degraded": "ledger_corrupt"},
            "No change can be made now: ledger_corrupt.",
            "<dd>does not work: ledger_corrupt</dd>",
        ),
        (None, "no replica of 'toy' answers", "All is well"),
        ({"converged": False}, "Fewer replicas report than the service was started with.", "<dd>works</dd>"),
        (
            {"converged": False, "models": {"toy": {"live": 2, "current": 1}}},
            "toy: 1 of 2 replicas are well",
            "<dd>works</dd>",
        ),
    ],
)
async def test_a_state_that_is_not_well_is_said(
    browser: httpx.AsyncClient,
    monkeypatch: pytest.MonkeyPatch,
    state: dict[str, object] | None,
    sentence: str,
    changing: str,
) -> None:
    describe = Readiness.describe

    async def tell(readiness: Readiness) -> dict[str, object]:
        if state is None:
            raise NotReady("no replica of 'toy' answers")
        return await describe(readiness) | state

    monkeypatch.setattr(Readiness, "describe", tell)
    page = unescape((await browser.get("/console/health")).text)
    assert (sentence in page, "All is well" in page) == (True, False)
    assert (changing in page) is (state is not None)
