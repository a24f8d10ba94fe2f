"""The console and the Model Context Protocol through Ray's own ingress."""

from __future__ import annotations

import re

import httpx
from httpx2 import AsyncClient
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from tests.cluster.running import Service

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
