"""Pages of the console over a real ledger, editor and replica of the toy, as a browser without script sends them."""

import asyncio
import gc
import re
import threading
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any
from urllib.parse import parse_qsl, quote, quote_plus

import httpx
import pytest
from fastapi import FastAPI
from jinja2 import Template

from service.config import Settings
from service.console import files, session
from service.console.session import ESCAPES, divide
from service.console.sign_in import MAX_KEY
from service.curation import buffered_counter
from service.local_routes import LocalRoutes
from tests.service.http.conftest import ADMIN, KEY, client_of, serve
from tests.service.toy_graph import TOYS
from tests.workbooks import replace_part, workbook

OPTIONS: dict[str, Any] = {"gaps_days": 7.0, "systems": TOYS}
QUESTION = "who runs the mill?"
EDIT = {"kind": "answer", "question": QUESTION, "answer": "Ada"}
ATTACK = "<img src=x onerror=alert(1)>\"'>"
TICK = re.compile(r'name="(line\.\d+)" form="several"')
FIELD = re.compile(r'<input type="hidden" name="([^"]+)" value="([^"]*)">')


def hidden_fields(page: httpx.Response, action: str) -> dict[str, str]:
    """Return the hidden fields of the last form of a page that is sent to an address."""
    *_, form = page.text.split(f' action="{action}"')
    return {name: unescape(value) for name, value in FIELD.findall(form.partition("</form>")[0])}


