"""A replica and an editor in this process, on a real server, without Ray."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from errata.wire import EditRequest
from prometheus_client import REGISTRY
from ray.serve._private.common import DeploymentID
from ray.serve._private.config import DeploymentConfig
from ray.serve._private.replica import UserCallableWrapper

from service.concurrency import cancel_and_wait
from service.config import Settings
from service.editing.editor import Editor
from service.editing.operations import Edit
from service.outcome import Outcome
from service.replicas.replica import Replica

TOY = "tests.service.toy:load_toy"
TURN_S = 0.01  # unit of `stopwatch`
PATIENCE_S = 60.0  # limit of each wait for what a loaded machine does late, too


def settings(url: str, var: Path, **overrides: Any) -> Settings:
    """Return settings whose waits end in an error only if something hangs, however slow the machine is."""
    defaults: dict[str, Any] = {
        "systems": {"toy": TOY},
        "torch_threads": 1,
        "replicas": 1,
        "admin_key_sha256": "0" * 64,
        "redis_timeout_s": PATIENCE_S,
        "ack_timeout_s": PATIENCE_S,
    }
    return Settings(var=var, redis_url=url, **{**defaults, **overrides})


@asynccontextmanager
async def start_deployment(kind: type[Any], *arguments: Any) -> AsyncIterator[Any]:
    """Start a deployment's class as Ray does: its constructor is awaited."""
    part = kind.__new__(kind)
    await part.__init__(*arguments)
    try:
        yield part
    finally:
        await part.aclose()


async def run_ready(turns: int = 200) -> None:
    """Let the event loop run so often that all tasks of this process that can go on have done so."""
    for _ in range(turns):
        await asyncio.sleep(0)


@asynccontextmanager
async def stopwatch() -> AsyncIterator[Callable[[], float]]:
    """Yield a function that returns the seconds for which the event loop has run.

    It counts turns of a hundredth of a second, so it stands still while other processes have the cores.
    """
    n_turns = 0

    async def count() -> None:
        nonlocal n_turns
        while True:
            await asyncio.sleep(TURN_S)
            n_turns += 1

    task = asyncio.create_task(count())
    try:
        yield lambda: n_turns * TURN_S
    finally:
        await cancel_and_wait([task])


async def wait_until(condition: Callable[[], bool]) -> None:
    """Poll `condition`; TimeoutError after a minute."""
    async with asyncio.timeout(PATIENCE_S):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


def as_ray_runs(kind: type[Any], *arguments: Any) -> UserCallableWrapper:
    """Run a deployment in Ray's own wrapper, which constructs and ends its class inside a replica's process."""
    return UserCallableWrapper(
        kind,
        arguments,
        {},
        deployment_id=DeploymentID("part", "tests"),
        run_sync_methods_in_threadpool=False,
        run_user_code_in_separate_thread=False,
        local_testing_mode=False,
        deployment_config=DeploymentConfig(),
        actor_id="none",
    )


def sample(name: str, **labels: str) -> float | None:
    """Return one figure of the metrics page."""
    return REGISTRY.get_sample_value(name, labels)


def body_of(outcome: Outcome) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(outcome.body)
    return {"status": outcome.status, **body}


async def ask(replica: Replica, question: str, **fields: Any) -> dict[str, Any]:
    return body_of(await replica.answer({"question": question, **fields}))


async def edit(
    editor: Editor, question: str, answer: str, key: str | None = None, **options: Any
) -> dict[str, Any]:
    item = {"question": question, "answer": answer, "model": "toy"}
    return body_of(
        await editor.call(Edit(EditRequest.model_validate({"edits": [item], **options}), "tester", key))
    )
