"""A memory with a special kind of change is edited over HTTP: tried, made, compared, refused, reverted."""

from typing import Any

import httpx
import pytest

from tests.service.toy_rules import RULES

OPTIONS = {"systems": {"parrot": "tests.service.toy_rules:load_parrot"}}
HELLO = {"memory": RULES, "kind": "rule", "change": {"word": "hello"}}


async def edit(http: httpx.AsyncClient, item: dict[str, Any], **options: object) -> httpx.Response:
    return await http.post("/admin/edits", json={"edits": [item], "wait": "all", **options})


async def ask(http: httpx.AsyncClient, question: str, **options: object) -> dict[str, Any]:
    reply = await http.post("/v1/answers", json={"question": question, **options})
    answer: dict[str, Any] = reply.raise_for_status().json()
    return answer


async def test_a_rule_is_tried_made_compared_and_taken_back(http: httpx.AsyncClient) -> None:
    trial = (await edit(http, HELLO, dry_run=True)).json()["report"]
    assert [(change["question"], change["after"]) for change in trial["side_effects"]] == [
        ("Say hello", None)
    ]
    assert (await ask(http, "Say hello"))["answer"] == "hello"
    receipt = (await edit(http, HELLO)).json()
    (report,) = receipt["report"]["edits"]
    assert (report["question"], report["answer"], report["holds"]) == ("", "forbid 'hello'", True)
    assert report["notes"] == {"change": {"word": "hello"}, "summary": "forbid 'hello'"}
    answer = await ask(http, "Say hello", min_version=1)
    assert (answer["answer"], answer["edits"]) == (None, [report["id"]])
    diff = (await http.get("/admin/diff", params={"from": 0, "to": 1})).json()
    assert [(change["memory"], change["kind"], change["summary"]) for change in diff["memory_changes"]] == [
        (RULES, "rule", "forbid 'hello'")
    ]
    pages = [
        (await http.get("/admin/edits", params={"memory": RULES, "version": version})).json()
        for version in (0, 1)
    ]
    active = [[(item["edit"], item["version"], item["author"]) for item in page["edits"]] for page in pages]
    assert active == [[], [(HELLO, 1, "admin")]]
    for params, status in (
        ({"version": 1}, 422),
        ({"memory": "rulez"}, 404),
        ({"memory": RULES, "version": 9}, 404),
    ):
        assert (await http.get("/admin/edits", params=params)).status_code == status
    assert (await http.post("/admin/reverts", json={"version": 1, "wait": "all"})).status_code == 201
    assert (await ask(http, "Say hello", min_version=2))["answer"] == "hello"
    memory = (await http.get("/v1/memory")).json()
    assert memory["version"] == 2
    assert (await ask(http, "Say hello", version=1))["answer"] is None


async def test_its_question_is_a_fact_test(http: httpx.AsyncClient) -> None:
    allow = {
        **HELLO,
        "change": {"word": "hello", "forbid": False},
        "question": "Say hello",
        "answer": "hello",
    }
    assert (await edit(http, allow)).status_code == 201
    assert (await edit(http, HELLO, strict=True)).json()["code"] == "breaks_tests"
    receipt = (await edit(http, HELLO)).json()
    assert [test["question"] for test in receipt["report"]["broken_tests"]] == ["Say hello"]
    wrong = await edit(http, {**HELLO, "question": "Say hello", "answer": "goodbye"})
    assert (wrong.status_code, wrong.json()["code"], wrong.json()["reason"]) == (
        422,
        "edit_refused",
        "does_not_hold",
    )


@pytest.mark.parametrize(
    ("change", "field", "detail"),
    [
        (
            {"memory": "no/rules"},
            "edits.0.memory",
            "there is no memory 'no/rules' here: there is parrot/rules",
        ),
        ({"kind": "sense"}, "edits.0.kind", "parrot/rules takes no 'sense': it takes rule"),
        ({"change": {"word": ""}}, "edits.0.change.word", "at least 1 character"),
        ({"change": {"word": "two words"}}, "edits.0.change.word", "one word, without spaces"),
        ({"change": {}}, "edits.0.change.word", "word: Field required"),
        ({"change": {"word": "a", "wrod": 1}}, "edits.0.change.wrod", "Extra inputs are not permitted"),
    ],
)
async def test_what_is_wrong_is_named(
    http: httpx.AsyncClient, change: dict[str, Any], field: str, detail: str
) -> None:
    reply = await edit(http, {**HELLO, **change})
    assert (reply.status_code, reply.json()["field"]) == (422, field)
    assert detail in reply.json()["detail"]


async def test_what_the_memory_refuses_is_said_in_its_words(http: httpx.AsyncClient) -> None:
    reply = await edit(http, {**HELLO, "change": {"word": "say"}})
    assert (reply.status_code, reply.json()["reason"]) == (422, "needed")
    assert "cannot be forbidden" in reply.json()["detail"]