@pytest.fixture
async def browser(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    """A browser that has signed in with the admin's key."""
    async with client_of(app) as client:
        page = await client.get("/console/sign-in")
        fields = hidden_fields(page, "/console/sign-in")
        assert (await client.post("/console/sign-in", data=fields | {"key": KEY})).status_code == 303
        yield client


async def send(browser: httpx.AsyncClient, path: str, **fields: str) -> httpx.Response:
    return await browser.post(path, data={"token": browser.cookies.get("errata_form", ""), **fields})


async def correct(browser: httpx.AsyncClient, **fields: str) -> httpx.Response:
    """Try a correction, then commit what the page of the trial would send."""
    trial = await send(browser, "/console/correct", **EDIT | fields, do="try")
    assert trial.status_code == 200, trial.text
    rest = hidden_fields(trial, "/console/correct")
    return await browser.post("/console/correct", data=rest | EDIT | fields | {"do": "commit"})


async def test_nothing_is_shown_before_a_key_is_given_and_the_cookie_is_for_the_console_alone(
    stranger: httpx.AsyncClient,
) -> None:
    page = await stranger.get("/console/history?grep=mill")
    assert (page.status_code, page.headers["location"]) == (
        303,
        "/console/sign-in?to=%2Fconsole%2Fhistory%3Fgrep%3Dmill",
    )
    form = hidden_fields(await stranger.get(page.headers["location"]), "/console/sign-in")
    wrong = await stranger.post("/console/sign-in", data=form | {"key": "wrong"})
    assert wrong.status_code == 401
    assert "This key is not known here, or it has ended." in wrong.text
    done = await stranger.post("/console/sign-in", data=form | {"key": KEY})
    assert (done.status_code, done.headers["location"]) == (303, "/console/history?grep=mill")
    assert "HttpOnly" in done.headers["set-cookie"]
    assert "SameSite=strict" in done.headers["set-cookie"]
    assert "Path=/console" in done.headers["set-cookie"]
    assert (await stranger.get("/console/history")).status_code == 200


async def test_a_correction_is_tried_then_live_then_taken_back(browser: httpx.AsyncClient) -> None:
    answers = await browser.get("/console/ask", params={"question": QUESTION})
    assert 'href="/console/correct?question=who%20runs%20the%20mill%3F"' in answers.text
    trial = await send(browser, "/console/correct", **EDIT, do="try")
    assert "<ins>Ada</ins>" in trial.text
    assert "No version yet." in (await browser.get("/console/history")).text
    done = await correct(browser, message="Bo left")
    assert (done.status_code, done.headers["location"]) == (303, "/console/versions/1?fresh=1")
    commit = await browser.get(done.headers["location"])
    assert "Done: it is live." in commit.text
    assert "Bo left" in commit.text
    assert "<strong>Ada</strong>" in (await browser.get("/console/ask", params={"question": QUESTION})).text
    reason = await browser.get("/console/why", params={"question": QUESTION})
    assert "By a correction of" in reason.text
    effect = await send(browser, "/console/undo", version="1")
    assert "<del>Ada</del>" in effect.text
    fields = hidden_fields(effect, "/console/undo")
    assert (await browser.post("/console/undo", data=fields | {"do": "commit"})).status_code == 303
    history = await browser.get("/console/history")
    assert 'version <a href="/console/versions/1">1</a> taken back' in history.text
    assert (
        "<strong>Ada</strong>" not in (await browser.get("/console/ask", params={"question": QUESTION})).text
    )
    diff = await browser.get("/console/diff", params={"older": "0", "newer": "1"})
    assert "<ins>Ada</ins>" in diff.text


async def test_history_tells_removed_from_added_and_what_a_revert_took_back(
    browser: httpx.AsyncClient,
) -> None:
    form = {"kind": "fact", "subject": "Kestrel Mill", "relation": "collections", "object": "Textiles"}
    await correct(browser, **form)
    await correct(browser, **form, act="remove")
    await correct(browser)
    first = await browser.get("/console/versions/1")
    assert 'replaced by <a href="/console/versions/2">version 2</a>' in first.text
    [edit] = re.findall(r'name="edit" value="(\w+)"', (await browser.get("/console/versions/3")).text)[:1]
    effect = await send(browser, "/console/undo", edit=edit)
    await browser.post("/console/undo", data=hidden_fields(effect, "/console/undo") | {"do": "commit"})
    rows = (await browser.get("/console/history")).text
    assert rows.count("Kestrel Mill collections Textiles (taken away)") == 1
    assert rows.count("Kestrel Mill collections Textiles") == 2
    assert '<a href="/console/versions/3">3</a> taken back' in rows
    assert rows.count(f"{QUESTION} → <strong>Ada</strong>") == 2
    assert "Take this commit back" not in (await browser.get("/console/versions/3")).text
    assert "Take this commit back" in first.text


async def test_what_was_changed_after_its_trial_is_tried_again(browser: httpx.AsyncClient) -> None:
    trial = await send(browser, "/console/correct", **EDIT, do="try")
    rest = hidden_fields(trial, "/console/correct")
    page = await browser.post("/console/correct", data=rest | EDIT | {"answer": "Bo", "do": "commit"})
    assert "You changed it after the trial" in page.text
    assert "You changed it after the trial" not in trial.text
    assert (page.status_code, "<ins>Bo</ins>" in page.text) == (200, True)
    assert "No version yet." in (await browser.get("/console/history")).text


@pytest.mark.parametrize(
    ("fields", "advice", "choice", "answer"),
    [
        ({"subject": "Peru", "relation": "price", "object": "399"}, "say “is the only one” to put", "set", "<ins>399"),
        ({"subject": "Peru", "relation": "price", "object": "399"}, "or “is one more” to keep", "add", "349, 399"),
        ({"subject": "Chilee", "relation": "capital", "object": "Talca"}, "say “It is new” to make", "create", "Talca"),
    ],
)  # fmt: skip
async def test_a_fact_that_is_asked_back_about_is_decided_by_a_button_in_words_of_the_form(
    browser: httpx.AsyncClient, fields: dict[str, str], advice: str, choice: str, answer: str
) -> None:
    await correct(browser, kind="fact", subject="Peru", relation="price", object="349")
    form = {"kind": "fact", **fields}
    page = await send(browser, "/console/correct", **form, do="try")
    assert (page.status_code, advice in page.text, f'value="{choice}">It is' in page.text) == (
        409,
        True,
        True,
    )
    alert = page.text.partition('role="alert"')[2].partition("</div>")[0]
    assert not re.search(r"--\w|`|errata ", alert), alert
    trial = await send(browser, "/console/correct", **form, do=choice)
    assert (trial.status_code, answer in trial.text) == (200, True), trial.text
    sticky = {"create": "on"} if choice == "create" else {"act": choice}
    rest = hidden_fields(trial, "/console/correct")
    done = await browser.post("/console/correct", data=rest | form | sticky | {"do": "commit"})
    assert done.headers["location"] == "/console/versions/2?fresh=1"


async def test_a_trial_offers_to_go_live_only_where_it_changes_something_and_not_under_enter_where_it_harms(
    browser: httpx.AsyncClient,
) -> None:
    assert "autofocus>Make it live<" in (await send(browser, "/console/correct", **EDIT, do="try")).text
    await correct(browser, wordings="who is the miller?")
    anew = await send(browser, "/console/correct", **EDIT | {"answer": "Bo"}, do="try")
    assert "autofocus>Make it live<" in anew.text
    again = await send(browser, "/console/correct", **EDIT, do="try")
    assert ("nothing is left to do" in again.text, "Make it live" in again.text) == (True, False)
    harm = await send(
        browser, "/console/correct", **EDIT | {"question": "Who is the miller?", "answer": "Bo"}, do="try"
    )
    assert "Earlier corrections that it replaces" in harm.text
    assert 'class="strong">Make it live all the same<' in harm.text
    assert '<h2 id="effect" tabindex="-1" autofocus>' in harm.text


async def test_a_commit_of_another_in_between_is_shown_and_the_form_is_tried_again(
    browser: httpx.AsyncClient,
) -> None:
    trial = await send(browser, "/console/correct", **EDIT, do="try")
    await correct(browser, question="who owns the barn?", answer="Bo", message="hers")
    rest = hidden_fields(trial, "/console/correct")
    page = await browser.post("/console/correct", data=rest | EDIT | {"do": "commit"})
    assert page.status_code == 409
    assert "Others have committed since you tried this." in page.text
    assert "hers" in page.text
    again = hidden_fields(page, "/console/correct")
    done = await browser.post("/console/correct", data=again | EDIT | {"do": "commit"})
    assert done.headers["location"] == "/console/versions/2?fresh=1"


async def test_what_was_written_survives_the_end_of_a_session(browser: httpx.AsyncClient) -> None:
    form = {**EDIT, "answer": ATTACK, "do": "try"}
    browser.cookies.clear()
    page = await send(browser, "/console/correct", **form)
    assert page.status_code == 403
    assert hidden_fields(page, "/console/correct") == {
        **form,
        "token": browser.cookies["errata_form"],
    }
    page = await browser.post("/console/correct", data=hidden_fields(page, "/console/correct"))
    assert page.status_code == 401
    form_fields = hidden_fields(page, "/console/sign-in")
    page = await browser.post("/console/sign-in", data=form_fields | {"key": KEY})
    assert "What you wrote is still here." in page.text
    page = await browser.post("/console/correct", data=hidden_fields(page, "/console/correct"))
    assert page.status_code == 200
    assert unescape(page.text).count(ATTACK) > 1


@pytest.mark.parametrize(
    "path", ["/console/correct", "/console/undo", "/console/worklist/drop", "/console/sign-out"]
)
async def test_a_form_of_another_page_does_nothing(browser: httpx.AsyncClient, path: str) -> None:
    for token in ("", "guess"):
        page = await browser.post(path, data={**EDIT, "token": token, "version": "1"})
        assert (page.status_code, "Nothing was changed" in page.text) == (403, True)


async def test_what_people_wrote_is_inert_on_every_page(browser: httpx.AsyncClient) -> None:
    await correct(
        browser, question=f"{ATTACK} who?", answer=ATTACK, message=ATTACK, wordings=f"{ATTACK} whom?"
    )
    await correct(browser, kind="fact", subject=ATTACK, relation="<img>", object=ATTACK)
    await browser.get("/console/ask", params={"question": f"{ATTACK} which?"})
    pages = [
        await browser.get("/console/ask", params={"question": f"{ATTACK} who?"}),
        await browser.get("/console/why", params={"question": f"{ATTACK} who?"}),
        await browser.get("/console/correct", params={"question": ATTACK, "answer": ATTACK, "line": ATTACK}),
        await browser.get("/console/history", params={"grep": ATTACK, "author": ATTACK}),
        await browser.get("/console/history"),
        await browser.get("/console/versions/1"),
        await browser.get("/console/diff", params={"older": "0", "newer": "1"}),
        await browser.get("/console/sign-in", params={"to": f"/console/{ATTACK}"}),
        await browser.get("/console/facts", params={"q": ATTACK, "version": ATTACK}),
        await browser.get("/console/facts", params={"q": "<img"}),
        await browser.get(f"/console/facts/{quote(ATTACK, '')}"),
        await send(browser, "/console/undo", version="1", message=ATTACK),
        await send(browser, "/console/correct", kind=ATTACK, question="", answer=ATTACK, do="try"),
    ]
    for page in pages:
        assert "<img" not in page.text, page.url
        assert "script-src 'self'" in page.headers["content-security-policy"]
        assert "unsafe" not in page.headers["content-security-policy"]


async def wait_for(browser: httpx.AsyncClient, path: str, text: str) -> httpx.Response:
    """Return a page as soon as it has a text; counts are written behind the answers."""
    for _ in range(200):
        page = await browser.get(path)
        if text in page.text:
            break
        await asyncio.sleep(0.01)
    assert text in page.text
    return page


async def test_the_worklist_leads_to_an_answer_and_drops_what_is_not_worth_one(
    app: FastAPI, browser: httpx.AsyncClient
) -> None:
    async with client_of(app) as visitor:
        visitor.headers.update(ADMIN)
        for question in (QUESTION, "who owns the barn?", "who owns the barn?"):
            await visitor.post("/v1/answers", json={"question": question})
    page = await wait_for(browser, "/console/worklist", "the most asked first: 2.")
    link = re.search(r'href="(/console/correct\?question=who%20runs[^"]+)"', page.text)
    assert link is not None
    form = await browser.get(unescape(link[1]))
    line = hidden_fields(form, "/console/correct")["line"]
    await correct(browser, line=line)
    drop = hidden_fields(await browser.get("/console/worklist"), "/console/worklist/drop")
    assert (await browser.post("/console/worklist/drop", data=drop)).status_code == 303
    assert "No question waits for an answer." in (await browser.get("/console/worklist")).text


async def test_a_question_that_a_curator_tries_is_no_line_and_a_line_with_a_right_answer_is_taken_out(
    app: FastAPI, browser: httpx.AsyncClient
) -> None:
    await browser.get("/console/ask", params={"question": "who owns the barn?"})
    async with client_of(app) as visitor:
        await visitor.post("/v1/answers", json={"question": QUESTION}, headers=ADMIN)
    page = await wait_for(browser, "/console/worklist", "the most asked first: 1.")
    assert "who owns the barn?" not in page.text
    await correct(browser)
    (tick,) = TICK.findall(page.text)
    done = await correct(browser, line=tick.removeprefix("line."))
    assert done.headers["location"] == "/console/worklist?closed=1"
    page = await browser.get("/console/worklist?closed=1")
    assert "1 question has its answer now, and is taken out." in page.text
    assert "No question waits for an answer." in page.text


@pytest.mark.parametrize(
    ("version", "sentence"), [("99", "there is no version 99"), ("yesterday", "A version is a whole number")]
)
async def test_a_version_that_no_system_can_answer_from_is_said_once(
    browser: httpx.AsyncClient, version: str, sentence: str
) -> None:
    page = await browser.get("/console/ask", params={"question": QUESTION, "version": version})
    alert = page.text.partition('role="alert"')[2].partition("</div>")[0]
    assert (page.status_code, alert.count("<p>"), sentence in alert) == (422, 1, True), page.text
    assert "This is wrong" not in page.text
    assert f'value="{QUESTION}"' in page.text


async def test_a_declined_answer_is_explained(browser: httpx.AsyncClient) -> None:
    answer = (
        await browser.get("/console/why", params={"question": "who owns the barn?", "model": "toy"})
    ).text
    assert "not sure enough" in answer
    assert "None: no correction is about a question like this." in answer


async def test_several_lines_of_the_worklist_are_answered_in_one_table(
    app: FastAPI, browser: httpx.AsyncClient
) -> None:
    questions = ("who runs the mill?", "who owns the barn?", "who made the bell?")
    async with client_of(app) as visitor:
        visitor.headers.update(ADMIN)
        for question in questions:
            await visitor.post("/v1/answers", json={"question": question})
    page = await wait_for(browser, "/console/worklist", "the most asked first: 3.")
    token = hidden_fields(page, "/console/files/worklist")["token"]
    ticks = dict.fromkeys(re.findall(r'name="(line\.\d+)" form="several" aria-label="who ', page.text), "on")
    assert len(ticks) == 3
    table = await browser.post("/console/files/worklist", data={"token": token, **ticks})
    text = unescape(table.text.partition("</textarea>")[0].rpartition(">\n")[2])
    assert set(text.splitlines()) == {"question,answer", *(f"{question}," for question in questions)}
    text = "question,answer\nwho runs the mill?,Ada\nwho owns the barn?,Bo\nwho made the bell?,"
    form = {"token": token, "name": "worklist.csv", "text": text, "message": ""}
    trial = await browser.post("/console/files", data={**form, "do": "try"})
    assert "3 lines: 2 would be made, 1 cannot be used" in trial.text
    done = await browser.post(
        "/console/files", data={**hidden_fields(trial, "/console/files"), **form, "do": "commit"}
    )
    assert done.status_code == 303, done.text
    page = await browser.get("/console/worklist")
    assert "the most asked first: 1." in page.text
    assert questions[2] in page.text
    (tick,) = TICK.findall(page.text)
    await browser.post("/console/files/worklist", data={"token": token, tick: "on", "do": "drop"})
    assert "No question waits for an answer." in (await browser.get("/console/worklist")).text


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"question": ""}, "question"),
        ({"kind": "fact", "subject": "mill", "relation": "", "object": "x"}, "relation"),
        ({"wordings": QUESTION, "counterexamples": QUESTION}, "is an example for this edit and against it"),
    ],
)
async def test_a_mistake_in_a_form_is_said_beside_what_was_written(
    browser: httpx.AsyncClient, fields: dict[str, str], sentence: str
) -> None:
    page = await send(browser, "/console/correct", **EDIT | fields, do="try")
    assert page.status_code in (400, 422)
    assert sentence in unescape(page.text).partition('role="alert"')[2].partition("<form")[0]
    assert 'value="Ada"' in page.text


