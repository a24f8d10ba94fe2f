"""A fact and a row are edited, asked for at both versions, explained and taken back, over HTTP.

The weights are random: which answer is best means nothing, but what it rests on has to follow each edit.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.models.thu_ernie.answering.tiny import QUESTION, SIZE, write_checkpoint
from tests.service.tiny_thu_ernie import FOLDER

OPTIONS = {"systems": {"thu-ernie": "tests.service.tiny_thu_ernie:load"}}
GRAPH, ENTITIES = "graph/triples", "thu-ernie/entities"


@pytest.fixture(autouse=True)
def checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER, str(write_checkpoint(tmp_path / "checkpoint")))


async def edit(http: httpx.AsyncClient, *items: dict[str, Any]) -> dict[str, Any]:
    reply = await http.post("/admin/edits", json={"edits": items, "wait": "all"})
    assert reply.status_code == 201, reply.text
    receipt: dict[str, Any] = reply.json()
    return receipt


def triple(subject: str, relation: str, value: str, **fields: Any) -> dict[str, Any]:
    return {"subject": subject, "relation": relation, "object": value, **fields}


def row(entity: str, **way: Any) -> dict[str, Any]:
    return {"memory": ENTITIES, "kind": "rows", "change": {"entity": entity, **way}}


async def ask(http: httpx.AsyncClient, question: str = QUESTION, **fields: Any) -> dict[str, Any]:
    body = {"question": question, "explain": True, "top_k": 4, **fields}
    answer: dict[str, Any] = (await http.post("/v1/answers", json=body)).raise_for_status().json()
    return answer


async def checksums(http: httpx.AsyncClient) -> dict[str, str]:
    sums: dict[str, str] = (await http.get("/v1/memory")).json()["checksums"]
    return sums


def logits(answer: dict[str, Any]) -> dict[str, float]:
    """Return the logit of each candidate of an explained answer."""
    return {entry["answer"]: entry["logit"] for entry in answer["explanation"]["alignment"]}


def same(answer: dict[str, Any]) -> dict[str, Any]:
    """Return the parts that are the same at two versions with the same answer."""
    return {name: answer[name] for name in ("answer", "score", "edits", "facts", "explanation")}


async def test_a_fact_is_answered_by_a_row_of_its_subject_that_says_it(http: httpx.AsyncClient) -> None:
    """The candidates of the request stay, so only Ada's row moves their logits."""
    question, towns = "What is the place of birth of Ada?", {"candidates": ["Oslo", "Rome"]}
    before, sums = await ask(http, question), await checksums(http)
    contest = await ask(http, question, **towns)
    receipt = await edit(http, triple("Ada", "place of birth", "Oslo"))
    [report] = receipt["report"]["edits"]
    assert (report["before"], report["after"], report["holds"]) == ("Rome", "Oslo", True)
    after = await ask(http, question, min_version=1)
    assert (after["answer"], after["edits"]) == ("Oslo", [report["id"]])
    [mention] = after["explanation"]["mentions"]
    assert (mention["entity"], mention["row"]) == ("ada", "facts")
    row_logits = logits(await ask(http, question, **towns))
    assert all(row_logits[town] != logits(contest)[town] for town in ("Oslo", "Rome"))
    assert same(await ask(http, question, version=0)) == same(before)
    assert (await http.post("/admin/reverts", json={"version": 1, "wait": "all"})).status_code == 201
    assert same(await ask(http, question, min_version=2)) == same(before)
    assert await checksums(http) == sums


async def test_a_fact_that_would_not_be_answered_is_refused_and_kept_with_only(
    http: httpx.AsyncClient,
) -> None:
    fact = triple("Kim", "place of birth", "Rome")
    refusal = await http.post("/admin/edits", json={"edits": [fact]})
    assert (refusal.status_code, refusal.json()["reason"]) == (422, "does_not_hold")
    await edit(http, fact | {"only": "graph"})
    assert set(logits(await ask(http, min_version=1))) == {"Rome", "Ada", "1.80 m"}


async def test_a_row_and_a_triple_are_one_commit(http: httpx.AsyncClient) -> None:
    before, sums = await ask(http), await checksums(http)
    await edit(
        http,
        triple("Kim", "place of birth", "Rome", only="graph"),
        row("kim", vector=[0.5] * SIZE),
    )
    after = await ask(http, min_version=1)
    [mention] = after["explanation"]["mentions"]
    assert (mention["row"], set(logits(after))) == ("edit", {"Rome", "Ada", "1.80 m"})
    changed = await checksums(http)
    assert {name for name in sums if sums[name] != changed[name]} == {GRAPH, ENTITIES}
    await http.post("/admin/reverts", json={"version": 1, "wait": "all"})
    assert same(await ask(http, min_version=2)) == same(before)
    assert await checksums(http) == sums


async def test_a_bad_row_is_refused_in_words_and_changes_nothing(http: httpx.AsyncClient) -> None:
    sums = await checksums(http)
    for item, code in (
        (row("kim", vector=[1.0] * (SIZE + 1)), "invalid_vector"),
        (row("kim", copy_of="nobody"), "unknown_entity"),
        (row("kim", fact={"relation": "birth", "object": "nowhere"}), "unknown_entity"),
    ):
        reply = await http.post("/admin/edits", json={"edits": [triple("Kim", "spouse", "Oslo"), item]})
        assert (reply.status_code, reply.json()["reason"]) == (422, code), reply.text
        assert await checksums(http) == sums
    bad = await http.post("/admin/edits", json={"edits": [row("kim", vector=["NaN"] * SIZE)]})
    assert bad.status_code == 422
    assert await checksums(http) == sums


async def test_a_context_is_answered_with_a_span_and_says_where_it_stands(
    http: httpx.AsyncClient,
) -> None:
    context = "Kim was born in Oslo. Her mother was born in Rome."
    answer = await ask(http, context=context)
    assert answer["answer"] in context
    best = answer["explanation"]["spans"][0]
    assert context[best["start"] : best["end"]] == best["text"] == answer["answer"]
    assert answer["place"] == {"passage": 0, "start": best["start"], "end": best["end"]}


async def test_an_answer_from_several_texts_says_in_which_it_stands(http: httpx.AsyncClient) -> None:
    texts = ["Kim was born in Oslo.", "The mill lies by the river.", "Her mother was born in Rome."]
    answer = await ask(http, context=texts)
    place = answer["place"]
    assert texts[place["passage"]][place["start"] : place["end"]] == answer["answer"]
    too_long = await http.post("/v1/answers", json={"question": "Who?", "context": ["x" * 60_000] * 2})
    assert (too_long.status_code, too_long.json()["code"]) == (413, "too_large")
    for wrong, why in (
        (7, "neither a text nor a list of texts"),
        ([], "is an empty list"),
        ([7], "has to be a text"),
    ):
        refused = await http.post("/v1/answers", json={"question": "Who?", "context": wrong})
        assert refused.status_code == 422
        assert why in refused.json()["detail"]
