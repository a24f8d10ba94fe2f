"""What is passed on is the upstream's own, byte for byte: bodies, events and how they end, whatever servers send."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from random import Random

import pytest
import pytest_asyncio

from tests.service.http.conftest import SHARED_LOOP
from tests.service.toy import FACTS
from tests.service.upstream.bodies import CHAT, EMBEDDINGS, MODEL, RESPONSES, TEXT, chat, write_body
from tests.service.upstream.front import AUTHORIZATION, UPSTREAM_KEY, Front, run_front
from tests.service.upstream.raw import JSON, Reply, ask, open_reply
from tests.service.upstream.stub import Stub, run_stub
from tests.service.upstream.wires import CUT, OPENAI, SHAPES, step

N_REQUESTS = 2_000
AT_ONCE = 16
PATHS = {"text": TEXT, "texts": TEXT, "response": RESPONSES, "events": RESPONSES, "bare-events": RESPONSES}
# Headers of one connection, and those that Errata writes anew: a location loses its host in all replies
FRAMING = {"transfer-encoding", "content-length", "connection", "keep-alive", "date", "server", "location"}
ADDED_HEADERS = {
    *("x-content-type-options", "x-frame-options", "referrer-policy", "content-security-policy", "vary"),
    *("cross-origin-resource-policy", "cache-control"),  # by Errata, where the upstream has none
}

pytestmark = SHARED_LOOP


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stub() -> AsyncIterator[Stub]:
    async with run_stub() as stub:
        yield stub


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def front(stub: Stub, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Front]:
    async with run_front(tmp_path_factory.mktemp("front"), stub.url) as front:
        for question in FACTS:
            await front.edit(question, "another answer")
        yield front


def read_headers(reply: Reply) -> Counter[tuple[str, str]]:
    return Counter(pair for pair in reply.headers if pair[0] not in FRAMING)


async def test_two_thousand_requests_and_replies_pass_as_they_are(front: Front, stub: Stub) -> None:
    slots, shapes = asyncio.Semaphore(AT_ONCE), list(SHAPES)

    async def compare(number: int) -> str | None:
        shape, rng = shapes[number % len(shapes)], Random(number)
        name, path = f"{shape}--{number}", PATHS.get(shape) or rng.choice([CHAT, CHAT, CHAT, EMBEDDINGS])
        body = write_body(path, rng)
        async with slots:
            direct = await ask(stub.url, path, body.replace(MODEL.encode(), name.encode()))
            reply = await front.ask(path, body.replace(MODEL.encode(), f"team/{name}".encode()))
        assert direct.is_whole == (shape not in CUT)
        missing, additions = (
            read_headers(direct) - read_headers(reply),
            read_headers(reply) - read_headers(direct),
        )
        names = {header for header, _ in additions if not header.startswith("x-errata-")} - ADDED_HEADERS
        names -= {"x-request-id"} if direct.header("x-request-id") is None else set()
        end, expected_end = (
            (side.status, side.body, side.is_whole, side.header("x-errata-outcome"))
            for side in (reply, direct)
        )
        is_equal = end == (*expected_end[:3], "passed") and not missing and not names
        return (
            None
            if is_equal
            else f"{name} {path}: {end}, not {expected_end}; missing {missing}, additions {names}"
        )

    stub.requests.clear()
    faults = await asyncio.gather(*map(compare, range(N_REQUESTS)))
    assert [fault for fault in faults if fault] == []
    bodies: dict[str, set[bytes]] = {}
    for request in stub.requests:
        bodies.setdefault(request.model, set()).add(request.body)
    assert len(stub.requests) == 2 * N_REQUESTS  # nothing is asked again
    assert [model for model, versions in bodies.items() if len(versions) > 1] == []


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
async def test_each_event_comes_before_the_next_is_sent(
    front: Front, stub: Stub, monkeypatch: pytest.MonkeyPatch, line_end: str
) -> None:
    events = [text.replace("\n", line_end) for text in OPENAI]
    monkeypatch.setattr(stub, "find", lambda _: step(events))
    body, n_events = chat("team/m", "How tall is it?", stream=True), 0
    async with open_reply(front.url, CHAT, body, [JSON, AUTHORIZATION]) as reply:
        stub.go_on.set()
        async for _ in reply.pieces():
            n_events += 1
            assert reply.body == "".join(events[:n_events]).encode()
            stub.go_on.set()
    assert (n_events, reply.is_whole) == (len(events), True)


@pytest.mark.parametrize("escape", ["team\\/json", "\\u0074eam/json", "team/\\u006ason"])
async def test_a_name_that_is_written_with_escapes_is_found(front: Front, stub: Stub, escape: str) -> None:
    body = write_body(CHAT, Random(3)).replace(MODEL.encode(), escape.encode())
    reply = await front.ask(CHAT, body)
    assert (reply.status, stub.requests[-1].model) == (200, "json")


async def test_headers_reach_the_upstream_but_for_the_callers_key(front: Front, stub: Stub) -> None:
    fields = [
        ("x-request-id", "my-id"),
        ("openai-organization", "o"),
        ("accept-language", "de"),
        ("cookie", "a=b"),
    ]
    await front.chat("team/json", "How tall is it?")
    body = write_body(CHAT, Random(3)).replace(MODEL.encode(), b"team/json")
    await front.ask(CHAT, body, *fields)
    headers = dict(stub.requests[-1].headers)
    assert (headers["x-request-id"], headers["authorization"]) == ("my-id", f"Bearer {UPSTREAM_KEY}")
    assert not {"cookie", "x-forwarded-for", "forwarded"} & set(headers)
    assert AUTHORIZATION[1] not in headers.values()


async def test_after_a_500_no_request_meets_a_closed_connection(front: Front) -> None:
    """uvicorn closes the connection without saying so; a request that is sent on it is lost_headers."""
    for _ in range(30):
        assert (await front.chat("team/500-closed", "How tall is it?")).status == 500
        assert (await front.chat("team/json", "How tall is it?")).status == 200