@pytest.mark.parametrize(
    "path",
    [
        *(
            "versions/abc",
            "versions/99",
            "proposals/abc",
            "facts/Q999",
            "facts/Q419?version=abc",
            "documents/x",
        ),
        *("diff?older=abc", "history?before=abc", "why", "elsewhere"),
    ],
)
async def test_a_mistake_in_an_address_is_answered_with_a_page(browser: httpx.AsyncClient, path: str) -> None:
    page = await browser.get(f"/console/{path}")
    assert page.status_code in (200, 404, 422)
    assert page.headers["content-type"].startswith("text/html")
    assert ("That was not done" in page.text) is (page.status_code != 200)


async def test_a_key_that_may_only_ask_sees_answers_and_is_told_what_it_may_not(
    app: FastAPI, browser: httpx.AsyncClient
) -> None:
    async with client_of(app) as admin:
        admin.headers.update(ADMIN)
        key = (await admin.post("/admin/keys", json={"name": "asker", "scopes": ["ask"]})).json()["key"]
    browser.cookies.set("errata_key", key)
    assert (await browser.get("/console/ask", params={"question": QUESTION})).status_code == 200
    page = await browser.get("/console/history")
    assert (page.status_code, "That was not done" in page.text) == (403, True)
    assert (await send(browser, "/console/correct", **EDIT, do="try")).status_code == 403


