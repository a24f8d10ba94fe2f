"""RESULTS.md, and the lines of the plot, from the present results."""

import math
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from models.scope.locality import Locality
from tests.bench.editing_methods.draw import FULL, KINDS
from tests.bench.editing_methods.results import Results, has_collapsed
from tests.bench.editing_methods.sets import OTHER_QUESTIONS
from tests.bench.editing_methods.settings import TRAINED
from tests.bench.table import machine

FACTS = "facts"  # the workload of the plot
SET_SHARES = ("reliability", "generalisation", OTHER_QUESTIONS[0])
STALE = "†"  # marks what was made with other code or weights
SMALL_SAMPLE = "‡"  # marks what was measured on the small sample
SHARES = ("reliability", "generalisation", *KINDS)
UNDO = ("first, then", "first, now", "kept", "back", "bits", "refused")
PROTOCOL = ("first token", "whole answer", "destroyed")
Cells = Sequence[Mapping[str, Any]]  # of one method and size, one for each seed


def wilson(right: int, n_asked: int, z: float = 1.96) -> tuple[float, float]:
    """Bounds of a 95 % interval, in per cent. Wilson, JASA 22 (1927)."""
    share, spread = right / n_asked, z * z / n_asked
    middle = (share + spread / 2) / (1 + spread)
    half = z * math.sqrt(share * (1 - share) / n_asked + spread / (4 * n_asked)) / (1 + spread)
    return 100 * max(0.0, middle - half), 100 * min(1.0, middle + half)


def count(cell: Mapping[str, Any], name: str) -> tuple[int, int]:
    """Return [right, asked] of a figure, over all forms of its questions."""
    parts = [
        c
        for key, c in cell["counts"].items()
        if key == name or (key.startswith(f"{name}, ") and name in (*KINDS, OTHER_QUESTIONS[0]))
    ]
    return sum(right for right, _ in parts), sum(n_asked for _, n_asked in parts)


def shares(cells: Cells, name: str) -> list[float]:
    counts = [count(cell, name) for cell in cells]
    return [100 * right / n_asked for right, n_asked in counts if n_asked]


def summarise(cells: Cells, name: str, worst: Callable[[list[float]], float] = min) -> str:
    """Return the mean of the seeds, interval over all questions, worst seed, number of questions."""
    seed_shares = shares(cells, name)
    if not seed_shares:
        return "–"
    right, n_asked = (sum(part) for part in zip(*(count(cell, name) for cell in cells), strict=True))
    low, high = wilson(right, n_asked)
    mean = sum(seed_shares) / len(seed_shares)
    return f"**{mean:.1f}** ({low:.1f}–{high:.1f}), {worst(seed_shares):.1f}; {n_asked:,}"


@dataclass(frozen=True)
class Line:
    """One method in the plot. points: (edits, per cent) by figure."""

    name: str
    points: Mapping[str, Sequence[tuple[int, float]]]


def lines(results: Results, methods: Sequence[str]) -> list[Line]:
    """Return the lines of the plot, of the facts of the pack."""
    cells = _group(results)
    return [_line(cells, name) for name in methods if any(key[:2] == (name, FACTS) for key in cells)]


def locality(results: Results, methods: Sequence[str], checkpoint: str) -> Locality:
    """Return the worst of these methods, kinds of near questions and seeds, up to each number of edits."""
    cells = {key: group for key, group in _group(results).items() if key[0] in methods}
    worst = {
        n: [s for key, group in cells.items() if key[2] == str(n) for s in _near(group)]
        for n in sorted({int(n) for _, _, n in cells if n.isdigit()})
    }
    worst_shares = {n: round(min(near_shares), 2) for n, near_shares in worst.items() if near_shares}
    return Locality(checkpoint, list(worst_shares), list(accumulate(worst_shares.values(), min)))


def _near(cells: Cells) -> Iterator[float]:
    for kind in KINDS[:2]:
        yield from shares(cells, kind)


