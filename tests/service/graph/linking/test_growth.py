"""Names that arrive while others read are seen at once and together, and never stop the readers."""

import sys
import threading
import time
from collections.abc import Callable

import pytest

from service.graph.linking.linker import Linker
from tests.service.graph.linking.measure import waits


def test_a_name_is_found_as_soon_as_it_is_added() -> None:
    linker = Linker()
    for i in range(3000):
        linker.add([(f"name{i}", f"Q{i}")])
        assert linker.find(f"is name{i} here")[0].ids == (f"Q{i}",)
    assert len(linker) == 3000
    assert linker.complete("name2999", 1) == [("name2999", "Q2999")]
    assert linker.resolve("NAME0") == ("Q0",)


def test_known_pairs_are_ignored() -> None:
    linker = Linker()
    for _ in range(3):
        linker.add([("Peru", "Q1"), ("peru", "Q1")])
    assert len(linker) == 1
    assert linker.complete("p", 5) == [("Peru", "Q1")]


def test_names_added_together_are_seen_together_or_not_at_all() -> None:
    linker = Linker()
    torn_texts: list[str] = []

    def read(stop: threading.Event) -> None:
        while not stop.is_set():
            last = len(linker) // 2 - 1
            texts = [f"left{i} and right{i}" for i in range(last, last + 3)]
            torn_texts.extend(text for text in texts if len(linker.find(text)) == 1)

    with _beside(read):
        for i in range(4000):
            linker.add([(f"left{i}", f"L{i}"), (f"right{i}", f"R{i}")])
    assert torn_texts == []


def test_writers_in_several_threads_lose_nothing() -> None:
    linker = Linker()

    def write(offset: int) -> None:
        for i in range(500):
            linker.add([(f"name {offset + i}", "Q")])

    _all_at_once([lambda k=k: write(500 * k) for k in range(4)])  # type: ignore[misc]
    assert len(linker) == 2000
    assert all(linker.resolve(f"name {i}") for i in range(2000))


def test_a_large_import_does_not_stop_the_others() -> None:
    linker = Linker()
    linker.add([("Peru", "Q1")])
    names = ((f"some name {i}", f"Q{i}") for i in range(60_000))
    thread = threading.Thread(target=linker.add_many, args=(names,))
    thread.start()
    assert max(waits(thread, time.pthread_getcpuclockid(thread.ident or 0))) < 1.0  # a tenth of it is usual
    assert linker.find("Where is Peru?")
    assert len(linker) == 60_001


def test_replacing_forgets_all_but_the_new_at_once() -> None:
    linker, fresh = Linker(), Linker()
    linker.add([("old", "Q1"), ("kept", "Q2")])
    fresh.add([("kept", "Q2"), ("new", "Q4")])
    before = linker.copy()
    linker.replace(fresh)
    assert [linker.resolve(name) for name in ("old", "kept", "new")] == [(), ("Q2",), ("Q4",)]
    assert len(linker) == 2
    assert [before.resolve(name) for name in ("old", "kept", "new")] == [("Q1",), ("Q2",), ()]


def test_a_copy_does_not_grow() -> None:
    linker = Linker()
    linker.add([("old", "Q1")])
    copy = linker.copy()
    linker.add([("later", "Q4")])
    assert (len(copy), copy.resolve("old"), copy.resolve("later")) == (1, ("Q1",), ())


def test_one_name_of_very_many_entities_is_no_trap() -> None:
    linker = Linker()
    linker.add_many((("John Smith", f"Q{i}") for i in range(20_000)), pause_s=0)
    assert len(linker.find("John Smith?")[0].ids) == len(linker) == 20_000


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["啊" * n + "x" for n in range(1, 299, 2)], "啊" * 20_000),
        ([" ".join(["the"] * n) for n in range(50, 76)], "the " * 5000),
        (["啊" * n for n in (2, 100, 300)], "啊" * 20_000),
        (["the " + "x" * 500], "the " * 5000),
        (["a" * 100_000], "a " * 10_000),
    ],
)
def test_hostile_names_do_not_make_a_text_take_for_ever(names: list[str], text: str) -> None:
    """They are compared with an ordinary name in the same text, and with half of the text, on any machine."""
    whole = find_s(names, text)
    assert whole < 200 * find_s(["Peru"], text)
    assert whole < 3.5 * max(0.01, find_s(names, text[: len(text) // 2]))


def find_s(names: list[str], text: str) -> float:
    linker = Linker()
    linker.add((name, "Q") for name in names)
    start_s = time.thread_time()
    linker.find(text)
    return time.thread_time() - start_s


class _beside:
    """Run a reader in a separate thread, switching often, for as long as the block lasts."""

    def __init__(self, work: Callable[[threading.Event], None]) -> None:
        self._stop = threading.Event()
        self._thread = threading.Thread(target=work, args=(self._stop,))

    def __enter__(self) -> None:
        self._interval = sys.getswitchinterval()
        sys.setswitchinterval(1e-5)
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        sys.setswitchinterval(self._interval)


def _all_at_once(work: list[Callable[[], None]]) -> None:
    threads = [threading.Thread(target=task) for task in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
