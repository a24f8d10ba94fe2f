"""Proposals: made by one key, approved by another, over HTTP, the command and the console; one commit, both names."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
import redis
from fastapi import FastAPI

from service.config import Settings
from service.curation import proposals as store
from service.curation import reviews
from service.curation.proposals import (
    BYTES,
    CUT_OFF_S,
    DECISIONS,
    LAST,
    OPEN,
    PAST,
    ROWS,
    Decision,
    Proposals,
    Row,
)
from service.editing.editor import Editor
from service.editing.operations import Edit, ListVersions
from service.errors import LedgerUnavailable
from service.http.deployment_client import EditorClient
from service.http.routes import proposals as routes
from service.ledger import keys
from service.ledger.store import RedisLedger
from tests.hypotheses import TRIES_ALL
from tests.service.http.conftest import ADMIN, Run, client_of, serve
from tests.service.http.listening import listening
from tests.service.http.test_console import hidden_fields
from tests.service.http.test_mcp import call, connect

EDIT = {"question": "who runs the mill?", "answer": "Ada"}
SCOPES = {"bo": ["ask", "read", "propose"], "cy": ["ask", "read", "edit"], "di": ["read", "propose", "edit"]}


async def make_keys(app: FastAPI) -> dict[str, str]:
    async with client_of(app) as admin:
        admin.headers.update(ADMIN)
        bodies = [{"name": name, "scopes": scopes} for name, scopes in SCOPES.items()]
        return {body["name"]: (await admin.post("/admin/keys", json=body)).json()["key"] for body in bodies}


@pytest.fixture
async def people(app: FastAPI) -> AsyncIterator[Mapping[str, httpx.AsyncClient]]:
    """bo may propose, cy may edit, di both."""
    async with AsyncExitStack() as stack:
        clients = {}
        for name, key in (await make_keys(app)).items():
            clients[name] = await stack.enter_async_context(client_of(app))
            clients[name].headers["authorization"] = f"Bearer {key}"
        yield clients


async def propose(client: httpx.AsyncClient, **fields: Any) -> Any:
    body = {"edits": [EDIT], "message": "Bo left", **fields}
    reply = await client.post("/admin/proposals", json=body)
    assert reply.status_code == 201, reply.text
    return reply.json()


async def head(client: httpx.AsyncClient) -> int:
    return int((await client.get("/admin/versions")).json()["head"])


@pytest.mark.parametrize("allows", [False, True])
async def test_a_small_team_may_allow_an_author_to_approve(
    config: Settings, editor: Editor, allows: bool
) -> None:
    async with (
        serve(config.model_copy(update={"self_approval": allows}), editor) as app,
        client_of(app) as di,
    ):
        di.headers["authorization"] = f"Bearer {(await make_keys(app))['di']}"
        await propose(di)
        reply = await di.post("/admin/proposals/1/approval", json={})
        assert reply.status_code == (200 if allows else 403)
        assert await head(di) == allows


async def test_of_two_approvals_and_a_rejection_at_once_one_is_the_decision(
    people: Mapping[str, httpx.AsyncClient],
) -> None:
    cy, di = people["cy"], people["di"]
    for number in range(1, 6):
        await propose(people["bo"], edits=[EDIT | {"answer": f"Ada {number}"}])
        path = f"/admin/proposals/{number}"
        before = await head(cy)
        replies = await asyncio.gather(
            cy.post(f"{path}/approval", json={}),
            di.post(f"{path}/approval", json={}),
            cy.post(f"{path}/rejection", json={"reason": "no"}),
        )
        item = (await cy.get(path)).json()
        assert all(reply.status_code in (200, 409) for reply in replies)
        assert await head(cy) == before + (item["state"] == "approved")
        assert item["version"] == (before + 1 if item["state"] == "approved" else None)


async def test_a_proposal_expires(people: Mapping[str, httpx.AsyncClient]) -> None:
    await propose(people["bo"], expires_in_s=1)
    await asyncio.sleep(1.1)
    assert (await people["cy"].get("/admin/proposals/1")).json()["state"] == "expired"
    reply = await people["cy"].post("/admin/proposals/1/approval", json={})
    assert (reply.status_code, reply.json()["code"], reply.json()["state"]) == (
        409,
        "proposal_closed",
        "expired",
    )


async def test_its_report_is_made_anew_when_the_version_has_moved_on(
    people: Mapping[str, httpx.AsyncClient],
) -> None:
    bo, cy = people["bo"], people["cy"]
    await propose(bo)
    await cy.post("/admin/edits", json={"edits": [EDIT | {"answer": "Eve"}]})
    item = (await bo.get("/admin/proposals/1")).json()
    assert (item["measured_at"], item["report"]["edits"][0]["before"]) == (1, "Eve")
    stale = await cy.post("/admin/proposals/1/approval", json={"expected_version": 0})
    assert (stale.status_code, stale.json()["code"]) == (409, "stale_version")
    assert (await cy.post("/admin/proposals/1/approval", json={"expected_version": 1})).json()["version"] == 2


async def test_its_report_is_of_the_version_that_it_names_although_others_commit_meanwhile(
    people: Mapping[str, httpx.AsyncClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another key makes a commit when the newest version has been looked up, before the dry run begins."""
    bo, cy = people["bo"], people["cy"]
    await propose(bo)
    call, is_first = EditorClient.call, True

    async def call_late(editor: EditorClient, query: Any, *rest: Any) -> Any:
        nonlocal is_first
        outcome = await call(editor, query, *rest)
        if is_first and isinstance(query, ListVersions):
            is_first = False
            await cy.post("/admin/edits", json={"edits": [EDIT | {"answer": "Eve"}]})
        return outcome

    monkeypatch.setattr(EditorClient, "call", call_late)
    item = (await bo.get("/admin/proposals/1")).json()
    assert (item["measured_at"], item["report"]["edits"][0]["before"]) == (1, "Eve")


