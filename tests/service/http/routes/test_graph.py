"""The graph over HTTP: files of any format are accepted and streamed through, and replies have our form."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.parse import quote

import httpx
import pytest
import redis
from errata.wire import EntityState, ImportReceipt, Problem
from fastapi import FastAPI

from service.config import Settings
from service.editing.deployment import Editor
from service.http.app import build_app
from service.ledger.store import RedisLedger
from tests.service.graph.requests import import_notes, rows
from tests.service.http.conftest import (
    ADMIN,
    SHARED_LOOP,
    client_of,
    local_editor,
    local_router,
    serve_module,
)
from tests.service.parts import start_deployment
from tests.service.toy_graph import BREAKING, TOYS

IMPORT, EDITS, ENTITIES = "/admin/graph/import", "/admin/edits", "/v1/entities"
OPTIONS = {"systems": TOYS}
OZ = b"Oz\tcapital\tEmerald City\nOz\tshares_border_with\tEv\n"
FACT = {"subject": "Peru", "relation": "capital", "object": "Cusco"}


@pytest.fixture(scope="module")
def shared_config(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    yield from serve_module(tmp_path_factory, systems=TOYS)


async def answer(
    http: httpx.AsyncClient, question: str, model: str = "atlas", **options: Any
) -> dict[str, Any]:
    reply = await http.post("/v1/answers", json={"question": question, "model": model, **options})
    body: dict[str, Any] = reply.json()
    return body


def parse_problem(reply: httpx.Response, status: int, code: str) -> Problem:
    assert (reply.status_code, reply.json().get("code")) == (status, code), reply.text
    return Problem.model_validate_json(reply.content)


async def test_a_fact_reaches_both_models_at_one_version(http: httpx.AsyncClient) -> None:
    reply = await http.post(EDITS, json={"edits": [FACT]})
    assert (reply.status_code, reply.json()["all_applied"]) == (201, True)
    for model in ("toy", "atlas"):
        reply_body = await answer(http, "What is the capital of Peru?", model)
        assert (reply_body["answer"], reply_body["version"]) == ("Cusco", 1)
        old_answer = await answer(http, "What is the capital of Peru?", model, version=0)
        assert (old_answer["answer"], old_answer["version"]) == ("Lima", 0)
    reply_body = await answer(http, "What is the capital of Peru?")
    assert [(item["subject"], item["object"]) for item in reply_body["facts"]] == [("Peru", "Cusco")]
    assert reply_body["edits"] == [reply_body["facts"][0]["edit"]]


async def test_without_the_graph_there_is_no_answer_and_only_who_reads_it_can_be_asked_so(
    http: httpx.AsyncClient,
) -> None:
    reply_body = await answer(http, "What is the capital of Peru?", kg="none")
    assert (reply_body["answer"], reply_body["reason"], reply_body["facts"]) == (None, "no_graph", [])
    reply = await http.post("/v1/answers", json={"question": "Who?", "model": "toy", "kg": "none"})
    assert "kg" in parse_problem(reply, 422, "invalid_input").detail


async def test_a_question_that_breaks_the_model_spoils_no_other(http: httpx.AsyncClient) -> None:
    questions = [{"question": q, "model": "atlas"} for q in ("capital of Peru", BREAKING, "capital of Chile")]
    results = (await http.post("/v1/answers/batch", json={"questions": questions})).json()["results"]
    assert [item["answer"] and item["answer"]["answer"] for item in results] == ["Lima", None, "Santiago"]
    assert results[1]["problem"]["code"] == "internal"


async def test_a_file_streams_in_and_is_answered_from(http: httpx.AsyncClient) -> None:
    async def body() -> AsyncIterator[bytes]:
        for at in range(0, len(OZ), 5):
            yield OZ[at : at + 5]

    reply = await http.post(IMPORT, content=body(), params={"source": "oz.tsv", "message": "wonders"})
    assert reply.status_code == 201
    receipt = ImportReceipt.model_validate_json(reply.content)
    assert (receipt.version, receipt.all_applied, receipt.counts.triples) == (1, True, 2)
    assert (await answer(http, "capital of Oz"))["answer"] == "Emerald City"
    again = await http.post(IMPORT, content=gzip.compress(OZ), params={"dry_run": "true"})
    assert (again.status_code, again.json()["version"]) == (200, None)


async def test_its_progress_is_told_line_by_line_and_the_receipt_comes_last(http: httpx.AsyncClient) -> None:
    reply = await http.post(IMPORT, content=OZ, headers={"accept": "application/x-ndjson"})
    lines = [json.loads(line) for line in reply.text.splitlines()]
    assert [set(line) for line in lines[:-1]] == [{"progress"}] * (len(lines) - 1)
    assert lines[-1]["receipt"]["version"] == 1
    bad = await http.post(
        IMPORT, content=b"bad\n", params={"format": "tsv"}, headers={"accept": "application/x-ndjson"}
    )
    assert json.loads(bad.text.splitlines()[-1])["problem"]["code"] == "invalid_input"


BAD_IMPORTS: list[tuple[dict[str, str], bytes, str]] = [
    ({"language": "english please"}, OZ, "invalid_input"),
    ({"expected_version": "7"}, OZ, "stale_version"),
    ({"colour": "red"}, OZ, "invalid_input"),
    ({}, b"", "invalid_input"),
    ({}, b"\x00\x01\x02", "invalid_input"),
    ({}, b"\x1f\x8b\x08broken", "invalid_input"),
    ({}, b"subject,object\na,b\n", "invalid_input"),
    ({"format": "wikidata"}, b"{}\n{]\n", "invalid_input"),
    ({"format": "nt"}, b"Oz capital Emerald\n", "invalid_input"),
]


async def test_a_bad_import_is_a_problem_and_changes_nothing(
    http: httpx.AsyncClient, raw: redis.Redis
) -> None:
    for query, body, code in BAD_IMPORTS:
        reply = await asyncio.wait_for(http.post(IMPORT, content=body, params=query), 10)
        parse_problem(reply, 409 if code == "stale_version" else 422, code)
        assert (await http.get("/admin/versions")).json()["head"] == 0
        assert (rows(raw), import_notes(raw)) == (set(), {}), query
    assert (await http.post(IMPORT, content=OZ)).status_code == 201, "and the next one is not kept out"


async def test_a_body_that_breaks_off_leaves_nothing(http: httpx.AsyncClient, raw: redis.Redis) -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield OZ
        raise RuntimeError("the cable was pulled")

    for _ in range(4):
        with pytest.raises((RuntimeError, httpx.HTTPError)):
            (await http.post(IMPORT, content=broken())).raise_for_status()
    assert (rows(raw), import_notes(raw)) == (set(), {})
    assert (await http.post(IMPORT, content=OZ)).json()["version"] == 1


@pytest.mark.parametrize(
    "item",
    [
        {"subject": "Peru", "relation": "capital"},
        {"subject": "", "relation": "capital", "object": "x"},
        {"subject": " ", "relation": "capital", "object": "x"},
        {**FACT, "act": "replace"},
        {**FACT, "only": "table"},
        {**FACT, "model": "atlas"},
        {**FACT, "question": "Who?", "answer": "I"},
        {**FACT, "relation": "x" * 201},
        {**FACT, "relation": "@label"},
        {**FACT, "object": 7},
        {**FACT, "subject": None},
        {**FACT, "object": "\u0000"},
        {"define": "motto"},
        {"define": "motto", "holds": "some"},
        {"define": "", "holds": "one"},
        {"define": "label", "holds": "one"},
        {"define": "@x", "holds": "one"},
        {"define": "motto", "holds": "one", "object": "x"},
    ],
)
@SHARED_LOOP
async def test_a_bad_fact_is_a_problem_and_changes_nothing(shared_http: httpx.AsyncClient, item: Any) -> None:
    problem = parse_problem(await shared_http.post(EDITS, json={"edits": [item]}), 422, "invalid_input")
    assert not {"correction", "fact", "relation."} & set(problem.detail.split(".")[2:3])
    assert (await shared_http.get("/admin/versions")).json()["head"] == 0


async def test_an_ambiguous_name_is_answered_with_candidates_and_repeated_with_an_id(
    http: httpx.AsyncClient,
) -> None:
    item = {"subject": "Georgia", "relation": "population", "object": "10"}
    problem = parse_problem(await http.post(EDITS, json={"edits": [item]}), 409, "ambiguous")
    candidates = problem.model_dump()["candidates"]
    assert {item["id"] for item in candidates} == {"Q230", "Q1428"}
    assert (
        await http.post(EDITS, json={"edits": [{**item, "subject": candidates[0]["id"]}]})
    ).status_code == 201


IDS = ("http://x.org/a/b#c", "urn:x:1", "a/b/../c", "100%", "?q=1", "日本", "_:b 0", "x//y", "/x")


async def test_ids_of_any_shape_are_found_by_their_address(http: httpx.AsyncClient) -> None:
    for version, id in enumerate(IDS, start=1):
        data = f'subject,subject_id,relation,object\nThing,"{id}",motto,Yes\n'
        assert (await http.post(IMPORT, content=data.encode())).status_code == 201
        address = f"{ENTITIES}/{quote(id, safe='')}"
        reply = await http.get(address)
        assert reply.status_code == 200, reply.text
        entity = EntityState.model_validate_json(reply.content)
        assert (entity.id, entity.facts[0].object, entity.facts[0].added_in) == (id, "Yes", version)
        parse_problem(await http.get(address, params={"version": version - 1}), 404, "not_found")


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (f"{ENTITIES}?q=", 422),
        (f"{ENTITIES}?q=Peru&version=9", 404),
        (f"{ENTITIES}?q=%ED%A0%80", 200),
        (f"{ENTITIES}?q=%00", 200),
        (f"{ENTITIES}/Q1", 404),
        (f"{ENTITIES}/@relation%2Fcapital", 404),
    ],
)
@SHARED_LOOP
async def test_a_look_up_of_any_kind_has_an_answer(
    shared_http: httpx.AsyncClient, path: str, status: int
) -> None:
    assert (await shared_http.get(path)).status_code == status


async def test_the_memory_says_what_each_holds_after_facts_and_files(http: httpx.AsyncClient) -> None:
    before = (await http.get("/v1/memory")).json()
    await http.post(EDITS, json={"edits": [FACT, {**FACT, "relation": "motto"}]})
    await http.post(IMPORT, content=OZ)
    after = (await http.get("/v1/memory")).json()
    assert (before["version"], after["version"], after["edits"]["active"]) == (0, 2, 4)
    replicas = (await http.get("/admin/replicas")).json()["replicas"]
    assert {memory: sum for item in replicas for memory, sum in item["checksums"].items()} == after[
        "checksums"
    ]
    await http.post("/admin/rollbacks", json={"to": 0})
    assert (await http.get("/v1/memory")).json()["checksums"] == before["checksums"]


async def test_the_models_say_what_they_read(http: httpx.AsyncClient) -> None:
    cards = {item["id"]: item for item in (await http.get("/v1/models")).json()["data"]}
    assert {name: card["memories"][0]["name"] for name, card in cards.items() if name != "auto"} == {
        "toy": "toy/table",
        "atlas": "graph/triples",
    }
    auto = (await http.get("/v1/models/auto")).json()
    assert (auto, auto["details"]["asks"]) == (cards["auto"], ["toy", "atlas"])


async def test_looking_into_an_old_graph_counts_as_more_calls(config: Settings, editor: Editor) -> None:
    app = build_app(
        config.model_copy(update={"rate_per_address": "25/minute"}), local_router({}), local_editor(editor)
    )
    async with client_of(app) as client:
        old = [(await client.get(ENTITIES, params={"q": "a", "version": 0})).status_code for _ in range(3)]
        assert old[2] == 429 not in old[:2]
        new = [(await client.get(ENTITIES, params={"q": "a"})).status_code for _ in range(5)]
        assert new[4] == 429 not in new[:4]
    await app.state.access.aclose()


async def test_a_key_that_is_revoked_while_its_file_comes_imports_nothing(app: FastAPI) -> None:
    async with client_of(app) as client:
        reply = await client.post("/admin/keys", json={"name": "anna", "scopes": ["edit"]}, headers=ADMIN)
        anna = {"authorization": f"Bearer {reply.json()['key']}"}

        async def rows(is_revoked: bool) -> AsyncIterator[bytes]:
            yield b"Lima\tcountry\tPeru\n"
            if is_revoked:
                await client.delete("/admin/keys/anna", headers=ADMIN)

        first = await client.post("/admin/graph/import", content=rows(is_revoked=False), headers=anna)
        second = await client.post("/admin/graph/import", content=rows(is_revoked=True), headers=anna)
        assert (first.status_code, second.status_code) == (201, 401), (first.text, second.text)
        assert (await client.get("/admin/versions", headers=ADMIN)).json()["head"] == 1


@pytest.mark.parametrize(
    ("limit", "content", "says"),
    [
        ({"import_names": 2}, OZ + b"Ev\tcapital\tEvna\nMo\tcapital\tMohave\n", "may give 2 names"),
        ({"upload_disk_mb": 1}, b"Oz\tborders\t%b\n" % (b"x" * 300) * 2_000, "may have 500,000 bytes"),
    ],
)
async def test_an_import_beyond_a_bound_of_the_operator_is_refused_whole(
    config: Settings, ledger: RedisLedger, limit: dict[str, int], content: bytes, says: str
) -> None:
    limited = config.model_copy(update=limit)
    async with start_deployment(Editor, limited) as editor:
        app = build_app(limited, local_router({}), local_editor(editor))
        async with client_of(app) as client:
            problem = parse_problem(
                await client.post(IMPORT, content=content, headers=ADMIN), 413, "too_large"
            )
            assert says in problem.detail
            assert (await client.get("/admin/versions", headers=ADMIN)).json()["head"] == 0
        await app.state.access.aclose()
