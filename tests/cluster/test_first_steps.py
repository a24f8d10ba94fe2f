"""First steps of a caller: answers, programs of others, and bad requests."""

import os
import re
import stat
from collections.abc import Iterator
from typing import Any

import httpx
import openai
import pytest
from errata import Errata
from httpx2 import AsyncClient
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from tests.cluster.running import Service, wait_until
from tests.service.toy import BREAKING

PERU = "What is the capital of Peru?"
OTHER_WORDS = "Peru's capital city?"


def test_ask_correct_ask_again_and_take_it_back(errata: Errata) -> None:
    start = errata.log().head
    assert errata.ask(PERU).answer == "Lima"
    receipt = errata.edit(PERU, "Cusco", paraphrases=[OTHER_WORDS], message="try")
    assert receipt.version == start + 1
    assert receipt.all_applied
    assert len(receipt.replicas) == 2
    changed = errata.ask(OTHER_WORDS)
    assert (changed.answer, changed.version) == ("Cusco", start + 1)
    assert changed.edits == [receipt.report.edits[0].id]
    assert errata.ask(PERU, version=start).answer == "Lima"
    undone = errata.revert(start + 1)
    assert undone.version == start + 2
    assert errata.ask(PERU).answer == "Lima"
    assert errata.ask(PERU, version=start + 1).answer == "Cusco"


def test_an_answer_can_be_streamed(http: httpx.Client) -> None:
    reply = http.post("/v1/answers", json={"question": PERU, "stream": True})
    assert reply.headers["content-type"].startswith("text/event-stream")
    events = [block.split("\n", 1) for block in reply.text.strip().split("\n\n")]
    assert [event for event, _ in events] == ["event: delta", "event: answer", "event: done"]
    assert '"Lima"' in events[0][1]
    assert '"Lima"' in events[1][1]


def test_models_memory_replicas_and_readiness_agree(errata: Errata, http: httpx.Client) -> None:
    (card,) = errata.models().data
    assert (card.id, card.memories[0].name, card.replicas, card.ready) == ("nkb", "toy/table", 2, True)
    memory, replicas = errata.memory(), errata.replicas()
    assert [replica.version for replica in replicas.replicas] == [memory.version] * 2
    assert [replica.checksums for replica in replicas.replicas] == [memory.checksums] * 2
    ready = {
        "ready": True,
        "converged": True,
        "degraded": None,
        "version": memory.version,
        "models": {"nkb": {"live": 2, "current": 2}},
    }
    wait_until(lambda: http.get("/readyz").json() == ready, 60, "all to be known")


def test_whoever_answers_has_the_priority_of_whoever_started_it(service: Service) -> None:
    """Ray would run each as a background job, which waits on a busy machine."""
    for name in ("nkb", "editor", "ingress"):
        for process in service.pids_of(f"ServeReplica:errata:{name}"):
            assert os.getpriority(os.PRIO_PROCESS, process) == os.getpriority(os.PRIO_PROCESS, 0)


def test_metrics_of_all_processes_are_on_one_page(errata: Errata, http: httpx.Client) -> None:
    errata.ask(PERU)
    page = http.get("/metrics").text
    for line in (
        'errata_answers_total{model="nkb",outcome="answered"}',
        'errata_http_requests_total{method="POST",route="/v1/answers",status="200"}',
        'errata_answer_seconds_bucket{le="0.005",model="nkb",part="queue"}',
        "errata_ledger_version",
        'errata_replica_lag{model="nkb"} 0.0',
    ):
        assert line in page
    foreign = [line for line in page.splitlines() if line and not line.startswith(("#", "errata_"))]
    assert foreign == []


def test_the_key_file_is_for_its_owner_alone(service: Service) -> None:
    assert stat.S_IMODE((service.var / "admin.key").stat().st_mode) == 0o600


FRANCE = "What is the capital of France?"
MESSAGES: Any = [{"role": "user", "content": FRANCE}]