async def test_what_would_be_refused_now_says_so(people: Mapping[str, httpx.AsyncClient]) -> None:
    bo, cy = people["bo"], people["cy"]
    await cy.post("/admin/edits", json={"edits": [EDIT]})
    await propose(bo, edits=[EDIT | {"answer": "Eve", "replaces": [1]}])
    await cy.post("/admin/reverts", json={"version": 1})
    item = (await bo.get("/admin/proposals/1")).json()
    assert item["report"] is None
    assert (await cy.post("/admin/proposals/1/approval", json={})).json()["code"] == item["refusal"]["code"]
    assert (await bo.get("/admin/proposals/1")).json()["state"] == "open"


@pytest.mark.parametrize("days", [0, 9])
async def test_a_day_is_proposed_with_it_and_is_no_earlier_than_the_approval(
    people: Mapping[str, httpx.AsyncClient], monkeypatch: pytest.MonkeyPatch, days: int
) -> None:
    day, tomorrow = (datetime.now(UTC).date() + timedelta(days=count) for count in (days, 1))
    proposal = await propose(people["bo"], review=str(day))
    assert proposal["review"] == str(day)
    monkeypatch.setattr(reviews, "find_today", lambda: tomorrow)
    monkeypatch.setattr(Decision, "day", tomorrow)
    reply = await people["cy"].post("/admin/proposals/1/approval", json={})
    assert reply.status_code == 200, reply.text
    [detail] = (await people["cy"].get("/admin/reviews")).json()["edits"]
    assert detail["edit"]["review"] == str(max(day, tomorrow))


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"edits": []}, 422),
        ({"edits": [EDIT] * 201}, 422),
        ({"expires_in_s": 0}, 422),
        ({"strict": True}, 422),
        ({"review": "1999-01-01"}, 422),
        ({"review": "soon"}, 422),
    ],
)
async def test_what_is_no_proposal_is_refused(
    people: Mapping[str, httpx.AsyncClient], fields: dict[str, Any], status: int
) -> None:
    reply = await people["bo"].post("/admin/proposals", json={"edits": [EDIT], **fields})
    assert reply.status_code == status
    assert (await people["bo"].get("/admin/proposals/7")).status_code == 404


@pytest.fixture
async def browsers(
    app: FastAPI, people: Mapping[str, httpx.AsyncClient]
) -> AsyncIterator[Mapping[str, httpx.AsyncClient]]:
    """The browsers of bo and cy, who have signed in."""
    async with client_of(app) as bo, client_of(app) as cy:
        for name, browser in (("bo", bo), ("cy", cy)):
            form = hidden_fields(await browser.get("/console/sign-in"), "/console/sign-in")
            await browser.post("/console/sign-in", data=form | {"key": key_of(people[name])})
        yield {"bo": bo, "cy": cy}


