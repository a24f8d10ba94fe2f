"""What the linker does with a million names: `python -m tests.service.graph.linking.measure [names]`."""

import random
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from models.packs.pack import Pack
from service.graph.linking.linker import Linker


def measure(n_names: int = 1_000_000) -> dict[str, float]:
    """Figures by their names, units in them. The names are words of the pack's names, put together by chance."""
    chance, words = random.Random(1), _words()
    names = _names(n_names, words, chance)
    before, linker, start_s = _resident_bytes(), Linker(), time.perf_counter()
    hold_s = _longest_hold_s(lambda: linker.add_many((name, f"Q{i}") for i, name in enumerate(names)))
    build_s = time.perf_counter() - start_s
    bytes_per_name = (_resident_bytes() - before) / n_names
    questions = [_question(words, chance) for _ in range(5000)]
    text = " ".join(questions)[:20_000]
    sample = chance.sample(names, min(n_names, 50_000))
    fresh = Linker()
    fresh.add([(names[0], "Q0")])
    return {
        "build_s": build_s,
        "longest_hold_ms": hold_s * 1000,
        "bytes_per_name": bytes_per_name,
        "questions_chars_per_s": sum(map(len, questions)) / _seconds(lambda: [*map(linker.find, questions)]),
        "long_text_chars_per_s": 10 * len(text) / _seconds(lambda: [linker.find(text) for _ in range(10)]),
        "resolve_per_s": len(sample) / _seconds(lambda: [*map(linker.resolve, sample)]),
        "complete_ms": 10 * _seconds(lambda: [linker.complete(name[:5], 20) for name in sample[:100]]),
        "complete_one_letter_ms": 1000 * _seconds(lambda: linker.complete("s", 20)),
        "add_one_ms": 10 * _seconds(lambda: _add_singly(linker, 100)),
        "replace_hold_ms": 1000 * _longest_hold_s(lambda: linker.replace(fresh)),
    }


def _words() -> list[str]:
    return sorted(
        {w for e in Pack.load().entities.values() for n in (e.label, *e.aliases) for w in n.split()}
    )


def _names(n: int, words: list[str], chance: random.Random) -> list[str]:
    names: set[str] = set()
    while len(names) < n:
        names.add(" ".join(chance.choices(words, k=chance.choice((1, 2, 2, 3, 3, 4)))))
    return sorted(names)


def _question(words: list[str], chance: random.Random) -> str:
    return f"What is the capital of {' '.join(chance.choices(words, k=4))} and when?"


def _add_singly(linker: Linker, n: int) -> None:
    for i in range(n):
        linker.add([(f"new {i}", "x")])


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def _seconds(work: Callable[[], object]) -> float:
    """Return the processor time of this process, which other processes do not change."""
    start_s = time.process_time()
    work()
    return time.process_time() - start_s


def _longest_hold_s(work: Callable[[], object]) -> float:
    """How long the work's own thread computed, at worst, while another one waited for the interpreter.

    In that thread's processor time: what other processes take away is not counted.
    """
    thread = threading.Thread(target=work)
    thread.start()
    return max(waits(thread, time.pthread_getcpuclockid(thread.ident or 0)))


def waits(thread: threading.Thread, clock: int) -> Iterator[float]:
    """Return how long the thread computed, each time, before this one had its turn; other processes do not count."""
    while thread.is_alive():
        start_s = time.clock_gettime(clock)
        time.sleep(0.001)
        yield (time.clock_gettime(clock) if thread.is_alive() else start_s) - start_s


if __name__ == "__main__":
    for figure, value in measure(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000).items():
        print(f"{figure:>24} {value:,.2f}")
