"""The console over a long history: the time of each page in the process of the ingress, and the bytes of a first load.

Ray is left out; the systems are toys, so that the figures are those of the pages and the routes behind them.
"""

import asyncio
import logging
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx

from service.access.api_keys import fingerprint
from service.config import Settings
from service.editing.editor import Editor
from service.ledger.commit import Commit
from service.ledger.embedded.server import EmbeddedValkey
from service.ledger.store import RedisLedger
from tests.bench.table import Row
from tests.bench.timing import percentile
from tests.service.http.conftest import ADMIN, KEY, client_of, serve
from tests.service.parts import settings, start_deployment
from tests.service.toy_graph import TOYS

VERSIONS, EDITS, LOADS, DAYS = 10_000, 1_000, 30, 30
PAGES = (
    *("ask?question=who%20runs%20mill%207%3F", "why?question=who%20runs%20mill%207%3F", "correct", "proposals"),
    *("worklist", "facts?q=peru", "facts/Q419", "files", "history", "history?grep=mill", f"versions/{VERSIONS}"),
    *("diff", "health"),
)  # fmt: skip
FILES = ("static/console.css", "static/icon.svg")


def rows() -> Iterator[Row]:
    logging.disable(logging.INFO)
    with (
        tempfile.TemporaryDirectory(prefix="errata-bench-") as name,
        EmbeddedValkey(Path(name) / "valkey") as valkey,
    ):
        config = settings(
            valkey.url, Path(name), admin_key_sha256=fingerprint(KEY), gaps_days=7.0, systems=TOYS
        )
        figures = asyncio.run(_measure(config))
    logging.disable(logging.NOTSET)
    note = f"ms, p50 of {LOADS}; {VERSIONS:,} versions, {EDITS:,} active edits, toys"
    for page, (milliseconds, n_bytes) in figures.items():
        yield Row(f"the page {page}", percentile(milliseconds, 0.5), "<= 100", note)
        yield Row(
            f"first load of {page}", n_bytes / 1_000, "<= 120", "kB, compressed, with all that it loads"
        )


async def _measure(config: Settings) -> dict[str, tuple[list[float], int]]:
    await _write_history(config)
    async with _browse(config) as browser:
        n_shared_bytes = sum([(await _load(browser, file))[1] for file in FILES])
        loads = {page: [await _load(browser, page) for _ in range(LOADS)] for page in PAGES}
    return {
        page: ([1_000 * seconds for seconds, _ in timings], timings[0][1] + n_shared_bytes)
        for page, timings in loads.items()
    }


async def _write_history(config: Settings) -> None:
    """Write commits that change nothing, one after the other over the last days, so that a long log takes seconds."""
    assert config.redis_url
    ledger, digest, now = RedisLedger.connect(config.redis_url), "", time.time()
    for version in range(1, VERSIONS):
        at = now - DAYS * 86_400 * (1 - version / VERSIONS)
        commit = Commit(version, "edit", "ann", at, "a mill", previous=digest)
        await ledger.append(commit)
        digest = commit.digest
    await ledger.aclose()


@asynccontextmanager
async def _browse(config: Settings) -> AsyncIterator[httpx.AsyncClient]:
    """Yield a browser of a service whose newest version has all edits, of which some have answered."""
    async with (
        start_deployment(Editor, config) as editor,
        serve(config, editor) as app,
        client_of(app) as browser,
    ):
        items = [
            {"question": f"who runs mill {n}?", "answer": f"Ada {n}", "model": "toy"} for n in range(EDITS)
        ]
        for path, body in (("/admin/edits", {"edits": items}), ("/admin/checks", {})):
            (await browser.post(path, json=body, headers=ADMIN)).raise_for_status()
        for n in range(LOADS):
            question = {"question": f"who runs mill {n}?"}
            (await browser.post("/v1/answers", json=question, headers=ADMIN)).raise_for_status()
        browser.cookies.update({"errata_key": KEY})
        yield browser


async def _load(browser: httpx.AsyncClient, page: str) -> tuple[float, int]:
    """Return the seconds until a page or file is there, and its bytes as they travel."""
    start = time.perf_counter()
    async with browser.stream("GET", f"/console/{page}", headers={"accept-encoding": "gzip"}) as response:
        n_bytes = sum([len(part) async for part in response.aiter_raw()])
        response.raise_for_status()
    return time.perf_counter() - start, n_bytes