def key_of(client: httpx.AsyncClient) -> str:
    return client.headers["authorization"].removeprefix("Bearer ")


async def approve_on_page(browser: httpx.AsyncClient, place: str) -> httpx.Response:
    page = await browser.get(place)
    assert "<ins>Ada</ins>" in page.text
    return await browser.post(place, data=hidden_fields(page, place) | {"do": "approve"})


@pytest.mark.parametrize("approved_by", ["http", "command", "console"])
@pytest.mark.parametrize("proposed_by", ["http", "command", "console", "mcp"])
async def test_one_key_proposes_and_another_approves_whichever_way_each_takes(
    app: FastAPI,
    run: Run,
    people: Mapping[str, httpx.AsyncClient],
    browsers: Mapping[str, httpx.AsyncClient],
    proposed_by: str,
    approved_by: str,
) -> None:
    bo, cy, place = people["bo"], people["cy"], "/console/proposals/1"
    match proposed_by:
        case "http":
            await propose(bo)
        case "command":
            reply = await run("propose", EDIT["question"], "Ada", "-m", "Bo left", key=key_of(bo))
            assert reply.exit_code == 0, reply.output
        case "console":
            form = {"token": browsers["bo"].cookies["errata_form"], "kind": "answer", **EDIT}
            form |= {"do": "propose", "message": "Bo left"}
            reply = await browsers["bo"].post("/console/correct", data=form)
            assert reply.headers["location"] == f"{place}?fresh=1"
        case "mcp":
            async with listening(app) as url, connect(url, key_of(bo)) as client:
                assert not any("approve" in tool.name for tool in (await client.list_tools()).tools)
                await call(client, "propose_correction", **EDIT, message="Bo left")
    form = {"token": browsers["bo"].cookies["errata_form"], "do": "approve"}
    assert (await browsers["bo"].post(place, data=form)).status_code == 403
    assert await head(bo) == 0
    match approved_by:
        case "http":
            assert (await cy.post("/admin/proposals/1/approval", json={})).status_code == 200
        case "command":
            reply = await run("approve", "1", key=key_of(cy))
            assert "Proposal 1 by bo is live: version 1, by cy." in reply.output
        case "console":
            reply = await approve_on_page(browsers["cy"], place)
            assert reply.headers["location"] == "/console/versions/1?fresh=1"
    await check_names(app, cy, 1, "cy")
    assert "by cy" in (await browsers["bo"].get("/console/proposals?state=all")).text


async def check_names(app: FastAPI, reader: httpx.AsyncClient, version: int, approver: str) -> None:
    """Check that a proposal of bo, whose number is the version's, has made one commit, and who stands where."""
    assert await head(reader) == version
    commit = (await reader.get(f"/admin/versions/{version}")).json()
    assert (commit["author"], commit["message"]) == (approver, f"Bo left\n\nProposal {version} by bo")
    async with client_of(app) as admin:
        entries = (await admin.get("/admin/audit?limit=50", headers=ADMIN)).json()["entries"]
    calls = {(entry["path"], entry["status"]): entry for entry in entries if entry["method"] == "POST"}
    assert calls["/admin/proposals", 201]["name"] == "bo"
    approval = calls[f"/admin/proposals/{version}/approval", 200]
    expected = (approver, f"proposal {version} by bo", version)
    assert (approval["name"], approval["summary"], approval["version"]) == expected


async def test_of_two_who_approve_at_once_one_makes_the_commit_and_the_other_is_told(
    app: FastAPI, people: Mapping[str, httpx.AsyncClient], browsers: Mapping[str, httpx.AsyncClient]
) -> None:
    for number in range(1, 7):
        await propose(people["bo"], edits=[EDIT | {"question": f"who runs mill {number}?"}])
        place, path = f"/console/proposals/{number}", f"/admin/proposals/{number}/approval"
        form = hidden_fields(await browsers["cy"].get(place), place) | {"do": "approve"}
        page, reply = await asyncio.gather(
            browsers["cy"].post(place, data=form), people["di"].post(path, json={})
        )
        winner = "di" if reply.status_code == 200 else "cy"
        await check_names(app, people["cy"], number, winner)
        sentence = f"proposal {number} is approved by {winner} already: version {number}"
        if winner == "cy":
            assert (page.status_code, reply.status_code) == (303, 409)
            assert (reply.json()["detail"], reply.json()["version"]) == (sentence, number)
        else:
            assert (page.status_code, sentence in page.text) == (409, True)
        for _ in range(2):  # the winner may ask again, and the other is told again
            assert (await people["di"].post(path, json={})).status_code == reply.status_code