def table(results: Results, current: Results, methods: Sequence[str], workloads: Sequence[str]) -> str:
    """Return the page in Markdown.

    Args:
        results: The last result of each cell.
        current: Those that the present code and weights made. Others are shown, with a mark, where there are none.
        methods: Methods in their order.
        workloads: Workloads in theirs.
    """
    cells = _group(current)
    shown_cells = _group(choose_shown(results, current))
    board = Board(shown_cells, shown_cells.keys() - cells.keys(), methods)
    parts = [*_head(results), *_trained(methods)]
    for workload in workloads:
        parts += board.show_workload(workload)
    parts += [
        *board.show_undo(workloads),
        *board.show_costs(workloads),
        *_protocol(board.cells),
    ]
    return "\n".join(parts) + "\n"


def choose_shown(results: Results, current: Results) -> Results:
    """Return the current cells, and older ones of a method, workload and size that has no current ones."""
    known_groups = {key[:3] for key in current}
    return {**{key: cell for key, cell in results.items() if key[:3] not in known_groups}, **current}


CellsByKey = Mapping[tuple[str, str, str], Cells]  # by method, workload and number of edits


def _group(results: Results) -> dict[tuple[str, str, str], list[Mapping[str, Any]]]:
    groups: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for (method, workload, n, _), cell in sorted(results.items()):
        groups.setdefault((method, workload, n), []).append(cell)
    return groups


def _line(cells: CellsByKey, name: str) -> Line:
    sizes = sorted(
        int(n) for method, workload, n in cells if (method, workload) == (name, FACTS) and n.isdigit()
    )
    points = {
        figure: [
            (n, sum(seed_shares) / len(seed_shares))
            for n in sizes
            if (seed_shares := shares(cells[name, FACTS, str(n)], figure))
        ]
        for figure in SHARES
    }
    return Line(name, points)


def _head(results: Results) -> Iterator[str]:
    days = sorted({cell["at"][:10] for cell in results.values()})
    hours = sum(cell.get("seconds", 0) for cell in results.values()) / 3600
    threads = ", ".join(sorted({str(cell["threads"]) for cell in results.values()}))
    yield "# Editing methods compared"
    yield ""
    yield "Made by `make bench-editing`, {}; {:.1f} hours in all, {} thread(s). Machine: {}.".format(
        " to ".join(dict.fromkeys((days[0], days[-1]))), hours, threads, machine(os.cpu_count() or 1)
    )
    yield "What is measured, and how, stands in [README.md](README.md)."
    yield ""
    yield "![Reliability, generalisation and locality against the number of edits](plot.svg)"
    yield ""
    yield "Shares in per cent: **mean of the seeds** (95 % interval over all questions, Wilson), worst seed; questions."
    yield f"{STALE}: made with earlier weights or code, and not measured again since; the plot has it, too."
    yield f"{SMALL_SAMPLE}: on the small sample, a fifth of the streams and an eighth of the bystanders of the full."
    yield "*facts* and *unseen names* are of the pack's relations, the other workloads are sets of other people;"
    yield "*others* are questions that no edit is about, answered as without edits."
    yield ""


def _table(head: Sequence[str], rows: Iterator[Sequence[str]]) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield "| " + " | ".join(row) + " |"
    yield ""


