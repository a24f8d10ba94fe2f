"""Callers that are refused, the cost of a refusal, and how often one caller may call."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from types import MappingProxyType
from typing import Any

import httpx
import redis

from service.config import Settings
from service.editing.editor import Editor
from service.http.app import build_app
from service.outcome import Outcome
from tests.service.http.conftest import ADMIN, KEY, client_of, local_editor, local_router


@asynccontextmanager
async def serve(
    settings: Settings, editor: Editor, parts: Mapping[str, Any] = MappingProxyType({}), **options: Any
) -> AsyncIterator[httpx.AsyncClient]:
    models = local_router(dict(parts), settings.max_batch)
    app = build_app(settings.model_copy(update=options), models, local_editor(editor))
    async with client_of(app) as client:
        yield client
    await app.state.access.aclose()


async def test_a_wrong_key_opens_nothing(stranger: httpx.AsyncClient) -> None:
    headers: list[str | bytes] = [
        *("Bearer wrong-key-but-long-enough", "Bearer ", "Bearer", KEY, f"Basic {KEY}", f"Bearer {KEY}x"),
        "Bearer \u00e9".encode(),
    ]
    for header in headers:
        reply = await stranger.get("/admin/versions", headers={"authorization": header})  # type: ignore[dict-item]
        assert reply.status_code == 401, header
        assert KEY not in reply.text


async def test_the_right_key_says_whose_it_is(http: httpx.AsyncClient) -> None:
    assert (await http.get("/admin/keys/self")).json() == {
        "name": "admin",
        "scopes": ["ask", "read", "propose", "edit", "admin"],
    }


async def test_a_stranger_with_a_large_body_costs_nothing(stranger: httpx.AsyncClient) -> None:
    n_chunks = 0

    async def body() -> Any:
        nonlocal n_chunks
        n_chunks += 1
        yield b" " * 1_000

    assert (await stranger.post("/admin/edits", content=body())).status_code == 401
    assert n_chunks <= 1


async def test_a_key_that_calls_too_often_is_told_when_to_come_back(config: Settings, editor: Editor) -> None:
    async with serve(config, editor, rate_per_key="3/minute") as client:
        replies = [await client.get("/admin/versions", headers=ADMIN) for _ in range(4)]
        assert [reply.status_code for reply in replies] == [200, 200, 200, 429]
        assert replies[-1].json()["code"] == "too_many"
        # The minute has to end, and a third of the next to pass, before there is room for one more.
        assert 20 <= int(replies[-1].headers["retry-after"]) <= 80
        assert (await client.get("/healthz")).status_code == 200


async def test_guessing_keys_is_slowed_by_address_and_nobody_with_a_key_suffers(
    config: Settings, editor: Editor
) -> None:
    async with serve(config, editor, rate_per_address="2/minute") as client:
        replies = [
            await client.get("/admin/versions", headers={"authorization": f"Bearer guess-{number}"})
            for number in range(4)
        ]
        assert [reply.status_code for reply in replies] == [401, 401, 429, 429]
        assert (await client.get("/admin/versions", headers=ADMIN)).status_code == 200


async def test_the_address_is_the_one_a_trusted_proxy_names_and_no_other(
    config: Settings, editor: Editor
) -> None:
    async def ask(client: httpx.AsyncClient, address: str) -> int:
        return (await client.get("/v1/memory", headers={"x-forwarded-for": address})).status_code

    async with serve(
        config, editor, rate_per_address="1/minute", proxies=("127.0.0.1/32",), anonymous_access="everyone"
    ) as client:
        assert [await ask(client, f"192.0.2.{n}") for n in (1, 2, 1)] == [200, 200, 429]
    async with serve(config, editor, rate_per_address="1/hour") as client:
        assert [await ask(client, f"192.0.2.{n}") for n in (3, 4)] == [200, 429]


async def test_the_addresses_of_one_ipv6_network_have_one_limit_together(
    config: Settings, editor: Editor
) -> None:
    async with serve(
        config, editor, rate_per_address="3/minute", proxies=("127.0.0.1/32",), anonymous_access="everyone"
    ) as client:

        async def ask(address: str) -> int:
            return (await client.get("/v1/memory", headers={"x-forwarded-for": address})).status_code

        assert [await ask(f"2001:db8:0:7::{n:x}") for n in range(1, 6)] == [200, 200, 200, 429, 429]
        assert await ask("2001:db8:0:8::1") == 200
        addresses = ["192.0.2.9", "::ffff:192.0.2.9", "::ffff:c000:209", "192.0.2.9"]
        assert [await ask(address) for address in addresses] == [200, 200, 200, 429]
        invented_key = {"authorization": "Bearer errata_name_secret", "x-forwarded-for": "2001:db8:0:7::ff"}
        assert (await client.get("/admin/versions", headers=invented_key)).status_code == 429


async def test_one_caller_has_so_many_calls_under_way_and_no_more(config: Settings, editor: Editor) -> None:
    async with serve(config, editor, max_concurrent=2) as client:
        calls = (client.get("/admin/versions", headers=ADMIN) for _ in range(6))
        assert {reply.status_code for reply in await asyncio.gather(*calls)} == {200, 429}
        assert (await client.get("/admin/versions", headers=ADMIN)).status_code == 200


async def make_key(client: httpx.AsyncClient, name: str, *scopes: str) -> dict[str, str]:
    reply = await client.post("/admin/keys", json={"name": name, "scopes": scopes}, headers=ADMIN)
    return {"authorization": f"Bearer {reply.json()['key']}"}


async def test_a_wrong_key_is_refused_where_none_is_needed(config: Settings, editor: Editor) -> None:
    async with serve(config, editor) as client:
        ben = await make_key(client, "ben", "ask")
        await client.delete("/admin/keys/ben", headers=ADMIN)
        wrong: list[dict[str, str]] = [
            {"authorization": "Bearer junk"},
            {"authorization": f"Basic {KEY}"},
            ben,
        ]
        for headers in wrong:
            reply = await client.get("/v1/memory", headers=headers)
            assert (reply.status_code, reply.json()["code"]) == (401, "unauthorized"), headers
        for headers in ({}, {"authorization": "Bearer"}, {"authorization": "Bearer none"}, ADMIN):
            assert (await client.get("/v1/memory", headers=headers)).status_code == 200, headers


async def test_where_asking_is_open_a_key_that_cannot_be_looked_up_keeps_nobody_from_it(
    config: Settings, editor: Editor, raw: redis.Redis
) -> None:
    hasty = config.model_copy(update={"redis_timeout_s": 0.5})
    async with serve(hasty, editor) as client:
        anna = await make_key(client, "anna", "ask")
        raw.execute_command("CLIENT", "PAUSE", 5_000, "ALL")
        assert (await client.get("/healthz")).status_code == 200
        gate = client._transport.app.state.access.gate  # type: ignore[attr-defined]
        assert (await gate.admit(anna["authorization"], "192.0.2.1", "ask")).name == "nobody"


class Counting:
    """A model that counts the questions that reach it."""

    def __init__(self) -> None:
        self.n_questions = 0

    async def answer(self, request: Mapping[str, Any]) -> Outcome:
        self.n_questions += 1
        return Outcome(200, b"{}")

    async def answer_many(self, requests: Sequence[Mapping[str, Any]]) -> list[Outcome]:
        return [await self.answer(request) for request in requests]


def ask_many(count: int, **fields: Any) -> dict[str, Any]:
    return {
        "questions": [{"question": f"Who is {number}?", "model": "toy", **fields} for number in range(count)]
    }


async def test_limits_charge_the_work_and_refuse_it_before_the_model_sees_it(
    config: Settings, editor: Editor
) -> None:
    model = Counting()
    async with serve(config, editor, {"toy": model}, rate_per_address="300/minute") as client:
        candidates = {"question": "Who?", "model": "toy", "candidates": ["he", "she"] * 128}
        for body, expected in (
            ({"question": "Who?", "model": "toy"}, 200),
            (candidates, 200),
            (candidates, 429),
            (candidates | {"stream": True}, 429),
        ):
            assert (await client.post("/v1/answers", json=body)).status_code == expected
        assert (await client.post("/v1/answers/batch", json=ask_many(256))).status_code == 429
        link = {"question": "x" * 1_900 + "?" * 100, "model": "toy"}
        assert [(await client.get("/v1/answers", params=link)).status_code for _ in range(3)] == [
            200,
            429,
            429,
        ]
        messages = [{"role": "user", "content": "x" * 2_000}]
        chat = {"model": "toy", "messages": messages}
        assert (await client.post("/v1/chat/completions", json=chat)).status_code == 429
        assert model.n_questions == 3


async def test_one_request_may_not_ask_for_more_than_its_bound(config: Settings, editor: Editor) -> None:
    model = Counting()
    async with serve(config, editor, {"toy": model}) as client:
        reply = await client.post(
            "/v1/answers/batch", json=ask_many(256, candidates=["x" * 190 + f" {n}" for n in range(14)])
        )
        assert (reply.status_code, reply.json()["limit"]) == (413, 6_000)
        assert "11,008 short questions" in reply.json()["detail"]
        assert model.n_questions == 0
        assert (await client.post("/v1/answers/batch", json=ask_many(256))).status_code == 200
