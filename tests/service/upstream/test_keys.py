"""No key, the caller's or the upstream's, is in what anybody reads: logs, metrics, errors, headers, files."""

import asyncio
import io
import json
import logging
from pathlib import Path

import pytest

from tests.service.http.conftest import KEY
from tests.service.upstream.bodies import CHAT, chat
from tests.service.upstream.front import UPSTREAM_KEY, run_front
from tests.service.upstream.raw import JSON, ask
from tests.service.upstream.stub import run_stub
from tests.service.upstream.wires import SHAPES

QUESTION, OTHER = "What is the capital of Peru?", "How tall is the mast at Oberau?"
PAGES = ("/metrics", "/v1/models", "/readyz", "/admin/audit", "/openapi.json", "/admin/replicas", "/")


def read_files(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


async def test_keys_are_in_nothing_that_is_written_or_sent(tmp_path: Path) -> None:
    """Loggers of the HTTP client and of the server write all that they can."""
    log = io.StringIO()
    handler = logging.StreamHandler(log)
    root = logging.getLogger()
    before = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    replies = []
    try:
        async with run_stub() as stub, run_front(tmp_path / "up", stub.url) as front:
            await front.edit(QUESTION, "Cusco")
            replies += [await front.chat(f"team/{name}", OTHER, stream=True) for name in SHAPES]
            replies.append(await front.chat("team/json", QUESTION))
            replies.append(await ask(front.url, CHAT, chat("team/json", OTHER), [JSON]))
            replies.append(await ask(front.url, CHAT, chat("team/json", OTHER), [JSON, ("x-api-key", KEY)]))
            replies += [await front.ask(page, b"", method="GET") for page in PAGES]
            requests = list(stub.requests)
        async with run_front(tmp_path / "down", stub.url) as front:
            replies.append(await front.chat("team/json", OTHER))
            replies += [await front.ask(page, b"", method="GET") for page in PAGES]
    finally:
        root.setLevel(before)
        root.removeHandler(handler)
    texts = [log.getvalue(), *(f"{reply.headers} {reply.body!r}" for reply in replies)]
    assert len(replies) > len(SHAPES) + 2 * len(PAGES)
    for text in texts:
        assert KEY not in text
        assert UPSTREAM_KEY not in text
    for request in requests:
        assert KEY not in repr(request)
        assert dict(request.headers)["authorization"] == f"Bearer {UPSTREAM_KEY}"
    files = await asyncio.to_thread(read_files, tmp_path)
    assert not [path for path, content in files.items() if UPSTREAM_KEY.encode() in content]
    assert "127.0.0.1" in log.getvalue()  # the loggers were heard
    models = next(json.loads(reply.body) for reply in replies if b'"object":"list"' in reply.body)
    assert models["data"]


@pytest.mark.parametrize("key", ["", "a-key-that-nobody-has"])
async def test_an_upstream_asks_for_a_key_even_on_loopback(tmp_path: Path, key: str) -> None:
    async with run_stub() as stub, run_front(tmp_path, stub.url) as front:
        headers = [JSON, *([("authorization", f"Bearer {key}")] if key else [])]
        reply = await ask(front.url, CHAT, chat("team/json", OTHER), headers)
        assert (reply.status, stub.requests) == (401, [])
