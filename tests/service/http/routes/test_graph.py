"""The graph over HTTP: files of any format are accepted and streamed through, and replies have our form."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest
import redis
from errata.wire import Problem
from fastapi import FastAPI

from service.config import Settings
from service.editing.editor import Editor
from service.http.app import build_app
from tests.service.graph.requests import import_notes, rows
from tests.service.http.conftest import (
    ADMIN,
    SHARED_LOOP,
    client_of,
    local_editor,
    local_router,
    serve_module,
)
from tests.service.toy_graph import TOYS

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


@pytest.mark.parametrize("text", ["georgia's", "PERU CAPITAL", "capital Cusco", "gold"])
async def test_the_log_is_searched_for_facts(http: httpx.AsyncClient, text: str) -> None:
    for subject, relation, value in (("Peru", "capital", "Cusco"), ("Peru", "currency", "gold")):
        item = {"subject": subject, "relation": relation, "object": value, "act": "set"}
        assert (await http.post(EDITS, json={"edits": [item]})).status_code == 201
    page = (await http.get("/admin/versions", params={"grep": text})).json()
    expected = {"PERU CAPITAL": [1], "capital Cusco": [1], "gold": [2]}
    assert [version["version"] for version in page["versions"]] == expected.get(text, [])


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
