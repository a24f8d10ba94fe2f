"""What a curator sees of edits beside the history: how often each answers, and when it is looked at again."""

import asyncio
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from service.curation import buffered_counter, hits, reviews
from tests.service.http.conftest import Run
from tests.service.parts import PATIENCE_S

PERU = "What is the capital of Peru?"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts are written quickly."""
    monkeypatch.setattr(buffered_counter, "WRITE_EVERY_S", 0.01)


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
    assert "as_of: is no day: write it as" in (await run("why", PERU, "--as-of", "1975")).stderr


async def test_active_edits_are_listed_by_their_hits(
    http: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hits, "PAGE", 1)
    answers = {PERU: 1, "What is the capital of Chile?": 3, "Where is the depot?": 4, "Who is it?": 0}
    for question, count in answers.items():
        edit_id = await edit(http, question, "Cusco")
        await http.post("/v1/answers/batch", json={"questions": [{"question": question}] * max(1, count)})
        await find_hits(http, edit_id, count)
    await http.post("/admin/reverts", json={"version": 3})
    for limit, counts in ((1, [3]), (20, [3, 1, 1])):
        edits = (await http.get("/admin/hits", params={"limit": limit})).json()["edits"]
        assert [detail["edit"]["hits"]["count"] for detail in edits] == counts
        assert edits[0]["version"] == 2


def in_days(count: int) -> str:
    return str(datetime.now(UTC).date() + timedelta(days=count))


async def list_reviews(http: httpx.AsyncClient, **query: object) -> list[tuple[str, str]]:
    """Return the questions and days of the edits that are listed."""
    page = (await http.get("/admin/reviews", params={k: str(v) for k, v in query.items()})).json()
    return [(detail["edit"]["question"], detail["edit"]["review"]) for detail in page["edits"]]


CHILE = "What is the capital of Chile?"


async def test_a_day_is_moved_taken_away_and_gone_with_its_edit(http: httpx.AsyncClient, run: Run) -> None:
    peru = await edit(http, PERU, "Cusco", review=in_days(0))
    reply = await run("review", peru, in_days(30))
    assert reply.stdout == f"Edit {peru} is looked at again on {in_days(30)}: {PERU}\n"
    assert (await run("reviews")).stdout.startswith("No edit is to be looked at again today. 1 edit will be")
    assert f"again    looked at on {in_days(30)}" in (await run("show", peru)).stdout
    assert (await run("review", peru, "never")).stdout.startswith(f"Edit {peru} is looked at again on no day")
    assert await list_reviews(http) == []
    await run("review", peru, in_days(0))
    await http.post("/admin/reverts", json={"edits": [peru]})
    assert await list_reviews(http) == []
    refusal = await run("review", peru, in_days(1))
    assert refusal.exit_code == 1
    assert f"edit {peru} is taken back" in refusal.stderr


BAD_DAYS = (
    ("1999-01-01", 422, "1999-01-01 is past: give today or a later day"),
    ("tomorrow", 422, "is no day: write it as 2027-06-01"),
    (20270601, 422, "valid date"),
)


@pytest.mark.parametrize(("day", "status", "words"), BAD_DAYS)
async def test_a_day_that_cannot_be_is_refused_and_nothing_is_made(
    http: httpx.AsyncClient, day: object, status: int, words: str
) -> None:
    item = {"question": PERU, "answer": "Cusco", "model": "toy"}
    reply = await http.post("/admin/edits", json={"edits": [item], "review": day})
    assert (reply.status_code, words in reply.text) == (status, True), reply.text
    peru = await edit(http, PERU, "Cusco")
    reply = await http.put(f"/admin/edits/{peru}/review", json={"on": day})
    assert (reply.status_code, words in reply.text) == (status, True), reply.text
    assert await list_reviews(http) == []


async def test_a_request_that_is_repeated_after_its_day_gets_its_first_receipt(
    http: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = {"edits": [{"question": PERU, "answer": "Cusco", "model": "toy"}], "review": in_days(0)}
    first = await http.post("/admin/edits", json=body, headers={"idempotency-key": "first"})
    tomorrow = datetime.now(UTC).date() + timedelta(days=1)
    monkeypatch.setattr(reviews, "find_today", lambda: tomorrow)
    again = await http.post("/admin/edits", json=body, headers={"idempotency-key": "first"})
    assert (again.status_code, again.json()["version"]) == (first.status_code, 1), again.text
    other = await http.post("/admin/edits", json=body, headers={"idempotency-key": "second"})
    assert (other.status_code, "is past" in other.text) == (422, True)


async def test_a_replaced_edit_is_not_asked_for_until_what_replaced_it_is_taken_back(
    http: httpx.AsyncClient,
) -> None:
    await edit(http, PERU, "Cusco", review=in_days(0))
    assert await list_reviews(http) == [(PERU, in_days(0))]
    await edit(http, PERU, "Puno")
    page = (await http.get("/admin/reviews")).json()
    assert (page["edits"], page["due"], page["total"]) == ([], 0, 0)
    assert (await http.post("/admin/reverts", json={"version": 2})).status_code == 201
    assert await list_reviews(http) == [(PERU, in_days(0))]