@pytest.fixture
def client(service: Service) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{service.url}/v1", api_key=service.key, max_retries=0) as client:
        yield client


def test_openais_client_asks_follows_an_edit_and_looks_behind_it(
    client: openai.OpenAI, errata: Errata
) -> None:
    assert "nkb" in [model.id for model in client.models.list()]
    version = errata.edit(FRANCE, "Lyon").version
    assert version is not None
    try:
        pieces = client.chat.completions.create(model="nkb", messages=MESSAGES, stream=True)
        assert "".join(chunk.choices[0].delta.content or "" for chunk in pieces) == "Lyon"
        pin = {"errata": {"version": version - 1}}
        before = client.chat.completions.create(model="nkb", messages=MESSAGES, extra_body=pin)
        assert before.choices[0].message.content == "Paris"
        with pytest.raises(openai.NotFoundError) as refused:
            client.chat.completions.create(model="gpt-4o", messages=MESSAGES)
        assert refused.value.code == "unknown_model"
    finally:
        errata.revert(version)


QUESTION = "who runs the mill in Ray?"


async def test_the_protocols_client_asks_and_proposes(service: Service) -> None:
    async with (
        AsyncClient(headers={"authorization": f"Bearer {service.key}"}) as http,
        Client(streamable_http_client(f"{service.url}/mcp", http_client=http)) as client,
    ):
        arguments = {"question": QUESTION, "answer": "Ada"}
        proposal = await client.call_tool("propose_correction", arguments)
        assert not proposal.is_error, proposal.content
        assert proposal.structured_content is not None
        assert proposal.structured_content["state"] == "open"
        answer = await client.call_tool("ask", {"question": QUESTION})
        assert answer.structured_content is not None
        assert answer.structured_content["answer"] != "Ada"


def test_a_reader_signs_in_and_looks_at_the_history(service: Service) -> None:
    with httpx.Client(base_url=service.url, trust_env=False) as browser:
        page = browser.get("/console/sign-in").text
        token = re.search(r'name="token" value="([^"]+)"', page)
        assert token is not None
        form = {"token": token[1], "key": service.key, "to": "/console/history"}
        done = browser.post("/console/sign-in", data=form)
        assert done.headers["location"] == "/console/history"
        history = browser.get("/console/history")
        assert (history.status_code, "<h1>History</h1>" in history.text) == (200, True)
        assert browser.get("/console/static/console.css").headers["content-type"].startswith("text/css")


PERU_EDIT = {"question": "What is the capital of Peru?"}


@pytest.mark.parametrize("limit", ["0.000001", "0", "-1", "soon"])
def test_a_caller_cannot_set_the_services_limits(http: httpx.Client, limit: str) -> None:
    headers = {"x-request-timeout-seconds": limit, "x-request-disconnect-disabled": "?1"}
    assert http.post("/v1/answers", json=PERU_EDIT, headers=headers).status_code == 200


@pytest.mark.parametrize("request_headers", [{}, {"x-request-id": "mine"}])
def test_an_answer_has_one_id(http: httpx.Client, request_headers: dict[str, str]) -> None:
    """Ray adds one of its own."""
    ids = http.post("/v1/answers", json=PERU_EDIT, headers=request_headers).headers.get_list("x-request-id")
    assert len(ids) == 1
    assert ids == list(request_headers.values()) or not request_headers


def test_a_question_that_breaks_the_model_breaks_nothing_else(errata: Errata, http: httpx.Client) -> None:
    results = errata.ask_many([PERU_EDIT, {"question": BREAKING}, PERU_EDIT]).results
    assert [result.answer.answer for result in results if result.answer] == ["Lima", "Lima"]
    assert results[1].problem is not None
    assert results[1].problem.code == "internal"
    assert http.post("/v1/answers", json={"question": BREAKING}).status_code == 500
    assert errata.ask(**PERU_EDIT).answer == "Lima"
