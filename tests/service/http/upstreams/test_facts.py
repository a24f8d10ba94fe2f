"""Facts that a curator edited stand before the model of an upstream, at the version that is asked, if that is on."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.service.http.upstreams.origin import Origin, of_json
from tests.service.http.upstreams.test_asking import TEXT, ask, completion
from tests.service.http.upstreams.test_commands import run
from tests.service.toy_graph import TOYS

QUESTION = "What do people in Peru pay with?"  # no relation's label, so that no model of ours answers
SYSTEMS = {"nkb": TOYS["toy"], "kbert": TOYS["atlas"]}
ON = pytest.mark.parametrize("config", [{"systems": SYSTEMS, "upstream_facts": True}], indirect=True)
OTHERWISE = pytest.mark.parametrize(
    "config",
    [
        {"systems": SYSTEMS},
        {"systems": SYSTEMS, "upstream_facts": True, "upstream_mode": {"team": "observe"}},
    ],
    indirect=True,
)


async def add_fact(client: httpx.AsyncClient, object: str, relation: str = "currency") -> str:
    fact = {"subject": "Peru", "relation": relation, "object": object}
    reply = await client.post("/admin/edits", json={"edits": [fact], "wait": "all"})
    assert reply.status_code == 201, reply.text
    return str(reply.json()["report"]["edits"][0]["id"])


async def chat(
    client: httpx.AsyncClient, *, headers: dict[str, str] | None = None, **fields: Any
) -> httpx.Response:
    messages = [{"role": "user", "content": QUESTION}]
    body = {"model": "team/tiny", "messages": messages, **fields}
    return await client.post("/v1/chat/completions", json=body, headers=headers)


@ON
async def test_edited_facts_stand_before_the_question(client: httpx.AsyncClient, origin: Origin) -> None:
    origin.pieces = of_json(b'{"id": 1}')
    reply = await chat(client)
    assert (reply.headers["x-errata-outcome"], "x-errata-facts" in reply.headers) == ("passed", False)
    assert [message["role"] for message in json.loads(origin.body)["messages"]] == [
        "user"
    ]  # Peru's base has facts

    edit = await add_fact(client, "inti")
    reply = await chat(client)
    marks = {name: reply.headers[f"x-errata-{name}"] for name in ("outcome", "facts", "version")}
    assert marks == {"outcome": "fact", "facts": edit, "version": "1"}
    assert reply.content == b'{"id": 1}'
    system, question = json.loads(origin.body)["messages"]
    assert f"\n- [{edit}] Peru: currency: inti" in system["content"]
    assert question == {"role": "user", "content": QUESTION}
    page = (await client.get("/metrics")).text
    assert 'errata_upstream_requests_total{outcome="fact",upstream="team"} 1.0' in page

    await chat(client, headers={"x-errata-version": "0"})
    assert len(json.loads(origin.body)["messages"]) == 1
    await chat(client, tool_choice="required", tools=[])  # a request that no edit may answer
    assert len(json.loads(origin.body)["messages"]) == 1


@ON
async def test_a_curators_answer_lists_the_facts_that_stood_before_it(
    client: httpx.AsyncClient, origin: Origin
) -> None:
    origin.pieces = completion(TEXT)
    edit = await add_fact(client, "inti")
    answer = await ask(client, QUESTION)
    assert (answer["answer"], answer["upstream"]) == (TEXT, "team")
    assert [(fact["edit"], fact["object"]) for fact in answer["facts"]] == [(edit, "inti")]
    assert edit in json.loads(origin.body)["messages"][0]["content"]
    why = (await client.get("/admin/why", params={"question": QUESTION, "model": "team/tiny"})).json()
    assert [cause["edit"]["id"] for cause in why["causes"]] == [edit]
    assert (await ask(client, QUESTION, version=0))["facts"] == []
    assert len(json.loads(origin.body)["messages"]) == 1


@OTHERWISE
async def test_no_facts_are_put_before_a_model_unless_they_and_the_upstream_are_on(
    client: httpx.AsyncClient, origin: Origin
) -> None:
    await add_fact(client, "inti")
    reply = await chat(client)
    assert "x-errata-facts" not in reply.headers
    assert len(json.loads(origin.body)["messages"]) == 1
    origin.pieces = completion(TEXT)
    assert (await ask(client, QUESTION))["facts"] == []


@ON
async def test_check_keeps_within_its_budget_where_facts_take_two_requests(
    client: httpx.AsyncClient, origin: Origin, tmp_path: Path
) -> None:
    origin.pieces = completion(TEXT)
    await add_fact(client, "inti")
    (file := tmp_path / "questions.txt").write_text("\n".join(f"{QUESTION} ({n})" for n in range(4)), "utf-8")
    words = "check", "--questions", str(file), "--model", "team/tiny", "--budget"
    report = await run(client, *words, "4")
    assert "2 questions changed or failed" in report.stdout
    assert "the budget of 4 requests is used up" in " ".join(report.stderr.split())
    assert len(origin.requests) == 4
    report = await run(client, *words, "8")
    assert (report.exit_code, len(origin.requests)) == (0, 12)
