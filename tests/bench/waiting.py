"""`python -m tests.bench.waiting`: threads of torch that sleep while they wait for each other, against some that spin.

Two processes, one of each, are asked in turn: alone on the machine, and beside one that is busy with something else.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from tests.bench.against import ROOT, WARM, Side
from tests.bench.questions import questions
from tests.bench.table import Row, show
from tests.bench.timing import measure_interleaved

SIZES, ROUNDS = (1, 8), 20


def main() -> None:
    texts = questions(max(SIZES))
    with ExitStack() as stack:
        sides = {"spinning": Side(ROOT, {}), "asleep": Side(ROOT)}
        for side in sides.values():
            stack.callback(side.process.kill)
            for _ in range(WARM):
                side.answer(texts)
        rows = [_row(size, texts, sides, "alone") for size in SIZES]
        with _run_busy_process():
            rows += [_row(size, texts, sides, "beside one busy process") for size in SIZES]
    show(rows)


def _row(size: int, texts: list[str], sides: dict[str, Side], load: str) -> Row:
    seconds = measure_interleaved(
        {name: lambda side=side: side.answer(texts[:size]) for name, side in sides.items()}, ROUNDS
    )
    note = f"asleep {1e3 * seconds['asleep']:.0f} ms, spinning {1e3 * seconds['spinning']:.0f} ms"
    return Row(
        f"batch of {size}, {load}: asleep, times as fast", seconds["spinning"] / seconds["asleep"], note=note
    )


@contextmanager
def _run_busy_process() -> Iterator[None]:
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        process.kill()
        process.wait()


if __name__ == "__main__":
    main()
