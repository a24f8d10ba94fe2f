"""The graph over HTTP: what is sent in any shape is answered in ours, and files stream through."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
import redis
from errata.wire import EntityState, ImportReceipt, Problem
from fastapi import FastAPI

from service.access.api_keys import fingerprint
from service.config import Settings
from service.editing.deployment import Editor
from service.http.app import build_app
from service.ledger.embedded.server import EmbeddedValkey
from service.ledger.store import RedisLedger
from service.replicas.replica import Replica
from tests.service.graph.requests import import_notes, rows
from tests.service.http.conftest import KEY, local_editor, local_router
from tests.service.parts import settings, started
from tests.service.toy_graph import BREAKING, TOYS

IMPORT, EDITS, ENTITIES = "/admin/graph/import", "/admin/edits", "/v1/entities"
OZ = b"Oz\tcapital\tEmerald City\nOz\tshares_border_with\tEv\n"
FACT = {"subject": "Peru", "relation": "capital", "object": "Cusco"}


@pytest.fixture
def chosen(valkey: EmbeddedValkey, tmp_path: Path) -> Settings:
    return settings(valkey.url, tmp_path, admin_key_sha256=fingerprint(KEY), systems=TOYS)


@pytest.fixture
async def app(chosen: Settings, ledger: RedisLedger) -> AsyncIterator[FastAPI]:
    async with (
        started(Replica, chosen, "toy") as toy,
        started(Replica, chosen, "atlas") as atlas,
        started(Editor, chosen) as editor,
    ):
        models = local_router({"toy": toy, "atlas": atlas}, chosen.max_batch)
        app = build_app(chosen, models, local_editor(editor))
        yield app
        await app.state.access.aclose()


async def answer(http: httpx.AsyncClient, question: str, model: str = "atlas", **more: Any) -> dict[str, Any]:
    reply = await http.post("/v1/answers", json={"question": question, "model": model, **more})
    found: dict[str, Any] = reply.json()
    return found


def refused(reply: httpx.Response, status: int, code: str) -> Problem:
    assert (reply.status_code, reply.json().get("code")) == (status, code), reply.text
    return Problem.model_validate_json(reply.content)


async def test_a_fact_reaches_both_models_at_one_version(http: httpx.AsyncClient) -> None:
    reply = await http.post(EDITS, json={"edits": [FACT]})
    assert (reply.status_code, reply.json()["all_applied"]) == (201, True)
    for model in ("toy", "atlas"):
        heard = await answer(http, "What is the capital of Peru?", model)
        assert (heard["answer"], heard["version"]) == ("Cusco", 1)
        pinned = await answer(http, "What is the capital of Peru?", model, version=0)
        assert (pinned["answer"], pinned["version"]) == ("Lima", 0)
    heard = await answer(http, "What is the capital of Peru?")
    assert [(one["subject"], one["object"]) for one in heard["facts"]] == [("Peru", "Cusco")]
    assert heard["edits"] == [heard["facts"][0]["edit"]]


async def test_without_the_graph_there_is_no_answer_and_only_who_reads_it_can_be_asked_so(
    http: httpx.AsyncClient,
) -> None:
    heard = await answer(http, "What is the capital of Peru?", kg="none")
    assert (heard["answer"], heard["reason"], heard["facts"]) == (None, "no_graph", [])
    reply = await http.post("/v1/answers", json={"question": "Who?", "model": "toy", "kg": "none"})
    assert "kg" in refused(reply, 422, "invalid_input").detail


async def test_a_question_that_breaks_the_model_spoils_no_other(http: httpx.AsyncClient) -> None:
    asked = [{"question": q, "model": "atlas"} for q in ("capital of Peru", BREAKING, "capital of Chile")]
    results = (await http.post("/v1/answers/batch", json={"questions": asked})).json()["results"]
    assert [one["answer"] and one["answer"]["answer"] for one in results] == ["Lima", None, "Santiago"]
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


@pytest.mark.parametrize(
    ("query", "body", "code"),
    [
        ({"format": "xml"}, OZ, "invalid_input"),
        ({"language": "english please"}, OZ, "invalid_input"),
        ({"expected_version": "-1"}, OZ, "invalid_input"),
        ({"expected_version": "7"}, OZ, "stale_version"),
        ({"dry_run": "perhaps"}, OZ, "invalid_input"),
        ({"wait": "some"}, OZ, "invalid_input"),
        ({"colour": "red"}, OZ, "invalid_input"),
        ({"source": "x" * 201}, OZ, "invalid_input"),
        ({}, b"", "invalid_input"),
        ({}, b"\x00\x01\x02", "invalid_input"),
        ({}, b"\x1f\x8b\x08broken", "invalid_input"),
        ({}, b"subject,object\na,b\n", "invalid_input"),
        ({"format": "wikidata"}, b"{}\n{]\n", "invalid_input"),
        ({"format": "nt"}, b"Oz capital Emerald\n", "invalid_input"),
    ],
)
async def test_a_bad_import_is_a_problem_and_changes_nothing(
    http: httpx.AsyncClient, raw: redis.Redis, query: dict[str, str], body: bytes, code: str
) -> None:
    reply = await asyncio.wait_for(http.post(IMPORT, content=body, params=query), 10)
    refused(reply, 409 if code == "stale_version" else 422, code)
    assert (await http.get("/admin/versions")).json()["head"] == 0
    assert (rows(raw), import_notes(raw)) == (set(), {})
    assert (await http.post(IMPORT, content=OZ)).status_code == 201, "and the next one is not kept out"


async def test_who_has_no_key_imports_nothing(stranger: httpx.AsyncClient) -> None:
    refused(await stranger.post(IMPORT, content=OZ), 401, "unauthorized")
    refused(await stranger.post(EDITS, json={"edits": [FACT]}), 401, "unauthorized")
    assert (await stranger.get(ENTITIES, params={"q": "Peru"})).status_code in (200, 401)


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
async def test_a_bad_fact_is_a_problem_and_changes_nothing(http: httpx.AsyncClient, item: Any) -> None:
    problem = refused(await http.post(EDITS, json={"edits": [item]}), 422, "invalid_input")
    assert not {"correction", "fact", "relation."} & set(problem.detail.split(".")[2:3])
    assert (await http.get("/admin/versions")).json()["head"] == 0


async def test_an_ambiguous_name_is_answered_with_candidates_and_repeated_with_an_id(
    http: httpx.AsyncClient,
) -> None:
    item = {"subject": "Georgia", "relation": "population", "object": "10"}
    problem = refused(await http.post(EDITS, json={"edits": [item]}), 409, "ambiguous")
    found = problem.model_dump()["candidates"]
    assert {one["id"] for one in found} == {"Q230", "Q1428"}
    assert (await http.post(EDITS, json={"edits": [{**item, "subject": found[0]["id"]}]})).status_code == 201


@pytest.mark.parametrize(
    "id", ["http://x.org/a/b#c", "urn:x:1", "a/b/../c", "100%", "?q=1", "日本", "_:b 0", "x//y", "/x"]
)
async def test_ids_of_any_shape_are_found_by_their_address(http: httpx.AsyncClient, id: str) -> None:
    data = f'subject,subject_id,relation,object\nThing,"{id}",motto,Yes\n'
    assert (await http.post(IMPORT, content=data.encode())).status_code == 201
    reply = await http.get(f"{ENTITIES}/{quote(id, safe='')}")
    assert reply.status_code == 200, reply.text
    found = EntityState.model_validate_json(reply.content)
    assert (found.id, found.facts[0].object, found.facts[0].added_in) == (id, "Yes", 1)
    refused(await http.get(f"{ENTITIES}/{quote(id, safe='')}", params={"version": 0}), 404, "not_found")


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (ENTITIES, 422),
        (f"{ENTITIES}?q=", 422),
        (f"{ENTITIES}?q=Peru&limit=0", 422),
        (f"{ENTITIES}?q=Peru&limit=101", 422),
        (f"{ENTITIES}?q=Peru&version=-1", 422),
        (f"{ENTITIES}?q=Peru&version=9", 404),
        (f"{ENTITIES}?q={'x' * 201}", 422),
        (f"{ENTITIES}?q=%ED%A0%80", 200),
        (f"{ENTITIES}?q=%00", 200),
        (f"{ENTITIES}/Q1", 404),
        (f"{ENTITIES}/Q419?version=x", 422),
        (f"{ENTITIES}/@relation%2Fcapital", 404),
    ],
)
async def test_a_look_up_of_any_kind_has_an_answer(http: httpx.AsyncClient, path: str, status: int) -> None:
    assert (await http.get(path)).status_code == status


async def test_the_memory_says_what_each_holds_after_facts_and_files(http: httpx.AsyncClient) -> None:
    before = (await http.get("/v1/memory")).json()
    await http.post(EDITS, json={"edits": [FACT, {**FACT, "relation": "motto"}]})
    await http.post(IMPORT, content=OZ)
    after = (await http.get("/v1/memory")).json()
    assert (before["version"], after["version"], after["edits"]["active"]) == (0, 2, 4)
    told = (await http.get("/admin/replicas")).json()["replicas"]
    assert {memory: sum for one in told for memory, sum in one["checksums"].items()} == after["checksums"]
    await http.post("/admin/rollbacks", json={"to": 0})
    assert (await http.get("/v1/memory")).json()["checksums"] == before["checksums"]


async def test_the_models_say_what_they_read(http: httpx.AsyncClient) -> None:
    cards = {one["id"]: one for one in (await http.get("/v1/models")).json()["data"]}
    assert {name: card["memories"][0]["name"] for name, card in cards.items()} == {
        "toy": "toy/table",
        "atlas": "graph/triples",
    }
