"""The whole application on a real socket, in a thread of its own, for what is not written for our event loop.

Two systems behind it, under the names that are asked for by default, so that corrections, facts and files all have
something to change; only Ray is missing.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from typing import Any

from service.access.api_keys import fingerprint
from service.config import Settings
from service.editing.editor import Editor
from tests.service.conftest import start_valkey
from tests.service.http.conftest import serve
from tests.service.http.listening import listening
from tests.service.parts import settings, start_deployment
from tests.service.toy_graph import TOYS

KEY = "a-key-for-fuzzing-only"
SYSTEMS = {"nkb": TOYS["toy"], "kbert": TOYS["atlas"]}
START_S, STOP_S = 60.0, 30.0


@dataclass(frozen=True)
class Service:
    """A running service. url: its address. key: the admin's."""

    url: str
    key: str = KEY

    @property
    def authorization(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"}


@contextmanager
def serve_in_thread(var: Path, **options: Any) -> Iterator[Service]:
    """Run the service in a thread. options: settings that differ from the defaults here."""
    ready: Queue[str | BaseException] = Queue()
    with start_valkey() as valkey:
        defaults: dict[str, Any] = {
            "systems": SYSTEMS,
            "admin_key_sha256": fingerprint(KEY),
            "version_wait_s": 0.1,
        }
        config = settings(valkey.url, var, **(defaults | options))
        loop, stop = asyncio.new_event_loop(), asyncio.Event()
        thread = threading.Thread(target=_run, args=(loop, config, ready, stop))
        thread.start()
        try:
            address = ready.get(timeout=START_S)
            if isinstance(address, BaseException):
                raise address
            yield Service(address)
        finally:
            loop.call_soon_threadsafe(stop.set)
            thread.join(STOP_S)


def _run(
    loop: asyncio.AbstractEventLoop, config: Settings, ready: Queue[str | BaseException], stop: asyncio.Event
) -> None:
    async def listen() -> None:
        async with _listen(config) as address:
            ready.put(address)
            await stop.wait()

    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        try:
            runner.run(listen())
        except BaseException as error:
            ready.put(error)
            raise


@asynccontextmanager
async def _listen(config: Settings) -> AsyncIterator[str]:
    async with (
        start_deployment(Editor, config) as editor,
        serve(config, editor) as app,
        listening(app) as address,
    ):
        yield address
