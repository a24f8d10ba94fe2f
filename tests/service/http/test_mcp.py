"""The protocol's own client asks, proposes and reads, through /mcp and over stdio."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from fastapi import FastAPI
from httpx2 import AsyncClient
from mcp import StdioServerParameters
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError

from service.config import Settings
from service.editing.editor import Editor
from service.errors import ErrataError, LedgerUnavailable, TooMany
from tests.service.http.conftest import ADMIN, KEY, client_of, serve
from tests.service.http.listening import listening
from tests.service.parts import PATIENCE_S

TOOLS = {"ask", "why", "find_facts", "worklist", "propose_correction", "history"}
EDIT = {"question": "who runs the mill?", "answer": "Ada"}


@asynccontextmanager
async def connect(url: str, key: str = KEY) -> AsyncIterator[Client]:
    """Connect the protocol's client to the tools at an address."""
    async with (
        AsyncClient(headers={"authorization": f"Bearer {key}"}) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http)) as client,
    ):
        yield client


@pytest.fixture
async def url(app: FastAPI) -> AsyncIterator[str]:
    async with listening(app) as url:
        yield url


async def call(client: Client, tool: str, **arguments: Any) -> Any:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return result.structured_content


async def test_a_client_asks_proposes_and_looks_back(app: FastAPI, url: str) -> None:
    async with connect(url) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} == TOOLS
        answer = await call(client, "ask", question="what is the capital of peru?")
        assert (answer["answer"], answer["version"]) == ("Lima", 0)
        old = await call(client, "ask", question="what is the capital of peru?", as_of="1975-03-31")
        assert old["as_of"] == "1975-03-31" < answer["as_of"]
        causes = await call(client, "why", question="what is the capital of peru?", as_of="1975-03-31")
        assert causes["answer"]["as_of"] == "1975-03-31"
        proposal = await call(client, "propose_correction", **EDIT, message="Bo left")
        assert (proposal["number"], proposal["state"], proposal["author"]) == (1, "open", "admin")
        assert proposal["report"]["edits"][0]["holds"]
        assert (await call(client, "history"))["versions"] == []
        async with client_of(app) as admin:
            await admin.post("/admin/edits", json={"edits": [EDIT]}, headers=ADMIN)
        assert (await call(client, "ask", question=EDIT["question"]))["answer"] == "Ada"
        assert (await call(client, "why", question=EDIT["question"]))["causes"][0]["author"] == "admin"
        [commit] = (await call(client, "history", text="mill"))["versions"]
        resource = await client.read_resource(f"errata://version/{commit['version']}")
        assert '"who runs the mill?"' in resource.contents[0].text  # type: ignore[union-attr]
        assert (await call(client, "worklist"))["gaps"] == []


async def test_a_refusal_of_a_route_is_an_error_of_the_tool(app: FastAPI, url: str) -> None:
    async with client_of(app) as admin:
        body = {"name": "asker", "scopes": ["ask"]}
        key = (await admin.post("/admin/keys", json=body, headers=ADMIN)).json()["key"]
    async with connect(url, key) as client:
        assert (await call(client, "ask", question="what is the capital of peru?"))["answer"] == "Lima"
        for tool, arguments in (("propose_correction", EDIT), ("history", {})):
            result = await client.call_tool(tool, arguments)
            assert result.is_error
            assert "'asker' lacks the scope" in str(result.content)
        with pytest.raises(MCPError, match="'asker' lacks the scope 'read'"):
            await client.read_resource("errata://version/1")


@pytest.mark.parametrize(
    ("tool", "arguments", "sentences"),
    [
        ("ask", {}, ["question: is missing"]),
        ("ask", {"question": 7}, ["question: has to be a text"]),
        ("ask", {"question": "q", "version": -1}, ["version: has to be 0 or more"]),
        ("ask", {"question": "q", "version": "new"}, ["version: has to be a whole number"]),
        ("ask", {"question": "x" * 10_001}, ["question: may have 10,000 characters"]),
        ("ask", {"question": "q", "as_of": "1975"}, ["as_of: is no day: write it as"]),
        ("why", {"question": "q", "as_of": "1975"}, ["as_of: is no day: write it as"]),
        ("worklist", {"limit": 1_000}, ["limit: has to be 200 or less"]),
        (
            "propose_correction",
            {"wordings": "a", "message": 1},
            ["wordings: has to be a list", "message: has to"],
        ),
    ],
)
async def test_wrong_arguments_are_named_in_plain_words(
    url: str, tool: str, arguments: dict[str, Any], sentences: list[str]
) -> None:
    async with connect(url) as client:
        result = await client.call_tool(tool, arguments)
    [content] = result.content
    assert result.is_error
    assert [sentence in content.text for sentence in sentences] == [True] * len(sentences), content  # type: ignore[union-attr]
    assert "pydantic" not in content.text  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("key", "size", "sentence"),
    [
        ("wrong", 1, "a key or token that is valid here is needed"),
        (KEY, 2_000_000, "may have 1,000,000 bytes"),
    ],
)
async def test_a_client_says_why_a_wrong_key_and_a_large_argument_are_refused(
    url: str, key: str, size: int, sentence: str
) -> None:
    with pytest.raises((MCPError, ExceptionGroup)) as refusal:
        async with connect(url, key) as client:
            await client.call_tool("ask", {"question": "x" * size})
    error = refusal.value
    while isinstance(error, ExceptionGroup):  # of the tasks of the client
        [error] = error.exceptions
    assert sentence in str(error)