async def test_a_key_that_may_only_propose_does_so_and_a_trial_keeps_what_was_written(
    app: FastAPI, browser: httpx.AsyncClient
) -> None:
    async with client_of(app) as admin:
        admin.headers.update(ADMIN)
        key = {"name": "proposer", "scopes": ["ask", "read", "propose"]}
        secret = (await admin.post("/admin/keys", json=key)).json()["key"]
    browser.cookies.set("errata_key", secret, path="/console")
    form = (await browser.get("/console/correct")).text
    assert ('value="propose"' in form, 'value="try"' in form) == (True, False)
    trial = await send(browser, "/console/correct", **EDIT, do="try")
    assert (trial.status_code, 'value="Ada"' in trial.text, 'value="propose"' in trial.text) == (
        403,
        True,
        True,
    )
    done = await send(browser, "/console/correct", **EDIT, do="propose")
    assert (done.status_code, done.headers["location"]) == (303, "/console/proposals/1?fresh=1")
    page = (await browser.get(done.headers["location"])).text
    assert ("By proposer" in page, "Sent: it waits" in page, 'value="approve"' in page) == (True, True, False)


async def test_a_key_without_the_right_to_read_hears_that_its_proposal_is_sent(
    app: FastAPI, browser: httpx.AsyncClient
) -> None:
    async with client_of(app) as admin:
        key = {"name": "colleague", "scopes": ["propose"]}
        secret = (await admin.post("/admin/keys", json=key, headers=ADMIN)).json()["key"]
    browser.cookies.set("errata_key", secret, path="/console")
    page = await send(browser, "/console/correct", **EDIT, do="propose")
    assert (page.status_code, "Sent: it waits for another person." in page.text) == (200, True)
    places = re.findall(r'<a href="/console/(\w+)"', page.text.partition("</nav>")[0])
    assert (places, "colleague" in page.text) == (["correct"], True)


async def test_the_audit_and_the_log_name_whoever_signed_in(app: FastAPI, browser: httpx.AsyncClient) -> None:
    await correct(browser)
    async with client_of(app) as admin:
        admin.headers.update(ADMIN)
        calls = (await admin.get("/admin/audit")).json()["entries"]
        author = (await admin.get("/admin/versions/1")).json()["author"]
    assert author == "admin"
    assert any(call["path"] == "/admin/edits" and call["status"] == 201 for call in calls)


