"""One stranger with the worst requests that he may send, at the models that are shipped.

He has an address of his own (127.0.0.2): on one address the requests take turns and not the callers.
"""

import asyncio
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from models.systems import DEFAULT_SYSTEMS
from tests.bench.questions import questions
from tests.bench.timing import percentile
from tests.cluster.running import Service

FIRST, *FURTHER = DEFAULT_SYSTEMS
ASKERS, ATTACKS, SECONDS, ROUNDS = 8, 4, 4.0, 3
FACTOR = 2.0  # factor by which the slowest answers of others may take longer
MARGIN_S = 0.02  # times of the machine's other work
IDLE_S = 0.1  # processor time in a second that heartbeats take
LONG = ("Why does the old town on the river have so many bridges and what were they made for? " * 24)[:1_990]
NAMES = ("Peru Chile France Japan Brazil Norway Spain Italy Egypt India " * 40)[:1_990]

pytestmark = [pytest.mark.timeout(600), pytest.mark.alone]


def batch(question: str, model: str, **fields: Any) -> tuple[str, dict[str, Any]]:
    items = [{"question": f"{number} {question}", "model": model, **fields} for number in range(256)]
    return "/v1/answers/batch", {"questions": items}


def choice(model: str, candidate: str, **fields: Any) -> tuple[str, dict[str, Any]]:
    candidates = [f"{number} {candidate}" for number in range(256)]
    return "/v1/answers", {"question": "Which?", "model": model, "candidates": candidates, **fields}


WORST = {
    "the longest questions": batch(LONG, "nkb"),
    "short questions": batch("What is the capital of Peru?", "nkb"),
    "questions of a version": batch(LONG, "nkb", version=0),
    "questions full of names": batch(NAMES, "kbert"),
    "the longest candidates": choice("kbert", LONG),
    "candidates with an explanation": choice("kbert", "a house", explain=True, top_k=10),
}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    var = tmp_path_factory.mktemp("fairness") / "var"
    service = Service(
        var, system=FIRST, words=[word for name in FURTHER for word in ("--system", name)]
    ).start()
    try:
        yield service
    finally:
        service.stop()


def model_of(request: tuple[str, dict[str, Any]]) -> str:
    body = request[1]
    model: str = body.get("questions", [body])[0]["model"]
    return model


def connect(address: str, url: str) -> aiohttp.ClientSession:
    connector = aiohttp.TCPConnector(local_addr=(address, 0), limit=64)
    return aiohttp.ClientSession(url, connector=connector)


async def send(session: aiohttp.ClientSession, request: tuple[str, dict[str, Any]]) -> None:
    """Again and again."""
    path, body = request
    while True:
        async with session.post(path, json=body) as response:
            assert response.status == 200, await response.text()


async def ask(session: aiohttp.ClientSession, model: str) -> list[float]:
    """Return the times of the ordinary callers, in seconds."""
    texts, times, end = questions(512), [], time.perf_counter() + SECONDS

    async def asker(place: int) -> None:
        while (start := time.perf_counter()) < end:
            question = {"question": texts[(37 * place + len(times)) % len(texts)], "model": model}
            async with session.post("/v1/answers", json=question) as response:
                assert response.status == 200, await response.text()
            times.append(time.perf_counter() - start)

    await asyncio.gather(*map(asker, range(ASKERS)))
    return times


@pytest.mark.parametrize("kind", WORST)
async def test_others_hardly_notice_a_stranger_who_sends_the_worst_he_may(
    service: Service, kind: str
) -> None:
    """Rounds with and without alternate, since the machine is not always equally fast; the best round counts."""
    factors = []
    async with connect("127.0.0.1", service.url) as askers, connect("127.0.0.2", service.url) as stranger:
        for _ in range(ROUNDS):
            before = percentile(await ask(askers, model_of(WORST[kind])), 0.99)
            attacks = [asyncio.create_task(send(stranger, WORST[kind])) for _ in range(ATTACKS)]
            await asyncio.sleep(0.5)
            during = percentile(await ask(askers, model_of(WORST[kind])), 0.99)
            assert not any(attack.done() for attack in attacks)
            for attack in attacks:
                attack.cancel()
            factors.append((during - MARGIN_S) / before)
            await asyncio.sleep(1.0)
    assert min(factors) <= FACTOR


def read_cpu_s(pids: list[int]) -> float:
    """Processor time of processes so far."""
    ticks = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize("kind", WORST)
async def test_nothing_works_on_a_second_after_its_asker_hung_up(service: Service, kind: str) -> None:
    pids = service.pids_of(f"ServeReplica:errata:{model_of(WORST[kind])}")
    async with connect("127.0.0.2", service.url) as stranger:
        attacks = [asyncio.create_task(send(stranger, WORST[kind])) for _ in range(ATTACKS)]
        await asyncio.sleep(1.5)
        assert not any(attack.done() for attack in attacks)
        for attack in attacks:
            attack.cancel()
    await asyncio.sleep(1.0)
    start = read_cpu_s(pids)
    await asyncio.sleep(1.0)
    assert read_cpu_s(pids) - start < IDLE_S
