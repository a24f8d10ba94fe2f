"""How long contradicting edits take: `python -m tests.service.editing.plans.measure` previews 20,000, commits 1,000."""

import asyncio
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from service.editing.editor import Editor
from service.ledger.embedded.server import EmbeddedValkey
from tests.service.editing.plans.test_contradictions import KINDS, PREVIEW, contradicting
from tests.service.editing.requests import FRANCE, change, edits
from tests.service.parts import settings, start_deployment
from tests.service.toy_graph import TOYS


async def measure(kind: str, count: int, **options: bool) -> str:
    """Return a line: the seconds of the request, and the longest time that the editor answered nothing else."""
    gaps_s = [0.0]

    async def watch() -> None:
        while True:
            before = time.perf_counter()
            await asyncio.sleep(0.005)
            gaps_s.append(time.perf_counter() - before)

    with TemporaryDirectory() as folder, EmbeddedValkey(Path(folder) / "valkey") as server:
        async with start_deployment(Editor, settings(server.url, Path(folder), systems=TOYS)) as editor:
            await change(editor, FRANCE, "Lyon")
            watching, start = asyncio.create_task(watch()), time.perf_counter()
            receipt = await edits(editor, *contradicting(kind, count), **options)
            seconds = time.perf_counter() - start
            watching.cancel()
    n_refused = len(receipt["report"]["refused"])
    return f"{kind}: {count:,} edits, {n_refused:,} refused, {seconds:.1f} s, longest gap {max(gaps_s):.2f} s"


if __name__ == "__main__":
    for kind in KINDS:
        print("commit ", asyncio.run(measure(kind, 1_000, skip_refused=True)))
        print("preview", asyncio.run(measure(kind, 20_000, **PREVIEW)))
