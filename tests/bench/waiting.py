"""`python -m tests.bench.waiting`: threads of torch that sleep while they wait for each other, against some that spin.

Two processes, one of each, are asked in turn: alone on the machine, and beside one that is busy with something else.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from tests.bench.against import HERE, WARM, Side
from tests.bench.questions import questions
from tests.bench.table import Row, show
from tests.bench.timing import interleaved

SIZES, ROUNDS = (1, 8), 20


def main() -> None:
    asked = questions(max(SIZES))
    with ExitStack() as stack:
        sides = {"spinning": Side(HERE, {}), "asleep": Side(HERE)}
        for side in sides.values():
            stack.callback(side.process.kill)
            for _ in range(WARM):
                side.answer(asked)
        rows = [_row(size, asked, sides, "alone") for size in SIZES]
        with _busy():
            rows += [_row(size, asked, sides, "beside one busy process") for size in SIZES]
    show(rows)


def _row(size: int, asked: list[str], sides: dict[str, Side], beside: str) -> Row:
    took = interleaved(
        {name: lambda side=side: side.answer(asked[:size]) for name, side in sides.items()}, ROUNDS
    )
    note = f"asleep {1e3 * took['asleep']:.0f} ms, spinning {1e3 * took['spinning']:.0f} ms"
    return Row(
        f"batch of {size}, {beside}: asleep, times as fast", took["spinning"] / took["asleep"], note=note
    )


@contextmanager
def _busy() -> Iterator[None]:
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        process.kill()
        process.wait()


if __name__ == "__main__":
    main()
