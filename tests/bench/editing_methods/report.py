"""RESULTS.md, and the lines of the plot, from the present results."""

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from models.scope.locality import Locality
from tests.bench.editing_methods.draw import KINDS
from tests.bench.editing_methods.results import Results, has_collapsed
from tests.bench.table import machine

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
        if key == name or (name in KINDS and key.startswith(f"{name}, "))
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
    cells = _group(results)
    return [_line(cells, name, _sizes(cells)) for name in methods]


def locality(results: Results, methods: Sequence[str], checkpoint: str) -> Locality:
    """Return the lowest locality of these methods, kinds of near questions and seeds, up to each number of edits."""
    cells = _group({key: cell for key, cell in results.items() if key[0] in methods})
    worst = {n: [s for name in methods for s in _near(cells.get((name, str(n)), ()))] for n in _sizes(cells)}
    worst_shares = {n: round(min(near_shares), 2) for n, near_shares in worst.items() if near_shares}
    return Locality(checkpoint, list(worst_shares), list(accumulate(worst_shares.values(), min)))


def _near(cells: Cells) -> Iterator[float]:
    for kind in KINDS[:2]:
        yield from shares(cells, kind)


def table(results: Results, methods: Sequence[str]) -> str:
    """Markdown."""
    cells = _group(results)
    sizes = _sizes(cells)
    parts = [*_head(results), *_scoreboard(results, methods, sizes), *_undo(cells, methods, sizes)]
    parts += [*_costs(cells, methods, sizes), *_protocol(cells), *_settings(results, methods)]
    return "\n".join(parts) + "\n"


CellsBySize = Mapping[tuple[str, str], Cells]


def _sizes(cells: CellsBySize) -> list[int]:
    return sorted({int(n) for _, n in cells if n.isdigit()})


def _group(results: Results) -> dict[tuple[str, str], list[Mapping[str, Any]]]:
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for (method, n, _), cell in sorted(results.items()):
        groups.setdefault((method, n), []).append(cell)
    return groups


def _line(cells: CellsBySize, name: str, sizes: Sequence[int]) -> Line:
    cells_by_size = {n: cells[name, str(n)] for n in sizes if (name, str(n)) in cells}
    points = {
        figure: [
            (n, sum(seed_shares) / len(seed_shares))
            for n, size_cells in cells_by_size.items()
            if (seed_shares := shares(size_cells, figure))
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
    yield ""


def _table(head: Sequence[str], rows: Iterator[Sequence[str]]) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield "| " + " | ".join(row) + " |"
    yield ""


def _scoreboard(results: Results, methods: Sequence[str], sizes: Sequence[int]) -> Iterator[str]:
    cells = _group(results)
    for n in sizes:
        yield from (f"## {n:,} edit{'s' * (n > 1)}", "")
        yield from _table(
            ("method", *SHARES), ([name, *_row(results, cells, name, str(n))] for name in methods)
        )


def _row(results: Results, cells: CellsBySize, name: str, n: str) -> list[str]:
    if (name, n) in cells:
        return [summarise(cells[name, n], share) for share in SHARES]
    return [
        "collapsed before: not run" if has_collapsed(results, name, n) else "not run",
        *("" for _ in SHARES[1:]),
    ]


def _undo(cells: CellsBySize, methods: Sequence[str], sizes: Sequence[int]) -> Iterator[str]:
    yield from ("## What lasts, and what comes off", "")
    yield "The first hundred edits when they were all, and at the end; then a random half is taken back (of one edit,"
    yield "that one): kept edits that stand, reverted questions that are answered as before, and streams whose rows are"
    yield "bit for bit those of never having made the reverted ones. At last, edits that the method refused."
    yield ""
    rows = (
        [name, f"{n:,}", *(summarise(cells[name, str(n)], figure) for figure in UNDO)]
        for n in sizes
        for name in methods
        if (name, str(n)) in cells
    )
    yield from _table(
        ("method", "edits", "first 100, then", "now", "kept", "back", "same bits", "refused"), rows
    )


def _costs(cells: CellsBySize, methods: Sequence[str], sizes: Sequence[int]) -> Iterator[str]:
    yield from ("## What it costs", "")
    yield "ms: one more edit on top of these (p50), from its words to rows that answer. kB: what is kept of an edit."
    yield "rows: of all edits, for each slot of the bank. answers: in a second, as a share of those without edits."
    yield ""
    names = ("edit_ms", "bytes_per_edit", "rows_per_slot", "rate")
    rows = (
        [name, f"{n:,}", *(_figure(cells[name, str(n)], figure) for figure in names)]
        for n in sizes
        for name in methods
        if (name, str(n)) in cells
    )
    yield from _table(("method", "edits", "ms", "kB", "rows", "answers"), rows)


def _figure(cells: Cells, name: str) -> str:
    values = [cell["figures"][name] for cell in cells if name in cell["figures"]]
    if not values:
        return "–"
    mean = sum(values) / len(values)
    return f"{mean / 1024:.1f}" if name == "bytes_per_edit" else f"{mean:.3g}" if mean < 10 else f"{mean:.0f}"


def _protocol(cells: CellsBySize) -> Iterator[str]:
    paper_cells = {name: method_cells for (name, n), method_cells in cells.items() if n == "paper"}
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


def _settings(results: Results, methods: Sequence[str]) -> Iterator[str]:
    yield from ("## Settings of the peers", "")
    yield "Chosen once on 500 tuning facts that are neither edited nor asked here (`tune.py`)."
    yield ""
    for name in methods:
        peer_settings = next(
            (c["settings"] for (method, _, _), c in results.items() if method == name and c["settings"]), {}
        )
        if peer_settings:
            yield f"- {name}: " + ", ".join(
                f"{key} {value}" for key, value in peer_settings.items() if key != "name"
            )
