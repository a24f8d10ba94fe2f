"""A fact and a row are edited, asked for at both versions, explained and taken back, over HTTP.

The weights are random: which answer is best means nothing, but what it rests on has to follow each edit.
"""

from functools import cache
from pathlib import Path
from typing import Any

import httpx
import pytest
import torch

from models.graph.memory import GraphMemory
from models.system import Bundle, Probes
from models.thu_ernie.checkpoint import load
from models.thu_ernie.entities.facts import GraphFacts
from models.thu_ernie.entities.memory import EntityMemory
from models.thu_ernie.system import ThuErnieSystem
from tests.models.reading.test_reader import tiny_reader
from tests.models.thu_ernie.answering.conftest import QUESTION, build_base, write_checkpoint

OPTIONS = {"systems": {"thu-ernie": f"{__name__}:load_tiny"}}
FOLDER: list[Path] = []  # of the checkpoint that `load_tiny` loads


class TinyThuErnie(ThuErnieSystem):
    """The system with one question as its probe, in place of those of a pack that its graph lacks."""

    @property
    def probes(self) -> Probes:
        return Probes(core=(QUESTION,))


@cache
def load_tiny(device: torch.device, dtype: torch.dtype) -> Bundle:
    model, base = load(FOLDER[-1], device, dtype), build_base()
    entities = EntityMemory(model.table, GraphFacts.of(base), model.settings.margin)
    return Bundle(TinyThuErnie(model, tiny_reader()), (GraphMemory(base), entities))


@pytest.fixture(autouse=True, scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> None:
    FOLDER.append(write_checkpoint(tmp_path_factory.mktemp("tiny") / "checkpoint"))


async def edit(http: httpx.AsyncClient, *items: dict[str, Any]) -> dict[str, Any]:
    reply = await http.post("/admin/edits", json={"edits": items, "wait": "all"})
    assert reply.status_code == 201, reply.text
    receipt: dict[str, Any] = reply.json()
    return receipt


def triple(subject: str, relation: str, value: str, **fields: Any) -> dict[str, Any]:
    return {"subject": subject, "relation": relation, "object": value, **fields}


async def ask(http: httpx.AsyncClient, question: str = QUESTION, **fields: Any) -> dict[str, Any]:
    body = {"question": question, "explain": True, "top_k": 4, **fields}
    answer: dict[str, Any] = (await http.post("/v1/answers", json=body)).raise_for_status().json()
    return answer


def logits(answer: dict[str, Any]) -> dict[str, float]:
    """Return the logit of each candidate of an explained answer."""
    return {entry["answer"]: entry["logit"] for entry in answer["explanation"]["alignment"]}


async def test_a_fact_that_would_not_be_answered_is_refused_and_kept_with_only(
    http: httpx.AsyncClient,
) -> None:
    fact = triple("Kim", "place of birth", "Rome")
    refusal = await http.post("/admin/edits", json={"edits": [fact]})
    assert (refusal.status_code, refusal.json()["reason"]) == (422, "does_not_hold")
    await edit(http, fact | {"only": "graph"})
    assert set(logits(await ask(http, min_version=1))) == {"Rome", "Ada", "1.80 m"}


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