async def test_texts_arrive_as_they_were_sent(app: FastAPI, url: str) -> None:
    texts = ["[0, 1]", "null", "true", '{"a": "b"}', '["one", "two"]']
    async with connect(url) as client, client_of(app) as admin:
        for number, text in enumerate(texts, 1):
            await call(client, "propose_correction", question=f"who is number {number}?", answer=text)
            proposal = (await admin.get(f"/admin/proposals/{number}", headers=ADMIN)).json()
            assert proposal["edits"][0]["answer"] == text
        for text in texts:
            result = await client.call_tool("ask", {"question": "who?", "context": text, "model": "auto"})
            assert "does not read" in str(result.content) or "no model here reads" in str(result.content)
        wordings = (
            '["who owns the mill?"]'  # where no text may stand, one is read as JSON, which clients rely on
        )
        await call(client, "propose_correction", question="whose mill?", answer="Ada", wordings=wordings)
        proposal = (await admin.get(f"/admin/proposals/{len(texts) + 1}", headers=ADMIN)).json()
        assert proposal["edits"][0]["paraphrases"] == ["who owns the mill?"]


@pytest.mark.parametrize("error", [TooMany("too often", retry_after_s=7), LedgerUnavailable("away")])
async def test_a_check_of_the_key_that_fails_is_no_error_of_the_server(
    app: FastAPI, monkeypatch: pytest.MonkeyPatch, error: ErrataError
) -> None:
    async def refuse(*arguments: Any) -> None:
        raise error

    monkeypatch.setattr(app.state.access.gate, "admit", refuse)
    async with client_of(app) as client:
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        reply = await client.post("/mcp", json=body, headers=ADMIN | {"accept": "application/json"})
    assert (reply.status_code, reply.json()["error"]["message"]) == (error.status, error.detail)
    assert reply.headers["retry-after"] == str(error.extras.get("retry_after_s", error.retry_after_s))


async def test_calls_hear_of_sessions_that_cannot_begin(
    app: FastAPI, monkeypatch: pytest.MonkeyPatch
) -> None:
    @asynccontextmanager
    async def fail(sessions: StreamableHTTPSessionManager) -> AsyncIterator[None]:
        raise OSError("no file is left to open")
        yield

    monkeypatch.setattr(StreamableHTTPSessionManager, "run", fail)
    async with client_of(app) as client, asyncio.timeout(PATIENCE_S):
        for _ in range(2):
            body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
            assert (await client.post("/mcp", json=body, headers=ADMIN)).status_code == 500


@pytest.mark.parametrize(
    ("host", "status", "address"),
    [
        ("127.0.0.1:1", 401, "http://127.0.0.1:1"),
        ("errata.example", 401, "http://errata.example"),
        ("[::1]:81", 401, "http://[::1]:81"),
        ('"quoted', 401, "http://0.0.0.0:8000"),
        ("other.example", 403, ""),
    ],
)
async def test_a_client_is_sent_to_the_address_that_it_used(
    config: Settings, editor: Editor, host: str, status: int, address: str
) -> None:
    hosts = () if host.startswith('"') else ("errata.example",)
    config = config.model_copy(update={"host": "0.0.0.0", "allowed_hosts": hosts})
    async with serve(config, editor) as app, client_of(app) as client:
        reply = await client.post("/mcp", json={}, headers={"host": host})
        metadata = await client.get("/.well-known/oauth-protected-resource/mcp", headers={"host": host})
    assert (reply.status_code, metadata.status_code) == (status, 200 if status == 401 else 403)
    if status == 401:
        place = f'resource_metadata="{address}/.well-known/oauth-protected-resource/mcp"'
        assert place in reply.headers["www-authenticate"]
        assert metadata.json()["resource"] == f"{address}/mcp"


async def test_the_command_serves_the_same_tools_over_stdio(url: str) -> None:
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-c", "from errata.cli import main; main()", "mcp", "--url", url, "--key", KEY],
        env=dict(os.environ),
    )
    async with Client(parameters) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} == TOOLS
        assert (await call(client, "ask", question="what is the capital of peru?"))["answer"] == "Lima"
        result = await client.call_tool("ask", {"question": "x" * 9_000})
        assert result.is_error
        assert "question" in str(result.content)
