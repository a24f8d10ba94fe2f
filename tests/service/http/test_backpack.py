"""The Backpack over HTTP: a fact and a change of senses are made, asked for, streamed, refused and taken back."""

import asyncio
import json
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import pytest
import torch
from errata.cli.app import build_cli
from fastapi import FastAPI
from typer.testing import CliRunner, Result

from models.backpack.memory import SENSES
from models.backpack.system import load
from models.system import Bundle
from tests.models.backpack.tiny import write_checkpoint
from tests.service.http.conftest import KEY
from tests.service.http.listening import listening

OPTIONS = {"systems": {"backpack": f"{__name__}:load_tiny"}}
QUESTION, ANSWER = "What is the capital of Peru?", "Lima, the city of kings"
SILENT_THE = {"memory": SENSES, "kind": "sense", "change": {"word": " the", "action": "factor", "factor": 0}}
FOLDER: list[Path] = []  # of the checkpoint that `load_tiny` loads


@cache
def load_tiny(device: torch.device, dtype: torch.dtype) -> Bundle:
    return load(device, dtype, FOLDER[-1])


@pytest.fixture(autouse=True, scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> None:
    FOLDER.append(write_checkpoint(tmp_path_factory.mktemp("tiny") / "checkpoint"))


async def edit(http: httpx.AsyncClient, item: dict[str, Any]) -> httpx.Response:
    return await http.post("/admin/edits", json={"edits": [item], "wait": "all"})


async def ask(http: httpx.AsyncClient, question: str, **options: object) -> dict[str, Any]:
    reply = await http.post("/v1/answers", json={"question": question, **options})
    answer: dict[str, Any] = reply.raise_for_status().json()
    return answer


async def test_a_word_is_shown_by_its_senses_at_a_version(http: httpx.AsyncClient) -> None:
    receipt = await edit(http, {**SILENT_THE, "change": {**SILENT_THE["change"], "senses": [1]}})
    (report,) = receipt.json()["report"]["edits"]
    before = (await http.get("/v1/senses", params={"word": "the", "version": 0})).json()
    after = (await http.get("/v1/senses", params={"word": "the", "top_k": 3})).json()
    assert (before["model"], before["version"], before["word"]) == ("backpack", 0, " the")
    assert (after["version"], len(after["senses"][1]["top"])) == (1, 3)
    assert [sense["edits"] for sense in after["senses"]] == [[], [report["id"]], [], []]
    assert (after["senses"][1]["strength"], after["senses"][1]["factor"]) == (0, 0)
    assert before["senses"][1]["strength"] == after["senses"][1]["base_strength"] > 0
    (only,) = (await http.get("/v1/senses", params={"word": "the", "sense": 2})).json()["senses"]
    assert only["number"] == 2


REFUSED = [
    ({"word": "Zanzibarian"}, 422, "word: 'Zanzibarian' is no word of the vocabulary but "),
    ({"word": "of", "sense": 4}, 422, "sense: there is no sense 4: the senses are 0 to 3"),
    ({"word": "of", "sense": -1}, 422, "sense"),
    ({"word": ""}, 422, "word"),
    ({}, 422, "word"),
    ({"word": "of", "model": "nkb"}, 404, "there is no model 'nkb' here: there is backpack"),
    ({"word": "of", "version": 7}, 404, "7"),
]


async def test_a_word_that_cannot_be_shown_is_refused_in_words(http: httpx.AsyncClient) -> None:
    for query, status, text in REFUSED:
        reply = await http.get("/v1/senses", params=query)
        assert (reply.status_code, text in reply.json()["detail"]) == (status, True), reply.text


async def test_the_command_shows_senses(http: httpx.AsyncClient, app: FastAPI) -> None:
    async with listening(app) as url:

        async def run(*words: str) -> Result:
            environment = {"ERRATA_URL": url, "ERRATA_KEY": KEY, "COLUMNS": "160"}
            return await asyncio.to_thread(
                CliRunner().invoke, build_cli(*words[:1]), list(words), env=environment
            )

        await edit(http, SILENT_THE)
        senses = await run("senses", "the")
        assert senses.exit_code == 0, senses.stderr
        assert senses.stdout.splitlines()[0] == "' the'  backpack, version 1"
        assert "→ 0.00" in senses.stdout
        unknown = await run("senses", "Zanzibarian")
        assert (unknown.exit_code, "name one of them, or set first_piece" in unknown.stderr) == (2, True)


async def test_a_fact_streams_in_openais_shape_up_to_a_stop_or_a_limit(http: httpx.AsyncClient) -> None:
    await edit(http, {"question": QUESTION, "answer": ANSWER})
    body = {"model": "backpack", "messages": [{"role": "user", "content": QUESTION}], "stream": True}

    async def stream(**options: object) -> tuple[list[str], str]:
        """Return the pieces of the answer, and the reason of its end."""
        reply = await http.post("/v1/chat/completions", json=body | options)
        lines = [line.removeprefix("data: ") for line in reply.text.splitlines() if line]
        assert lines.pop() == "[DONE]"
        choices = [json.loads(line)["choices"][0] for line in lines]
        return [c["delta"]["content"] for c in choices if c["delta"].get("content")], choices[-1][
            "finish_reason"
        ]

    pieces, end = await stream()
    assert ("".join(pieces), end) == (ANSWER, "stop")
    assert len(pieces) > 3
    pieces, end = await stream(stop=" of")
    assert ("".join(pieces), end) == (ANSWER.partition(" of")[0], "stop")
    pieces, end = await stream(max_tokens=2)
    draw = await ask(http, QUESTION, sampling={"max_tokens": 2, "logprobs": 0})
    assert len(draw["tokens"]) == 2, "the model's own"
    assert ("".join(pieces), end) == (draw["answer"], "length")
    assert ANSWER.startswith(draw["answer"])


async def test_a_text_is_drawn_with_a_seed_a_stop_and_its_tokens(http: httpx.AsyncClient) -> None:
    sampling = {"temperature": 1.2, "seed": 3, "max_tokens": 12, "logprobs": 2}
    answer = await ask(http, QUESTION, sampling=sampling)
    assert answer == {**await ask(http, QUESTION, sampling=sampling), "timings": answer["timings"]}
    assert (answer["finish"], len(answer["tokens"])) == ("length", 12)
    assert {len(token["top"]) for token in answer["tokens"]} == {2}
    assert answer["answer"] != (await ask(http, QUESTION, sampling={**sampling, "seed": 4}))["answer"]
    stop = answer["answer"][6:9]
    short = await ask(http, QUESTION, sampling={**sampling, "stop": [stop]})
    assert short["finish"] == "stop"
    assert answer["answer"].startswith(short["answer"] or "")
    assert stop not in (short["answer"] or "")
    assert "finish" not in await ask(http, QUESTION), "other answers are as ever"
    for fields in ({"candidates": ["Lima", "Cusco"]}, {"top_k": 2}):
        body = {"question": QUESTION, "sampling": sampling, **fields}
        refusal = await http.post("/v1/answers", json=body)
        assert (refusal.status_code, "leave out one" in refusal.text) == (422, True)