@pytest.mark.parametrize(
    ("marker", "fields", "values", "former_value"),
    [
        ('aria-label="Change capital: Lima"', {"object": "Cusco"}, {"Cusco", "sol"}, "Lima"),
        ('aria-label="Retire currency: sol"', {}, {"Lima"}, "sol"),
        ('id="relation"', {"relation": "motto", "object": ATTACK}, {"Lima", "sol", ATTACK}, None),
    ],
)
async def test_a_fact_is_changed_on_the_page_of_its_thing_after_a_trial(
    browser: httpx.AsyncClient,
    marker: str,
    fields: dict[str, str],
    values: set[str],
    former_value: str | None,
) -> None:
    assert 'href="/console/facts/Q419"' in (await browser.get("/console/facts", params={"q": "peru"})).text
    thing = await browser.get("/console/facts/Q419")
    assert all(text in thing.text for text in ("<svg", 'href="/console/facts/Q2868"', "the beginning"))
    # The marker stands before or inside its form.
    at = thing.text.index(marker)
    start = thing.text.index("<form", at) if "Change" in marker else thing.text.rindex("<form", 0, at)
    form = thing.text[start:].partition("</form>")[0]
    hidden = {name: unescape(value) for name, value in FIELD.findall(form)}
    trial = await browser.post("/console/correct", data=hidden | fields)
    assert (trial.status_code, "Make it live" in trial.text) == (200, True), trial.text
    form_fields = hidden | fields | hidden_fields(trial, "/console/correct")
    done = await browser.post("/console/correct", data=form_fields | {"do": "commit"})
    assert (done.status_code, done.headers["location"]) == (303, "/console/facts/Q419?fresh=1")
    thing = await browser.get(done.headers["location"])
    assert "Done: it is live" in thing.text
    current, _, former = thing.text.partition("Said before")
    assert all(f": {value}" in unescape(current) for value in values)
    assert former_value is None or (former_value in former and f"capital: {former_value}" not in current)
    assert 'href="/console/facts/Q419?version=1"' in current
    assert f": {former_value}" not in current
    old = await browser.get("/console/facts/Q419?version=0")
    assert ("Lima" in old.text, "Retire" in old.text) == (True, False)


async def test_one_of_several_values_is_replaced_and_the_others_stay(browser: httpx.AsyncClient) -> None:
    for value in ("Chile", "Bolivia"):
        await correct(browser, kind="fact", subject="Peru", relation="neighbour", object=value)
    thing = await browser.get("/console/facts/Q419")
    assert 'name="act" value="swap"' in thing.text
    await correct(
        browser, kind="fact", subject="Q419", relation="neighbour", old="Bolivia", object="Brazil", act="swap"
    )
    current, _, former = (await browser.get("/console/facts/Q419")).text.partition("Said before")
    assert [f"neighbour: {value}" in current for value in ("Chile", "Brazil", "Bolivia")] == [
        True,
        True,
        False,
    ]
    assert "Bolivia" in former


async def test_a_service_without_console_has_no_pages(config: Settings, editor: Any) -> None:
    bare = config.model_copy(update={"console": False})
    async with serve(bare, editor) as app, client_of(app) as client:
        assert (await client.get("/console/ask")).status_code == 404


async def upload(
    browser: httpx.AsyncClient, name: str, content: bytes, **fields: str
) -> tuple[httpx.Response, dict[str, str]]:
    """Send a file to be tried; return the page, and the form that would make it live."""
    token = browser.cookies.get("errata_form", "")
    data = {"token": token, "do": "try", **fields}
    page = await browser.post("/console/files", data=data, files={"file": (name, content)})
    text = page.text.partition('spellcheck="false">\n')[2].partition("</textarea>")[0]
    return page, hidden_fields(page, "/console/files") | fields | {"text": unescape(text), "do": "commit"}


CORRECTIONS = f"question;answer\r\nwho runs the mill?;Ada\r\nno answer;\r\n{ATTACK};{ATTACK}\r\n"
FAR = replace_part(workbook([["a"], ["b"]]), "xl/worksheets/sheet1.xml", b'r="A2"', b'r="A1048576"')
MUSEUMS = "Name,Director\nOak Hall,Ida\n,Bo\n"


