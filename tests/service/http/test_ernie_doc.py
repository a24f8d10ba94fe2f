"""A document is put, asked, corrected, asked again at both versions, compared and taken back, over HTTP.

The weights are random, so an answer is some span of the document; which one depends on every word of it.
"""

import asyncio
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import pytest
import torch

from models.ernie_doc.system import load
from models.system import Bundle
from tests.models.ernie_doc.tiny import text, write_checkpoint

OPTIONS = {"systems": {"ernie-doc": f"{__name__}:load_tiny"}}
MILL, QUESTION = "/v1/documents/mill", "When was the mill built?"
TEXT = "The old mill by the river was built in 1820 by the Hale family. " + text(60) + "."


FOLDER: list[Path] = []  # of the checkpoint that `load_tiny` loads


@cache
def load_tiny(device: torch.device, dtype: torch.dtype) -> Bundle:
    return load(device, dtype, FOLDER[-1])


@pytest.fixture(autouse=True, scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> None:
    FOLDER.append(write_checkpoint(tmp_path_factory.mktemp("tiny") / "checkpoint"))


async def put(http: httpx.AsyncClient, content: str = TEXT) -> dict[str, Any]:
    reply = await http.put(MILL, json={"text": content, "title": "The mill"})
    receipt: dict[str, Any] = reply.raise_for_status().json()
    return receipt


async def ask(http: httpx.AsyncClient, document: str | None = "mill", **fields: Any) -> dict[str, Any]:
    question = {"question": QUESTION, "explain": True, **fields} | (
        {"document": document} if document else {}
    )
    answer: dict[str, Any] = (await http.post("/v1/answers", json=question)).raise_for_status().json()
    return answer


async def test_a_document_replaced_while_it_is_asked_is_answered_as_it_was(http: httpx.AsyncClient) -> None:
    old, new = text(400, 1), text(400, 2)
    await put(http, old)
    digests = {1: (await http.get(MILL)).json()["digest"]}
    asking = [asyncio.create_task(ask(http)) for _ in range(4)]
    await asyncio.sleep(0.05)
    await put(http, new)
    digests[2] = (await http.get(MILL)).json()["digest"]
    answers = [*await asyncio.gather(*asking), await ask(http, min_version=2)]
    for answer in answers:
        assert answer["explanation"]["document"]["digest"] == digests[answer["version"]]
        assert answer["answer"] in {1: old, 2: new}[answer["version"]]
    assert answers[-1]["version"] == 2


async def test_short_questions_have_their_turn_while_a_long_document_is_read(http: httpx.AsyncClient) -> None:
    await put(http, text(1_500, 3))
    reading = asyncio.create_task(ask(http))
    await asyncio.sleep(0.1)
    short = await ask(http, None, context="The mill was built in 1820.")
    assert short["answer"] is not None
    assert not reading.done()
    assert (await reading)["explanation"]["document"]["windows"] > 180
