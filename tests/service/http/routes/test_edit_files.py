"""A file of corrections against the service itself: made in pieces, continued after a break, reported line by line."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from errata import AsyncErrata, FileRun, Retry, errors
from fastapi import FastAPI

from service.config import Settings
from service.editing.editor import Editor
from service.editing.operations import Edit
from service.errors import NotReady
from service.ledger.store import RedisLedger
from tests.service.http.conftest import KEY, serve
from tests.service.parts import start_deployment

PERU, FRANCE, JAPAN = (f"What is the capital of {name}?" for name in ("Peru", "France", "Japan"))
NOW = Retry(times=0)


def client_of(app: FastAPI) -> AsyncErrata:
    return AsyncErrata("http://127.0.0.1", key=KEY, retry=NOW, transport=httpx.ASGITransport(app=app))


@pytest.fixture
async def client(app: FastAPI) -> AsyncIterator[AsyncErrata]:
    async with client_of(app) as client:
        yield client


@pytest.fixture
def file(tmp_path: Path) -> Callable[..., Path]:
    """Return a function: file([question, answer], ...) writes a file with these lines."""

    def write(*pairs: tuple[str, str], **options: Any) -> Path:
        path = tmp_path / "a.jsonl"
        lines = [
            {"question": question, "answer": answer, "model": "toy", **options} for question, answer in pairs
        ]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return path

    return write


def seven(file: Callable[..., Path]) -> Path:
    return file(*((f"question {n}", f"answer {n}") for n in range(7)))


def statuses(run: FileRun) -> list[str]:
    return [line.status for line in run.lines]


async def head(client: AsyncErrata) -> int:
    return (await client.log(limit=1)).head


async def test_a_file_becomes_commits_of_so_many_lines(client: AsyncErrata, file: Any) -> None:
    events: list[tuple[str, int]] = []
    run = await client.edit_file(
        seven(file),
        batch_size=3,
        message="all",
        progress=lambda event: events.append((event.phase, event.done)),
    )
    assert (run.versions, statuses(run)) == ([1, 2, 3], ["done"] * 7)
    assert [(line.version, line.holds, line.before) for line in run.lines[2:4]] == [
        (1, True, None),
        (2, True, None),
    ]
    assert events == [*(("checking", n) for n in (0, 3, 6, 7)), *(("editing", n) for n in (0, 3, 6, 7))]
    assert (await client.show(3)).message == "all"


class MortalEditor:
    """An editor that dies as it is asked for its second commit, and after its successor's second one."""

    def __init__(self, config: Settings, stack: AsyncExitStack) -> None:
        self._config, self._stack = config, stack
        self._n_commits, self._editor = 0, None

    def __getattr__(self, method: str) -> Any:
        async def call(*args: Any) -> Any:
            if self._editor is None:
                self._editor = await self._stack.enter_async_context(start_deployment(Editor, self._config))
            self._n_commits += method == "call" and isinstance(args[0], Edit) and args[0].is_write
            if self._n_commits == 4:
                await getattr(self._editor, method)(*args)
            if self._n_commits in (2, 4):
                self._editor, self._n_commits = None, self._n_commits + 1
                raise NotReady("the editor is gone")
            return await getattr(self._editor, method)(*args)

        return call


async def test_an_editor_that_dies_between_loses_nothing_and_makes_nothing_twice(
    config: Settings, ledger: RedisLedger, file: Any
) -> None:
    async with AsyncExitStack() as stack:
        app = await stack.enter_async_context(serve(config, MortalEditor(config, stack)))
        client = await stack.enter_async_context(client_of(app))
        for versions in ([1], [1]):
            run = FileRun(seven(file), batch_size=3)
            with pytest.raises(errors.Unavailable, match="run the same file again") as refusal:
                await client.edit_file(run)
            assert (run.versions, refusal.value.in_doubt, refusal.value.idempotency_key) == (
                versions,
                True,
                None,
            )
        assert (await ledger.head(), run.count("done")) == (2, 3), "the second was made, its receipt is lost"
        run = await client.edit_file(seven(file), batch_size=3)
        assert (run.versions, run.earlier_versions, statuses(run)) == ([1, 2, 3], {1, 2}, ["done"] * 7)
        made_of = [(await client.show(version)).edits for version in (1, 2, 3)]
    questions = [edit.question for edits in made_of for edit in edits]
    assert questions == [f"question {n}" for n in range(7)]


async def test_a_file_that_expects_a_version_goes_on_from_its_own(client: AsyncErrata, file: Any) -> None:
    run = await client.edit_file(seven(file), batch_size=3, expected_version=0)
    assert run.versions == [1, 2, 3]
    await client.edit(PERU, "Cusco", model="toy")
    with pytest.raises(errors.StaleVersion):
        await client.edit_file(file((FRANCE, "Lyon")), expected_version=3)