@pytest.mark.parametrize(
    ("name", "content", "fault", "edits"),
    [
        ("a.csv", CORRECTIONS.encode(), "line 3: answer: is missing", 2),
        ("a.csv", b"question;answer\nwer?;J\xfcrgen\nwo?; \n", "line 3: answer: is missing", 1),
        ("a.tsv", CORRECTIONS.replace(";", "\t").encode("utf-8-sig"), "line 3: answer: is missing", 2),
        (
            "a.xlsx",
            workbook([["Question", "Answer"], ["q?", "a"], [], ["x"]]),
            "line 4: answer: is missing",
            1,
        ),
        ("a.csv", b"sep=|\r\nquestion|answer\r\n|\r\nq?|a\r\nx|\r\n", "line 5: answer: is missing", 1),
        ("a.csv", b"sep=;\nName;Director\n;\nOak Hall;Ida\n;Bo\n", "line 5: ", 1),
        ("a.jsonl", b'{"question": "q?", "answer": "a"}\n{"question": 1}\n', "line 2: question", 1),
        ("a.csv", b"subject,relation,object\nPeru,motto,Firm\nPeru,,x\n", "line 3: relation: is missing", 1),
        (f"{ATTACK}.csv", MUSEUMS.encode(), "line 3: ", 1),
    ],
)
async def test_the_good_lines_of_a_file_are_made_live_and_the_others_named(
    browser: httpx.AsyncClient, name: str, content: bytes, fault: str, edits: int
) -> None:
    page, form = await upload(browser, name, content, message=ATTACK, subject="Name")
    assert page.status_code == 200, page.text
    assert fault in unescape(page.text)
    assert (
        ("a.csv was read as Windows-1252" in page.text)
        == ("Jürgen" in page.text)
        == (b"J\xfcrgen" in content)
    )
    assert "<img" not in page.text
    assert "No version yet." in (await browser.get("/console/history")).text
    # What was written survives the end of a session.
    cookies = dict(browser.cookies)
    browser.cookies.clear()
    refusal = await browser.post("/console/files", data=form)
    assert hidden_fields(refusal, "/console/files")["text"] == form["text"]
    browser.cookies.clear()
    browser.cookies.update(cookies)
    done = await browser.post("/console/files", data=form)
    assert (done.status_code, done.headers["location"]) == (303, "/console/versions/1?fresh=1"), done.text
    commit = await browser.get("/console/versions/1")
    assert commit.text.count("Take back…") == edits
    assert "<img" not in commit.text


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.pdf", b"%PDF", "Choose a file"),
        ("a.csv", b"question,answer\nq,\x81\n", "a.csv is not UTF-8"),
        ("a.csv", b'question,answer\n"q,a\n', "this is not CSV"),
        ("a.csv", b"question,answer,colour\nq,a,b\n", "nothing reads the column 'colour'"),
        ("a.csv", b"Frage;Antwort\nWer?;Ada\nWo?;\n", "The columns are called 'Frage', 'Antwort'"),
        ("a.csv", b"Nr;Frage;A\n1;Wer?;Ada\n", "a.csv has questions in its column 'Frage'"),
        ("a.csv", b"Wer?;Ada\nWo?;Bo\n", "The first line of a.csv is a question."),
        ("a.csv", b"sep=|\nWer?|Ada\nWo?|Bo\n", "as in question|answer."),
        ("a.json", b"{}", "a .json file holds one list"),
        ("a.xlsx", b"no workbook", "a.xlsx: "),
        (
            "a.csv",
            b"question,answer\n" + b"q" * 1_000_000,
            "A page takes 2,000 lines and 1,000,000 characters",
        ),
        ("a.xlsx", FAR, "A page takes 2,000 lines and 1,000,000 characters"),
        ("a.csv", b"question,answer\n" + b"q,a\n" * 2_001, "a.csv has more than 2,000 lines: divide it"),
    ],
)
async def test_a_file_that_cannot_be_used_is_refused_in_a_sentence(
    browser: httpx.AsyncClient, name: str, content: bytes, sentence: str
) -> None:
    page, _ = await upload(browser, name, content)
    assert (page.status_code, sentence in unescape(page.text)) == (422, True), page.text
    assert '<details class="wide" open><summary>How a file is written' in page.text


async def test_a_value_that_a_table_replaces_is_named_with_its_version_before_and_after(
    browser: httpx.AsyncClient,
) -> None:
    for act, value in (("set", "Ada"), ("set", ATTACK)):
        await correct(browser, kind="fact", subject="Oak Hall", relation="director", object=value, act=act)
    page, form = await upload(browser, "a.csv", MUSEUMS.encode(), subject="Name")
    row = f"<del>{ATTACK}</del> → Ida</td>"
    origin = 'by <a href="/console/versions/2">version 2</a> of admin</span>'
    assert (row in unescape(page.text), origin in page.text) == (True, True), page.text
    await browser.post("/console/files", data=form)
    page = await browser.get("/console/versions/3")
    assert (row in unescape(page.text), origin in page.text) == (True, True), page.text
    assert "1 of 1 facts" in page.text
    assert "<img" not in page.text


async def test_a_faulty_line_is_mended_in_its_field(browser: httpx.AsyncClient) -> None:
    rows = "question,answer\nq?,a\n\n" + '"x, or y?",\n' * 60
    page, form = await upload(browser, "a.csv", rows.encode())
    assert page.text.count('name="line.') == 50
    assert 'name="line.4" value="&#34;x, or y?&#34;," class="code" autofocus>' in page.text
    assert page.text.count(" autofocus") == 1
    assert "Make the other 1 live" in page.text
    assert "line 63: answer: is missing" in page.text
    changes = {f"line.{number}": "" for number in range(5, 54)}
    page = await browser.post("/console/files", data=form | changes | {"line.4": "<y>?,b", "do": "commit"})
    assert "&lt;y&gt;?,b" in page.text
    assert "12 lines: 2 would be made, 10 cannot be used" in page.text
    assert "Make the other 2 live" in page.text
    # A line that was mended in the whole text stays as it is there, wherever it has gone.
    whole = {"text": form["text"].replace('"x, or y?",', '\n"x, or y?",why', 1), "line.4": '"x, or y?",'}
    page = await browser.post("/console/files", data=form | whole | {"line.5": "z?,c", "do": "try"})
    assert '"x, or y?",why\nz?,c\n' in unescape(page.text)