@dataclass(frozen=True)
class Board:
    """The tables of the cells.

    Attributes:
        cells: The cells to show.
        stale: Keys of those that other code or weights made.
        methods: Methods in their order.
    """

    cells: CellsByKey
    stale: Collection[tuple[str, str, str]]
    methods: Sequence[str]

    def sizes(self, workload: str) -> list[int]:
        """Return the numbers of edits of a workload."""
        return sorted({int(n) for _, other, n in self.cells if other == workload and n.isdigit()})

    def name(self, key: tuple[str, str, str]) -> str:
        """Return the name of a method as a row has it."""
        is_small = any(cell["sample"] != FULL.name for cell in self.cells[key])
        marks = STALE * (key in self.stale) + SMALL_SAMPLE * is_small
        return f"{key[0]} {marks}".strip()

    def show_workload(self, workload: str) -> Iterator[str]:
        """Yield a table for each number of edits."""
        for n in self.sizes(workload):
            names = [*dict.fromkeys(self._shares(workload, n))]
            yield from (f"## {workload}, {n:,} edit{'s' * (n > 1)}", "")
            rows = ([*self._row((name, workload, str(n)), names)] for name in self.methods)
            yield from _table(("method", *names), rows)

    def _shares(self, workload: str, n: int) -> Sequence[str]:
        counts = [
            cell["counts"]
            for key, group in self.cells.items()
            if key[1:] == (workload, str(n))
            for cell in group
        ]
        is_set = any(", ".join(OTHER_QUESTIONS) in count for count in counts)
        return SET_SHARES if is_set else SHARES

    def _row(self, key: tuple[str, str, str], names: Sequence[str]) -> Iterator[str]:
        if key in self.cells:
            yield self.name(key)
            yield from (summarise(self.cells[key], name) for name in names)
            return
        results = {(*other, cell["seed"]): cell for other, group in self.cells.items() for cell in group}
        has_ended = has_collapsed(results, *key)
        yield from (key[0], "collapsed before: not run" if has_ended else "not run", *("" for _ in names[1:]))

    def show_undo(self, workloads: Sequence[str]) -> Iterator[str]:
        """Yield what lasts, and what comes off."""
        yield from ("## What lasts, and what comes off", "")
        yield "The first hundred edits when they were all, and at the end; then a random half is taken back"
        yield "(of one edit, that one): kept edits that stand, reverted questions that are answered as before, and"
        yield "streams whose rows are bit for bit those of never having made the reverted ones. At last, refused edits."
        yield ""
        rows = (
            [self.name(key), *key[1:], *(summarise(self.cells[key], figure) for figure in UNDO)]
            for key in self._keys(workloads)
        )
        head = (
            "method",
            "workload",
            "edits",
            "first 100, then",
            "now",
            "kept",
            "back",
            "same bits",
            "refused",
        )
        yield from _table(head, rows)

    def show_costs(self, workloads: Sequence[str]) -> Iterator[str]:
        """Yield what an edit and a question cost."""
        yield from ("## What it costs", "")
        yield "bytes: what is kept of an edit. added ms: of a question that is asked alone, above the same without"
        yield "edits (median of 20). answers: in a second, in batches, as a share of those without edits. edit ms: one"
        yield "more edit on top of these (p50), from its words to rows that answer. rows: of all edits, for each slot."
        yield ""
        names = ("bytes_per_edit", "added_ms", "rate", "edit_ms", "rows_per_slot")
        rows = (
            [self.name(key), *key[1:], *(_figure(self.cells[key], figure) for figure in names)]
            for key in self._keys(workloads)
        )
        head = ("method", "workload", "edits", "bytes", "added ms", "answers", "edit ms", "rows")
        yield from _table(head, rows)

    def _keys(self, workloads: Sequence[str]) -> Iterator[tuple[str, str, str]]:
        for workload in workloads:
            for n in self.sizes(workload):
                keys = ((name, workload, str(n)) for name in self.methods)
                yield from (key for key in keys if key in self.cells)


def _trained(methods: Sequence[str]) -> Iterator[str]:
    yield from ("## What was trained before the first edit", "")
    yield "Beside the base itself, which is the same for all, and the sentence encoder, which was not trained here."
    yield ""
    yield from _table(("method", "trained beforehand"), ([name, TRAINED[name]] for name in methods))


def _figure(cells: Cells, name: str) -> str:
    values = [cell["figures"][name] for cell in cells if name in cell["figures"]]
    if not values:
        return "–"
    mean = sum(values) / len(values)
    return f"{mean:.3g}" if abs(mean) < 10 else f"{mean:,.0f}"


def _protocol(cells: CellsByKey) -> Iterator[str]:
    paper_cells = {name: method_cells for (name, _, n), method_cells in cells.items() if n == "paper"}
    if not paper_cells:
        return
    yield from ("## The paper's own protocol", "")
    yield "67 single edits of one-token answers for each seed. The paper has success 98.5 (first token) at destruction"
    yield "2.7, on its own model and data. Destroyed: of five other questions for each edit; worst is the largest."
    yield ""
    order = sorted(paper_cells, key=lambda name: min(cell["place"] for cell in paper_cells[name]))
    rows = (
        [
            name,
            *(
                summarise(paper_cells[name], figure, max if figure == "destroyed" else min)
                for figure in PROTOCOL
            ),
        ]
        for name in order
    )
    yield from _table(("method", *PROTOCOL), rows)