async def test_an_approval_that_is_refused_leaves_the_proposal_to_the_other(
    people: Mapping[str, httpx.AsyncClient],
) -> None:
    for number in range(1, 7):
        await propose(people["bo"], edits=[EDIT | {"question": f"who runs mill {number}?"}])
        path = f"/admin/proposals/{number}/approval"
        stale, done = await asyncio.gather(
            people["cy"].post(path, json={"expected_version": 99}),
            people["di"].post(path, json={"expected_version": number - 1}),
        )
        assert (stale.status_code, done.status_code) == (409, 200)
        item = (await people["cy"].get(f"/admin/proposals/{number}")).json()
        assert (item["state"], item["decided_by"], item["version"]) == ("approved", "di", number)
        assert (await people["cy"].get(f"/admin/versions/{number}")).json()["author"] == "di"
        assert await head(people["cy"]) == number


async def test_an_approval_that_was_cut_off_is_completed_by_another(
    app: FastAPI, people: Mapping[str, httpx.AsyncClient]
) -> None:
    await propose(people["bo"])
    claim = Decision(kind="approved", by="cy", time=time.time() - CUT_OFF_S - 1)
    await put_claim(app, claim)
    reply = await people["di"].post("/admin/proposals/1/approval", json={})
    assert (reply.status_code, reply.json()["by"], reply.json()["version"]) == (409, "cy", 1)
    assert (await people["di"].get("/admin/versions/1")).json()["author"] == "cy"


async def test_a_cut_off_approval_whose_commit_is_refused_leaves_the_proposal_open(
    app: FastAPI, people: Mapping[str, httpx.AsyncClient]
) -> None:
    await propose(people["bo"])
    claim = Decision(kind="approved", by="cy", time=time.time() - CUT_OFF_S - 1)
    await put_claim(app, claim)
    stale = await people["di"].post("/admin/proposals/1/approval", json={"expected_version": 9})
    assert stale.json()["code"] == "stale_version"
    rejected = await people["di"].post("/admin/proposals/1/rejection", json={"reason": "not so"})
    assert (rejected.status_code, rejected.json()["state"]) == (200, "rejected")


async def put_claim(app: FastAPI, claim: Decision) -> None:
    store = Proposals(app.state.access.connection)
    await store.claim(await store.get(1), claim)


@pytest.mark.parametrize("sees", [True, False], ids=["the ingress sees it", "the ingress sees nothing"])
async def test_an_approval_that_is_cut_right_after_its_append_is_made_once_and_never_rejected(
    people: Mapping[str, httpx.AsyncClient], monkeypatch: pytest.MonkeyPatch, sees: bool
) -> None:
    """The editor loses the reply of each append, and with `sees` false the ingress cannot look either."""
    rounds, run, find = 50 if TRIES_ALL else 4, RedisLedger._run_append, Proposals.find_made
    is_cut = False

    async def run_and_cut(ledger: RedisLedger, *args: Any, **options: Any) -> int:
        version = await run(ledger, *args, **options)
        if is_cut:
            raise LedgerUnavailable("the connection was cut")
        return version

    async def find_unless_cut(store: Proposals, *args: Any) -> Decision | None:
        if is_cut and not sees:
            raise LedgerUnavailable("the connection was cut")
        return await find(store, *args)

    monkeypatch.setattr(RedisLedger, "_run_append", run_and_cut)
    monkeypatch.setattr(Proposals, "find_made", find_unless_cut)
    for number in range(1, rounds + 1):
        await propose(people["bo"], edits=[EDIT | {"question": f"who runs mill {number}?"}])
        path, is_cut = f"/admin/proposals/{number}", True
        cut = await people["cy"].post(f"{path}/approval", json={})
        is_cut = False
        assert cut.status_code == (200 if sees else 503)
        attempts: list[tuple[str, dict[str, str]]] = [("rejection", {"reason": "no"}), ("approval", {})]
        for action, body in attempts if number % 2 else reversed(attempts):
            reply = await people["di"].post(f"{path}/{action}", json=body)
            problem = reply.json()
            assert (reply.status_code, problem["state"], problem["by"]) == (409, "approved", "cy")
            assert problem["version"] == number
        item = (await people["bo"].get(path)).json()
        assert (item["state"], item["decided_by"], item["version"]) == ("approved", "cy", number)
        assert await head(people["bo"]) == number
    again = await people["cy"].post("/admin/proposals/1/approval", json={})
    assert (again.status_code, again.json()["version"]) == (200, 1)
    commit = (await people["bo"].get("/admin/versions/1")).json()
    assert (commit["author"], commit["message"]) == ("cy", "Bo left\n\nProposal 1 by bo")


