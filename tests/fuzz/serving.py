"""The whole application on a real socket, in a thread of its own, for what is not written for our event loop.

Two systems behind it, under the names that are asked for by default, so that corrections, facts and files all have
something to change; only Ray is missing.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from typing import Any

from service.access.api_keys import fingerprint
from service.config import Settings
from service.editing.deployment import Editor
from service.http.app import build_app
from service.ledger.embedded.server import EmbeddedValkey
from service.replicas.replica import Replica
from tests.service.http.conftest import local_editor, local_router
from tests.service.http.listening import listening
from tests.service.parts import settings, started
from tests.service.toy_graph import TOYS

KEY = "a-key-for-fuzzing-only"
SYSTEMS = {"nkb": TOYS["toy"], "kbert": TOYS["atlas"]}
START_S, STOP_S = 60.0, 30.0


@dataclass(frozen=True)
class Served:
    """url: where it listens. key: the admin's."""

    url: str
    key: str = KEY

    @property
    def authorization(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"}


@contextmanager
def serving(var: Path, **more: Any) -> Iterator[Served]:
    """more: settings that are not the usual ones."""
    ready: Queue[str | BaseException] = Queue()
    with EmbeddedValkey(var / "valkey") as valkey:
        known = {"systems": SYSTEMS, "admin_key_sha256": fingerprint(KEY), "version_wait_s": 0.1}
        chosen = settings(valkey.url, var, **known, **more)
        loop, stop = asyncio.new_event_loop(), asyncio.Event()
        thread = threading.Thread(target=_run, args=(loop, chosen, ready, stop))
        thread.start()
        try:
            yield Served(_told(ready.get(timeout=START_S)))
        finally:
            loop.call_soon_threadsafe(stop.set)
            thread.join(STOP_S)


def _told(address: str | BaseException) -> str:
    if isinstance(address, BaseException):
        raise address
    return address


def _run(
    loop: asyncio.AbstractEventLoop, chosen: Settings, ready: Queue[str | BaseException], stop: asyncio.Event
) -> None:
    async def serve() -> None:
        async with _listening(chosen) as address:
            ready.put(address)
            await stop.wait()

    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        try:
            runner.run(serve())
        except BaseException as error:
            ready.put(error)
            raise


@asynccontextmanager
async def _listening(chosen: Settings) -> AsyncIterator[str]:
    async with AsyncExitStack() as stack:
        editor = await stack.enter_async_context(started(Editor, chosen))
        replicas = {
            name: await stack.enter_async_context(started(Replica, chosen, name)) for name in chosen.systems
        }
        app = build_app(chosen, local_router(replicas, chosen.max_batch), local_editor(editor))
        stack.push_async_callback(app.state.access.aclose)
        yield await stack.enter_async_context(listening(app))