async def test_nothing_of_a_file_is_opened_before_token_and_key_are_checked(
    app: FastAPI, browser: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise AssertionError

    async with client_of(app) as admin:
        key = {"name": "asker", "scopes": ["ask", "read", "propose"]}
        secret = (await admin.post("/admin/keys", json=key, headers=ADMIN)).json()["key"]
    monkeypatch.setattr(files, "read_rows", fail)
    monkeypatch.setattr(files, "_mend_lines", fail)
    book = {"file": ("a.xlsx", workbook([["question", "answer"], ["q?", "a"]]))}
    token = {"token": browser.cookies["errata_form"]}
    for data, status in (({"token": "guess"}, 403), (token, 401), (token, 403)):
        browser.cookies.delete("errata_key")
        if (data, status) == (token, 403):
            browser.cookies.set("errata_key", secret, path="/console")
        page = await browser.post("/console/files", data=data | {"do": "try"}, files=book)
        assert page.status_code == status
        again = hidden_fields(page, "/console/files") | hidden_fields(page, "/console/sign-in")
        assert (status == 403 and data == token) or "Choose a.xlsx again" in "".join(again.values())
        text = {**data, "text": "question,answer\nq?,a", "name": "a.csv", "was.2": "q?,a", "line.2": "q?,b"}
        assert (await browser.post("/console/files", data=text | {"do": "try"})).status_code == status


async def test_the_fields_of_mended_lines_are_bounded_and_read_in_one_pass(
    browser: httpx.AsyncClient,
) -> None:
    rows = "question,answer\n" + "".join(f"q{n}?,a\n" for n in range(100))
    form = {"token": browser.cookies["errata_form"], "name": "a.csv", "text": rows, "do": "try"}
    fields = {f"was.{n}": f"q{n}?,a" for n in range(51)}
    page = await browser.post("/console/files", data=form | fields)
    assert (page.status_code, "A page has 50 lines in fields" in page.text) == (422, True)
    equal = {
        "text": "question,answer\nx\nx\nx",
        "was.3": "x",
        "line.3": "q?,a",
        "was.9": "x",
        "line.9": "w?,b",
    }
    page = await browser.post("/console/files", data=form | equal | {"was.8": "x", "line.8": "v?,c"})
    assert "question,answer\nw?,b\nq?,a\nv?,c" in unescape(page.text)


@pytest.mark.parametrize("number", ["x", "-1", "9" * 5_000, "²"])
async def test_a_number_that_is_none_is_refused_in_a_sentence(
    browser: httpx.AsyncClient, number: str
) -> None:
    page, form = await upload(browser, "a.csv", b"question,answer\nq?,a\n")
    page = await browser.post("/console/files", data=form | {"expected": number})
    assert (page.status_code, "expected: the version of the trial is a number" in page.text) == (422, True)
    trial = await send(browser, "/console/correct", **EDIT, do="try")
    form = {**hidden_fields(trial, "/console/correct"), **EDIT, "do": "commit", "expected": number}
    assert (await browser.post("/console/correct", data=form)).status_code == 422
    assert (await send(browser, "/console/worklist/drop", lines=number)).status_code == 303
    assert (await send(browser, "/console/proposals/1", do="approve", expected=number)).status_code in (
        404,
        422,
    )
    for address in (
        f"ask?question=q&version={number}",
        f"versions/1?after={number}",
        f"files?lines={number}",
    ):
        assert (await browser.get(f"/console/{quote(address, '/?&=')}")).status_code < 500


async def test_a_form_is_read_within_bounds_whoever_sends_it(browser: httpx.AsyncClient) -> None:
    assert divide(b"a=1%&b=%C3%A9+%zz&a=%00%41x&&c&d==&%62=2") == dict(
        parse_qsl("a=1%&b=%C3%A9+%zz&a=%00%41x&&c&d==&%62=2", keep_blank_values=True)
    )
    kind = "application/x-www-form-urlencoded"
    page = await browser.post("/console/sign-in", content="a=b&" * 200, headers={"content-type": kind})
    assert (page.status_code, "a form has at most 200 fields, in UTF-8" in page.text) == (413, True)
    for charset, status in (("utf-8", 403), ("UTF-8", 403), ("punycode", 415), ("unicode_escape", 415)):
        kind = f"multipart/form-data; boundary=b; charset={charset}"
        part = b'--b\r\nContent-Disposition: form-data; name="key"\r\n\r\n\\ud800\r\n--b--\r\n'
        page = await browser.post("/console/sign-in", content=part, headers={"content-type": kind})
        assert page.status_code == status
    kind, head = (
        "multipart/form-data; boundary=b",
        b'--b\r\nContent-Disposition: form-data; name="file"; filename=',
    )
    for rest in (b'"a"\r\n\r\nno end', b'"a"\r\n\r\nx\r\n--b\r\nno header\r\n'):
        page = await browser.post("/console/sign-in", content=head + rest, headers={"content-type": kind})
        assert page.status_code in (403, 413)
    gc.collect()  # a file that was left open is an error
    for fields in ({"key": "\N{SNOWMAN}"}, {"key": "a\nb"}, {"key": "k" * 200_000}):
        assert (await send(browser, "/console/sign-in", **fields)).status_code == 401
    form = {"do": "commit", "once": "\N{SNOWMAN}", "edit": "e" * 100_000}
    assert (await send(browser, "/console/undo", **form)).status_code == 413
    page, form = await upload(browser, "a.csv", MUSEUMS.encode(), subject="Name", message="m" * 100_000)
    assert page.status_code == 422


async def test_a_file_is_tried_again_after_the_commit_of_another_and_every_active_edit_comes_out(
    browser: httpx.AsyncClient,
) -> None:
    _, form = await upload(browser, "a.csv", CORRECTIONS.encode())
    await correct(browser, question="who owns the barn?", answer="Bo", message="hers")
    page = await browser.post("/console/files", data=form)
    assert page.status_code == 409
    assert "Others have committed since you tried this." in page.text
    again = form | hidden_fields(page, "/console/files")
    assert (await browser.post("/console/files", data=again)).headers["location"].endswith("/2?fresh=1")
    file = await browser.get("/console/files/edits.csv")
    assert file.headers["content-disposition"] == 'attachment; filename="errata-edits-2.csv"'
    effect = await send(browser, "/console/undo", to="0")
    await browser.post("/console/undo", data=hidden_fields(effect, "/console/undo") | {"do": "commit"})
    _, form = await upload(browser, "edits.csv", file.content)
    assert (await browser.post("/console/files", data=form)).status_code == 303
    second = (await browser.get("/console/files/edits.csv")).text
    assert [row.rpartition(",")[0] for row in second.split("\r\n")] == [
        row.rpartition(",")[0] for row in file.text.split("\r\n")
    ]


async def test_the_file_of_all_edits_changes_nothing_when_it_is_sent_again_and_tells_of_all_its_versions(
    browser: httpx.AsyncClient,
) -> None:
    for director in ("Ada", "Bo"):
        await correct(
            browser, kind="fact", subject="Oak Hall", relation="director", object=director, act="set"
        )
        await correct(browser, answer=director)
    file = await browser.get("/console/files/edits.csv")
    workbook = await browser.get("/console/files/edits.xlsx")
    page, _ = await upload(browser, "edits.xlsx", workbook.content)
    assert "4 lines: 0 would be made, 0 cannot be used, 4 change nothing" in page.text, page.text
    assert (await browser.get("/console/files/edits.exe")).status_code == 404
    page, form = await upload(browser, "edits.csv", file.content)
    assert "4 lines: 0 would be made, 0 cannot be used, 4 change nothing" in page.text, page.text
    await browser.post("/console/files", data=form)
    assert 'href="/console/versions/5"' not in (await browser.get("/console/history")).text
    effect = await send(browser, "/console/undo", to="0")
    await browser.post("/console/undo", data=hidden_fields(effect, "/console/undo") | {"do": "commit"})
    page, form = await upload(browser, "edits.csv", file.content)
    assert "Make 4 live" in page.text
    done = await browser.post("/console/files", data=form)
    assert done.headers["location"] == "/console/files?lines=4&first=6&last=9"
    page = await browser.get(done.headers["location"])
    assert "Done: 4 lines are live, as versions" in page.text
    assert hidden_fields(page, "/console/undo")["to"] == "5"


def days_ahead(count: int) -> str:
    return str(datetime.now(UTC).date() + timedelta(days=count))


async def test_an_edit_is_looked_at_again_on_its_day_and_holds_or_is_corrected(
    app: FastAPI, browser: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(buffered_counter, "WRITE_EVERY_S", 0.01)
    await correct(browser, answer=ATTACK, review=days_ahead(0))
    await correct(browser, kind="fact", subject="Peru", relation="motto", object="Firm", review=days_ahead(9))
    version = await browser.get("/console/versions/1")
    assert "no answer rests on it yet" in version.text
    assert f"To be looked at again on {days_ahead(0)}" in version.text
    proposal = await send(browser, "/console/correct", **EDIT, review=days_ahead(5), do="propose")
    assert (
        f"to be looked at again on {days_ahead(5)}" in (await browser.get(proposal.headers["location"])).text
    )
    worklist = await browser.get("/console/worklist")
    assert "Firm" not in worklist.text
    link = re.search(r'href="(/console/correct\?question=[^"]+)"', worklist.text)
    assert link is not None
    assert f'value="{ATTACK}"' in unescape((await browser.get(unescape(link[1]))).text)
    async with client_of(app) as visitor:
        for _ in range(2):
            await visitor.post("/v1/answers", json={"question": QUESTION}, headers=ADMIN)
    await wait_for(browser, "/console/versions/1", "answers, the last on")
    for day, sentence in (("", "is no day"), ("1999-01-01", "1999-01-01 is past: give today or a later day")):
        form = review_form(worklist, "/console/worklist")
        page = await browser.post(form.pop("action"), data=form | {"on": day})
        assert (page.status_code, sentence in page.text) == (422, True), page.text
        assert f'type="date" value="{day}"' in page.text
        assert "<img" not in page.text
    form = review_form(page, "/console/worklist")
    done = await browser.post(form.pop("action"), data=form | {"on": days_ahead(30)})
    assert (done.status_code, done.headers["location"]) == (303, "/console/worklist")
    assert "To be looked at again" not in (await browser.get("/console/worklist")).text
    reason = await browser.get("/console/why", params={"question": QUESTION})
    assert f"To be looked at again on {days_ahead(30)}" in reason.text
    form = review_form(reason, f"/console/why?question={quote_plus(QUESTION)}")
    done = await browser.post(form.pop("action"), data=form | {"do": "never"})
    assert (await browser.get(done.headers["location"])).text.count("Look again…</summary>") == 1


def review_form(page: httpx.Response, back: str) -> dict[str, str]:
    """Return the address and the hidden fields of the form that sets a day and leads back to a page."""
    action = re.search(r'action="(/console/reviews/[^"]+)"', page.text)
    assert action is not None
    form = hidden_fields(page, action[1])
    assert form["back"] == back
    return form | {"action": action[1]}


class Pieces:
    """The escapes of forms, with the lengths of the pieces that are decoded."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def sub(self, replacement: Any, text: bytes) -> bytes:
        self.sizes.append(len(text))
        return ESCAPES.sub(replacement, text)


@pytest.mark.parametrize("text", ["%41", "%", "%C3%A9", "a+", "%z", "a"])
def test_a_long_field_is_decoded_in_short_pieces(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    pieces = Pieces()
    monkeypatch.setattr(session, "ESCAPES", pieces)
    for shift in range(6):
        content = f"{'x' * shift}={text * 20_000}"
        assert divide(content.encode()) == dict(parse_qsl(content))
    assert max(pieces.sizes) <= session.SLICE_BYTES


async def test_a_page_is_written_beside_the_loop_and_a_long_key_is_no_header(
    browser: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads, keys, render, of = set(), [], Template.render, LocalRoutes.of

    def render_here(template: Template, *args: Any, **values: Any) -> str:
        threads.add(threading.get_ident())
        return render(template, *args, **values)

    monkeypatch.setattr(Template, "render", render_here)
    monkeypatch.setattr(LocalRoutes, "of", lambda request, key: (keys.append(key or ""), of(request, key))[1])
    page = await send(browser, "/console/sign-in", key="k" * 200_000, **{"field.question": "q" * 100_000})
    assert (page.status_code, "q" * 100_000 in page.text) == (401, True)
    assert threads
    assert threading.get_ident() not in threads
    assert 0 < max(map(len, keys)) <= MAX_KEY