async def test_a_claim_whose_commit_is_made_does_not_expire(
    app: FastAPI, people: Mapping[str, httpx.AsyncClient], raw: redis.Redis
) -> None:
    """The ingress died right after the commit, and the proposal has ended since."""
    await propose(people["bo"], expires_in_s=1)
    assert (await people["cy"].post("/admin/proposals/1/approval", json={})).status_code == 200
    claim = Decision(kind="approved", by="cy", time=time.time() - CUT_OFF_S - 1)
    raw.hset(DECISIONS, "1", claim.model_dump_json())
    await asyncio.sleep(1.1)
    [item] = (await people["bo"].get("/admin/proposals?state=all")).json()["proposals"]
    assert (item["state"], item["version"]) == ("approved", 1)


async def test_a_rejection_ends_an_approval_that_is_still_under_way(
    app: FastAPI, people: Mapping[str, httpx.AsyncClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An approval waits for the editor so long that another rejects it: it commits nothing afterwards."""
    await propose(people["bo"])
    call, is_waiting, may_go = EditorClient.call, asyncio.Event(), asyncio.Event()

    async def call_late(editor: EditorClient, query: Any, *rest: Any) -> Any:
        if isinstance(query, Edit):
            is_waiting.set()
            await may_go.wait()
        return await call(editor, query, *rest)

    monkeypatch.setattr(EditorClient, "call", call_late)
    monkeypatch.setattr(routes, "CUT_OFF_S", 0.0)
    approval = asyncio.create_task(people["cy"].post("/admin/proposals/1/approval", json={}))
    await is_waiting.wait()
    rejection = await people["di"].post("/admin/proposals/1/rejection", json={"reason": "no"})
    may_go.set()
    late = await approval
    assert (rejection.status_code, late.status_code, late.json()["code"]) == (200, 409, "proposal_closed")
    assert (await people["bo"].get("/admin/proposals/1")).json()["state"] == "rejected"
    assert await head(people["bo"]) == 0


async def test_claims_that_an_older_build_left_are_settled_by_its_own_key(
    people: Mapping[str, httpx.AsyncClient], raw: redis.Redis
) -> None:
    """An older build gave the idempotency key of a proposal to its approver, and did not sort proposals."""
    for number in (1, 2):
        await propose(people["bo"], edits=[EDIT | {"question": f"who runs mill {number}?"}])
    assert (await people["cy"].post("/admin/proposals/1/approval", json={})).status_code == 200
    raw.rename(keys.idempotency(keys.PROPOSALS, keys.proposal(1)), keys.idempotency("cy", keys.proposal(1)))
    for number in (1, 2):
        claim = Decision(kind="approved", by="cy", time=time.time() - CUT_OFF_S - 1)
        raw.hset(DECISIONS, str(number), claim.model_dump_json())
    raw.delete(OPEN, PAST, BYTES)
    items = (await people["bo"].get("/admin/proposals?state=all")).json()["proposals"]
    assert [(item["number"], item["state"], item["version"]) for item in items] == [
        (2, "open", None),
        (1, "approved", 1),
    ]
    reply = await people["di"].post("/admin/proposals/2/rejection", json={"reason": "no"})
    assert (reply.status_code, reply.json()["decided_by"]) == (200, "di")
    assert await head(people["bo"]) == 1


async def test_another_commit_with_the_key_that_an_older_build_used_is_no_approval(
    app: FastAPI, people: Mapping[str, httpx.AsyncClient]
) -> None:
    """The approver has named an edit of their own as older builds named the commit of this proposal."""
    header = {"idempotency-key": keys.proposal(1)}
    dam = EDIT | {"question": "who runs the dam?"}
    assert (await people["cy"].post("/admin/edits", json={"edits": [dam]}, headers=header)).status_code == 201
    await propose(people["bo"])
    path = "/admin/proposals/1"
    refused = await people["cy"].post(f"{path}/approval", json={"expected_version": 99})
    assert (refused.status_code, refused.json()["code"]) == (409, "stale_version")
    await put_claim(app, Decision(kind="approved", by="cy", time=time.time() - CUT_OFF_S - 1))
    assert (await people["bo"].get(path)).json()["state"] == "open"
    rejected = await people["di"].post(f"{path}/rejection", json={"reason": "not so"})
    assert (rejected.status_code, rejected.json()["state"]) == (200, "rejected")
    assert await head(people["bo"]) == 1


async def test_a_proposal_that_is_dropped_while_it_is_read_does_not_look_open(
    app: FastAPI, people: Mapping[str, httpx.AsyncClient], raw: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    await propose(people["bo"])
    await people["cy"].post("/admin/proposals/1/rejection", json={"reason": "no"})
    commands = app.state.access.connection.commands
    read = commands.hmget

    async def read_and_drop(*arguments: Any) -> Any:
        values = await read(*arguments)
        raw.hdel(ROWS, "1")
        raw.hdel(DECISIONS, "1")
        return values

    monkeypatch.setattr(commands, "hmget", read_and_drop)
    assert (await people["bo"].get("/admin/proposals/1")).status_code == 404


async def test_ten_thousand_ended_proposals_cost_no_call_more_than_a_fifth_of_a_second(
    people: Mapping[str, httpx.AsyncClient], raw: redis.Redis
) -> None:
    """They are as an older build left them, of 1 to 10 kB each; the first call sorts them."""
    now = time.time()
    for start in range(1, 10_001, 1000):
        rows, decisions = {}, {}
        for number in range(start, start + 1000):
            edits = [EDIT | {"answer": "a" * 1000}] * (1 + number % 9)
            row = Row(number=number, author="bo", time=now, expires=now + 99, message="", edits=edits)
            rows[str(number)] = row.model_dump_json()
            decision = Decision(kind="rejected", by="cy", time=now - 20_000 + number)
            decisions[str(number)] = decision.model_dump_json()
        raw.hset(ROWS, mapping=rows)
        raw.hset(DECISIONS, mapping=decisions)
    raw.set(LAST, 10_000)
    while raw.zcard(PAST) < 10_000:
        assert (await people["bo"].get("/admin/proposals")).status_code == 200
    for make in (
        lambda: people["bo"].get("/admin/proposals"),
        lambda: people["bo"].get("/admin/proposals?state=all"),
        lambda: people["bo"].post("/admin/proposals", json={"edits": [EDIT]}),
    ):
        times_s = []
        for _ in range(3):
            start_s = time.perf_counter()
            reply = await make()
            times_s.append(time.perf_counter() - start_s)
            assert reply.status_code in (200, 201)
        assert min(times_s) < 0.2
    page = (await people["bo"].get("/admin/proposals?state=all")).json()
    assert page["proposals"][3]["number"] == 10_000
    assert len(page["proposals"]) + page["left_out"] == 10_003


async def test_ended_proposals_are_bounded_in_number_and_bytes(
    people: Mapping[str, httpx.AsyncClient], monkeypatch: pytest.MonkeyPatch, raw: redis.Redis
) -> None:
    monkeypatch.setattr(store, "MAX_PAST", 3)
    for number in range(1, 6):
        await propose(people["bo"], message="x" * 100)
        await people["cy"].post(f"/admin/proposals/{number}/rejection", json={"reason": "no"})
    items = (await people["bo"].get("/admin/proposals?state=all")).json()["proposals"]
    assert [item["number"] for item in items] == [5, 4, 3]
    assert int(raw.get(BYTES) or 0) == sum(map(len, raw.hvals(ROWS)))
    monkeypatch.setattr(store, "MAX_PAST_BYTES", int(raw.get(BYTES) or 0) - 1)
    assert len((await people["bo"].get("/admin/proposals?state=all")).json()["proposals"]) == 2
    monkeypatch.setattr(store, "MAX_OPEN_BYTES", 1)
    await propose(people["bo"])
    reply = await people["bo"].post("/admin/proposals", json={"edits": [EDIT]})
    assert (reply.status_code, reply.json()["code"]) == (429, "too_many")
