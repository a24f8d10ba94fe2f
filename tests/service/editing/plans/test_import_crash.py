"""An editor that is killed in the middle of an import leaves nothing that the next import does not sweep away."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from service.editing.deployment import Editor
from service.ledger.embedded.server import EmbeddedValkey
from tests.service.editing.requests import head
from tests.service.graph.requests import answers, checksums, import_file, import_notes, rows, tsv
from tests.service.ledger.processes import kill
from tests.service.parts import body_of, settings, start_deployment
from tests.service.toy_graph import TOYS

TOWNS = tsv(*((f"Town {n}", "capital", f"House {n}") for n in range(20_000)))

CHILD = """
import asyncio, pathlib, sys
from service.editing.deployment import Editor
from tests.service.editing.plans.test_import_crash import TOWNS
from tests.service.graph.requests import import_file
from tests.service.parts import settings, start_deployment
from tests.service.toy_graph import TOYS

async def run(url, var):
    async with start_deployment(Editor, settings(url, pathlib.Path(var), systems=TOYS)) as editor:
        print("begun", flush=True)
        print((await import_file(editor, TOWNS))["status"], flush=True)

asyncio.run(run(*sys.argv[1:]))
"""


@pytest.fixture
def vandal(own_valkey: EmbeddedValkey) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(own_valkey.url) as client:
        yield client


def import_and_kill(url: str, var: Path, vandal: redis.Redis, fraction: float) -> tuple[int, bool]:
    """How many rows it had stored when it was killed at about this fraction of them; and whether it had finished."""
    command = [sys.executable, "-c", CHILD, url, str(var)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "begun\n"
        n_rows, deadline = fraction * 630, time.monotonic() + 30
        while child.poll() is None and time.monotonic() < deadline and vandal.dbsize() < n_rows:
            time.sleep(0.001)
        kill(child.pid)
        return len(rows(vandal)), "201" in child.stdout.read()


async def test_killed_at_any_moment_it_leaves_no_row_behind(
    own_valkey: EmbeddedValkey, tmp_path: Path, vandal: redis.Redis
) -> None:
    chance, row_counts = random.Random(7), []
    for fraction in (chance.random(), 1.0):
        vandal.flushall()
        n_rows, finished = import_and_kill(own_valkey.url, tmp_path, vandal, fraction)
        row_counts.append(n_rows)
        async with start_deployment(Editor, settings(own_valkey.url, tmp_path, systems=TOYS)) as editor:
            version = await head(editor)
            assert version in (0, 1)
            assert version == 1 or not finished
            if version == 0:
                base = await checksums(editor)
                await editor.import_abandon(await begin_import(editor))
                assert (rows(vandal), import_notes(vandal), await checksums(editor)) == (set(), {}, base)
                assert (await import_file(editor, TOWNS))["version"] == 1
            assert await answers(editor, "capital of Town 19999?") == ["House 19999"]
            assert import_notes(vandal) == {} or version == 1
    assert max(row_counts) > 0, "it has to be killed while rows are there"


async def begin_import(editor: Editor) -> str:
    session: str = body_of(await editor.import_begin({}, "ana"))["import"]
    return session
