"""The memory that requests take in the ingress is bounded, for one caller and for all: real bytes on real sockets."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import NamedTuple

import httpx
import pytest
from fastapi import FastAPI, Request
from fastapi.responses import Response

from service.errors import TooMany
from service.http import protocol
from service.http.byte_budget import BUDGET, ByteBudget
from tests.service.http.conftest import ADMIN
from tests.service.http.listening import listening
from tests.service.parts import wait_until

TOTAL = 4_000_000


@pytest.fixture(autouse=True)
def total(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BUDGET, "total", TOTAL)
    monkeypatch.setattr(protocol, "LOOK_EVERY_S", 0.05)


async def begin(stack: AsyncExitStack, url: str, head: str, body: bytes) -> asyncio.StreamReader:
    """Send a request whose last byte never comes."""
    address = httpx.URL(url)
    reader, writer = await asyncio.open_connection(address.host, address.port)
    stack.callback(writer.close)
    lines = ["host: 127.0.0.1", "content-type: application/json", f"content-length: {len(body) + 1}"]
    writer.write("\r\n".join([head, *lines, "", ""]).encode() + body)
    return reader


async def wait_until_empty() -> None:
    await wait_until(lambda: not BUDGET.n_held)


async def find_replies(readers: list[asyncio.StreamReader], n_held: int) -> list[bytes | BaseException]:
    """Return the first line of each answer when all but `n_held` have come; a TimeoutError for each further one."""
    lines = [asyncio.create_task(reader.readline()) for reader in readers]
    await wait_until(lambda: sum(not line.done() for line in lines) <= n_held)
    return await asyncio.gather(*(asyncio.wait_for(line, 0.3) for line in lines), return_exceptions=True)


@pytest.mark.parametrize(("path", "size"), [("/v1/answers", 400_000), ("/v1/chat/completions", 900_000)])
async def test_bodies_that_lack_their_last_byte_fill_a_quarter_and_keep_no_other_caller_out(
    app: FastAPI, path: str, size: int
) -> None:
    async with listening(app) as url, AsyncExitStack() as stack:
        head, body = f"POST {path} HTTP/1.1", b'{"question":"' + b"a" * size
        readers = [await begin(stack, url, head, body) for _ in range(20)]
        n_held = TOTAL // 4 // len(body)
        replies = await find_replies(readers, n_held)
        silences = [reply for reply in replies if isinstance(reply, TimeoutError)]
        assert len(silences) == n_held
        answers = [reply for reply in replies if isinstance(reply, bytes)]
        assert {answer.split()[1] for answer in answers} == {b"429"}, "but where a reset overtook the answer"
        assert TOTAL // 8 < BUDGET.n_held <= TOTAL
        async with httpx.AsyncClient(base_url=url, headers=ADMIN, trust_env=False) as http:
            reply = await http.post("/v1/answers", json={"question": "Who?", "model": "toy"})
            assert reply.status_code == 200, reply.text
        await stack.aclose()
        await wait_until_empty()


class Patient(NamedTuple):
    """An application that reads no body before the event, and has a long page."""

    url: str
    may_read: asyncio.Event


@pytest.fixture
async def patient() -> AsyncIterator[Patient]:
    app, may_read = FastAPI(), asyncio.Event()

    @app.post("/later")
    async def wait() -> Response:
        await may_read.wait()
        return Response(b"ok")

    @app.get("/long")
    async def get_long(request: Request) -> Response:
        return Response(bytes(3_000_000))

    async with listening(app) as url:
        yield Patient(url, may_read)
        may_read.set()


async def test_a_body_that_waits_for_the_application_counts(patient: Patient) -> None:
    async with AsyncExitStack() as stack:
        for _ in range(40):
            await begin(stack, patient.url, "POST /later HTTP/1.1", b"a" * 200_000)
        await wait_until(lambda: BUDGET.n_held > TOTAL // 8)
        await asyncio.sleep(0.3)
        assert TOTAL // 8 < BUDGET.n_held <= TOTAL // 4
        await stack.aclose()
        patient.may_read.set()
        await wait_until_empty()


async def test_answers_that_are_not_read_are_cut_off_where_they_fill_the_budget(patient: Patient) -> None:
    async with AsyncExitStack() as stack:
        readers = [await begin(stack, patient.url, "GET /long HTTP/1.1", b"") for _ in range(8)]
        await asyncio.sleep(0.5)
        await wait_until(lambda: BUDGET.n_held <= TOTAL // 4)
        sizes = [len(await _read_all(reader)) for reader in readers]
        assert min(sizes) < 3_000_000
        await stack.aclose()
        await wait_until_empty()


async def _read_all(reader: asyncio.StreamReader) -> bytes:
    try:
        return await asyncio.wait_for(reader.read(3_000_000), 2.0)
    except (ConnectionError, TimeoutError):
        return b""


def test_a_proxy_has_the_room_of_all_and_everything_is_given_back() -> None:
    budget = ByteBudget(1_000)
    with budget.open("anna") as add, budget.open("") as add_behind_proxy:
        add(250)
        with pytest.raises(TooMany, match="250 bytes are under way"):
            add(1)
        add_behind_proxy(750)
        with budget.open("ben") as add_of_ben, pytest.raises(TooMany):
            add_of_ben(1)
    assert budget.n_held == 0
