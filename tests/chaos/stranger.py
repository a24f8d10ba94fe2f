"""A stranger without a key, who sends the worst possible requests: large bodies, wrong keys, endless headers."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from random import Random
from typing import Any

import httpx

from tests.chaos.recorder import Recorder

PAUSE_S = 0.2  # on average, between two requests
SLOW_HEADERS_S = 4.0  # for one connection, of which few are open at once
TIMEOUT_S = 30.0
REFUSED = frozenset({401, 403, 404, 405, 408, 413, 415, 421, 422, 429, 431, 503})
MANY_FIELDS = json.dumps({str(field): 1 for field in range(50_000)})
DEEP = "[" * 100_000


class Stranger:
    """A stranger; call run() and cancel it. Any answer that is not a refusal is recorded as admitted."""

    def __init__(self, http: httpx.AsyncClient, recorder: Recorder, chance: Random) -> None:
        self._http, self._recorder, self._chance = http, recorder, chance

    async def run(self) -> None:
        acts = [self._send_body, self._send_wrong_key, self._send_slow_headers]
        while True:
            await asyncio.sleep(self._chance.expovariate(1 / PAUSE_S))
            with suppress(OSError, httpx.HTTPError):  # being cut off is expected
                await self._chance.choice(acts)()

    async def _send_body(self) -> None:
        body = self._chance.choice([MANY_FIELDS, DEEP])
        path = self._chance.choice(
            ["/v1/answers", "/v1/answers/batch", "/v1/chat/completions", "/admin/edits"]
        )
        await self._send("POST", path, content=body, headers={"content-type": "application/json"})

    async def _send_wrong_key(self) -> None:
        key = {"authorization": f"Bearer errata_nobody_{self._chance.getrandbits(64):x}"}
        path = self._chance.choice(
            ["/v1/memory", "/admin/audit", "/admin/keys", f"/admin/{self._chance.random()}"]
        )
        await self._send("GET", path, headers=key)

    async def _send(self, method: str, path: str, **options: Any) -> None:
        reply = await self._http.request(method, path, timeout=TIMEOUT_S, **options)
        if reply.status_code not in REFUSED:
            self._recorder.record_stranger(f"{method} {path}", reply.status_code)

    async def _send_slow_headers(self) -> None:
        url = self._http.base_url
        reader, writer = await asyncio.open_connection(url.host, url.port)
        try:
            async with asyncio.timeout(SLOW_HEADERS_S):
                writer.write(b"GET /healthz HTTP/1.1\r\n")
                while not reader.at_eof():
                    writer.write(b"x-header: " + 1_000 * b"x" + b"\r\n")
                    await writer.drain()
                    await asyncio.sleep(0.1)
        except TimeoutError:
            pass
        finally:
            writer.close()
