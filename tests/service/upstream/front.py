"""Errata in front of an upstream, on a real socket in this process; only Ray is missing."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from pydantic import SecretStr

from service.access.api_keys import fingerprint
from service.editing.editor import Editor
from tests.service.conftest import start_valkey
from tests.service.http.conftest import KEY, serve
from tests.service.http.listening import listening
from tests.service.parts import TOY, settings, start_deployment
from tests.service.upstream.bodies import CHAT, chat
from tests.service.upstream.raw import JSON, Reply, ask

UPSTREAM_KEY = "sk-of-the-upstream-only"
AUTHORIZATION = ("authorization", f"Bearer {KEY}")


@dataclass(frozen=True)
class Front:
    """Errata's address, and its application in this event loop."""

    url: str
    app: FastAPI

    async def ask(self, path: str, body: bytes, *headers: tuple[str, str], method: str = "POST") -> Reply:
        return await ask(self.url, path, body, [JSON, AUTHORIZATION, *headers], method)

    async def chat(self, model: str, *messages: str, **fields: object) -> Reply:
        return await self.ask(CHAT, chat(model, *messages, **fields))

    async def edit(self, question: str, answer: str, *paraphrases: str) -> str:
        """Correct an answer of nkb's, and return the edit's id."""
        edits = [{"question": question, "answer": answer, "paraphrases": paraphrases, "model": "nkb"}]
        reply = await self.ask("/admin/edits", json.dumps({"edits": edits, "wait": "all"}).encode())
        assert reply.status == 201, reply.body
        return str(json.loads(reply.body)["report"]["edits"][0]["id"])


@asynccontextmanager
async def run_front(folder: Path, url: str, mode: str = "on", **options: Any) -> AsyncIterator[Front]:
    with start_valkey() as valkey:
        config = settings(
            valkey.url,
            folder,
            systems={"nkb": TOY},
            admin_key_sha256=fingerprint(KEY),
            upstreams={"team": f"{url}/v1"},
            upstream_mode={"team": mode},
            upstream_keys={"team": SecretStr(UPSTREAM_KEY)},
            **options,
        )
        async with (
            start_deployment(Editor, config) as editor,
            serve(config, editor) as app,
            listening(app) as address,
        ):
            yield Front(address, app)
