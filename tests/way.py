"""The way of a question and of an edit through the house: `python -m tests.way` lists the files in the order of entry.

Ingress, replica and editor run in this process on an embedded Valkey, so that every call is seen; only Ray is missing.
Files of `service` in which a function is entered count, each once. What stands before every route (middleware, who may
call) is listed apart.
"""

import asyncio
import sys
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path
from types import FrameType
from typing import Any

import httpx

from service.access.api_keys import fingerprint
from service.editing.editor import Editor
from service.http.app import build_app
from service.ledger.embedded.server import EmbeddedValkey
from service.replicas.replica import Replica
from tests.service.http.conftest import ADMIN, KEY, client_of, local_editor, local_router
from tests.service.parts import settings, start_deployment

SERVICE = str(Path(__file__).parents[1] / "service")
QUESTION = "What is the capital of Peru?"
# Files from the route on; a change may lower a number. They rose once, by 2 and 3, as files were divided.
MOST_FILES = {"a question": 10, "an edit": 36}


async def measure() -> dict[str, list[str]]:
    """Return the files that a question and an edit enter, in their order."""
    with tempfile.TemporaryDirectory() as folder, EmbeddedValkey(Path(folder) / "valkey") as server:
        config = settings(server.url, Path(folder), admin_key_sha256=fingerprint(KEY))
        async with AsyncExitStack() as stack:
            editor = await stack.enter_async_context(start_deployment(Editor, config))
            replica = await stack.enter_async_context(start_deployment(Replica, config, "toy"))
            app = build_app(config, local_router({"toy": replica}), local_editor(editor))
            stack.push_async_callback(app.state.access.aclose)
            http = await stack.enter_async_context(client_of(app))
            http.headers.update(ADMIN)
            question = {"question": QUESTION, "model": "toy"}
            edit = {"edits": [{**question, "answer": "Cusco"}], "wait": "all"}
            return {
                "a question": await trace(http, "/v1/answers", question),
                "an edit": await trace(http, "/admin/edits", edit),
            }


async def trace(http: httpx.AsyncClient, path: str, body: dict[str, Any]) -> list[str]:
    """The files that one request enters, in order. The second request is traced: the first fills caches."""
    (await http.post(path, json=body)).raise_for_status()
    if path == "/admin/edits":
        body = {**body, "edits": [{**body["edits"][0], "answer": "Puno"}]}
    entries: dict[str, None] = {}
    request = asyncio.current_task()
    background = asyncio.all_tasks() - {request}  # heartbeats, the follower of the ledger, ...

    def record(frame: FrameType, event: str, argument: object) -> None:
        file = frame.f_code.co_filename
        if event == "call" and file.startswith(SERVICE) and current_task() not in background:
            entries.setdefault(file.removeprefix(SERVICE + "/"))

    sys.setprofile(record)
    try:
        (await http.post(path, json=body)).raise_for_status()
    finally:
        sys.setprofile(None)
    return list(entries)


def current_task() -> asyncio.Task[Any] | None:
    """None in a thread, and between two tasks."""
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None


def split(files: list[str]) -> tuple[list[str], list[str]]:
    """Return the files before the route, and those from it on."""
    route = next(number for number, file in enumerate(files) if "/routes/" in file)
    return files[:route], files[route:]


def main() -> None:
    for name, files in asyncio.run(measure()).items():
        before, after = split(files)
        print(f"\n{name}: {len(after)} files from the route on (at most {MOST_FILES[name]})")
        print("\n".join(f"  {number:2} {file}" for number, file in enumerate(after, 1)))
        print(f"  before every route, {len(before)}: {', '.join(before)}")


if __name__ == "__main__":
    main()
