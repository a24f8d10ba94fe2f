"""How long an edit waits for others: a dry run of a thousand edits and four readers who compare versions, at once."""

import random
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from errata import Errata
from errata.wire import EditItem

from models.packs.pack import Pack
from tests.bench.processes import Server, run_errata
from tests.bench.questions import questions
from tests.bench.table import Row

N_EDITS, N_TRIED, N_READERS = 15, 1_000, 4
ROUNDS = 3


def rows() -> Iterator[Row]:
    answers = sorted({item.answer for item in Pack.load().items()})
    wordings = questions(N_TRIED + 2 * ROUNDS * N_EDITS + 1, 43)
    edits = [EditItem(question=q, answer=answers[37 * n % len(answers)]) for n, q in enumerate(wordings)]
    trial, single = edits[:N_TRIED], iter(edits[N_TRIED:])
    with tempfile.TemporaryDirectory(prefix="errata-bench-") as name, run_errata(Path(name), 1) as server:
        key = (Path(name) / "var" / "admin.key").read_text().strip()
        with _client(server, key) as client:
            _time_edit(client, next(single))  # it waits until the editor has read its data
            alone: list[float] = []
            beside: list[float] = []
            for _ in range(ROUNDS):
                alone += [_time_edit(client, next(single)) for _ in range(N_EDITS)]
                with _busy(server, key, trial):
                    beside += [_time_edit(client, next(single)) for _ in range(N_EDITS)]
    comment = (
        f"p50; alone {1e3 * statistics.median(alone):.0f} ms, the slowest beside {1e3 * max(beside):.0f} ms"
    )
    yield Row(
        "an edit beside a dry run of 1,000 and four diffs, of one alone",
        statistics.median(beside) / statistics.median(alone),
        "<= 2",
        comment,
    )


def _client(server: Server, key: str) -> Errata:
    return Errata(server.url, key=key, timeout_s=300)


def _time_edit(client: Errata, edit: EditItem) -> float:
    time.sleep(0.2)  # people pause between corrections
    start = time.perf_counter()
    client.edit_many([edit], skip_refused=True)
    return time.perf_counter() - start


@contextmanager
def _busy(server: Server, key: str, trial: Sequence[EditItem]) -> Iterator[None]:
    """Try a thousand edits out and compare random versions again and again while the block runs."""
    stop = threading.Event()

    def repeat(work: Callable[[Errata], object]) -> None:
        with _client(server, key) as client:
            while not stop.is_set():
                work(client)

    def compare(client: Errata) -> None:
        head = client.log(limit=1).head
        client.diff(*sorted(random.sample(range(head + 1), 2)))

    def try_out(client: Errata) -> None:
        client.edit_many(trial, dry_run=True, skip_refused=True)

    threads = [threading.Thread(target=repeat, args=[work]) for work in [try_out, *[compare] * N_READERS]]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()
