"""The boards' main pictures on one sheet, drawn from what a Prometheus answers to their own queries."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from deploy.grafana.boards import BOARDS
from deploy.grafana.panel import Panel
from tests.deploy.prometheus import Line, Prometheus

SHOWN = {
    "service": ("Answers", "Time of an answer", "Where the time goes", "Questions that fail, by model"),
    "memory": ("Version", "Replicas", "From a commit to the answers", "The ledger's Redis"),
    "memory: edits": (
        "Edits by outcome",
        "How edits stand",
        "Where the time of a commit goes",
        "Behind, and apart",
    ),
    "graph": (
        "Answers from the graph",
        "Time of a batch in the graph",
        "Facts about the words of a question",
        "Rows of imports",
    ),
    "hardware": ("Processor, by part", "Memory, by part", "Processor", "Memory"),
}
COLOURS = (
    "#5794f2",
    "#73bf69",
    "#ff9830",
    "#f2495c",
    "#b877d9",
    "#fade2a",
    "#37872d",
    "#8ab8ff",
    "#e0b400",
    "#c4162a",
)
STYLE = {"font.size": 7.5, "axes.edgecolor": "#b8bcc4", "axes.linewidth": 0.6, "font.family": "DejaVu Sans"}
UNITS = {"s": "s", "percent": "%", "percentunit": "", "reqps": "/s", "Bps": "B/s", "bytes": "B"}
PREFIXES = {1e9: "G", 1e6: "M", 1e3: "k"}


@dataclass(frozen=True)
class Event:
    """Something that was done to the service. at: in seconds since 1970."""

    at: float
    name: str


def draw(prometheus: Prometheus, events: Sequence[Event], file: Path) -> None:
    """events: marked in each picture, and named under the sheet."""
    ended = time.time()
    with rc_context(STYLE):
        figure = Figure(figsize=(15, 3.1 * len(SHOWN)), dpi=110, layout="constrained")
        for row, (board, titles) in zip(figure.subplots(len(SHOWN), 4), SHOWN.items(), strict=True):
            for axes, title in zip(row, titles, strict=True):
                _draw(axes, prometheus, _panel(board.partition(":")[0], title))
                _mark(axes, events, prometheus.start_s, ended)
        named = "    ".join(f"{number}: {event.name}" for number, event in enumerate(events, 1))
        figure.supxlabel(named, fontsize=10)
        figure.savefig(file)


def _panel(board: str, title: str) -> Panel:
    [over_time] = [
        panel
        for one in BOARDS
        if one.name == board
        for panel in one.panels
        if panel.title == title and panel.kind != "number"
    ]
    return over_time


def _draw(axes: Axes, prometheus: Prometheus, panel: Panel) -> None:
    drawn = [(_name(line.legend, one), one) for line in panel.lines for one in prometheus.history(line.expr)]
    drawn = [(name, one) for name, one in drawn if any(value for _, value in one.points)] or drawn
    if panel.kind == "area":
        _pile(axes, drawn, prometheus.start_s)
    else:
        for colour, (name, one) in zip(_colours(len(drawn)), drawn, strict=True):
            moments = [at - prometheus.start_s for at, _ in one.points]
            axes.plot(moments, [value for _, value in one.points], colour, lw=1.2, label=name)
    _frame(axes, panel)


def _mark(axes: Axes, events: Sequence[Event], began: float, ended: float) -> None:
    axes.set_xlim(0, ended - began)
    for number, event in enumerate(events, 1):
        axes.axvline(event.at - began, color="#8a8f99", lw=0.8, ls=":")
        place = (event.at - began, 1.0)
        axes.annotate(f"{number}", place, xycoords=("data", "axes fraction"), fontsize=6.5, color="#5a5f69")


def _pile(axes: Axes, drawn: list[tuple[str, Line]], began: float) -> None:
    """Each on top of the one before, on the moments that any of them has."""
    moments = sorted({at for _, one in drawn for at, _ in one.points})
    heights = [[dict(one.points).get(at, 0.0) for at in moments] for _, one in drawn]
    names = [name for name, _ in drawn]
    axes.stackplot(
        [at - began for at in moments], heights, labels=names, colors=_colours(len(drawn)), alpha=0.65
    )


def _frame(axes: Axes, panel: Panel) -> None:
    axes.set_title(panel.title, loc="left", fontsize=9, fontweight="bold", pad=10)
    axes.set_ylim(bottom=0)
    axes.grid(axis="y", color="#e4e6ea", lw=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.yaxis.set_major_locator(MaxNLocator(5))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _spelt(value, panel.unit)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g} s"))
    lines, names = axes.get_legend_handles_labels()
    columns = 2 if max(map(len, names), default=0) > 16 else 3
    below = {"loc": "upper left", "bbox_to_anchor": (-0.02, -0.09), "borderaxespad": 0.0}
    axes.legend(lines, names, fontsize=6.5, frameon=False, ncols=columns, handlelength=1.2, **below)


def _name(legend: str, line: Line) -> str:
    """As Grafana fills in labels."""
    return re.sub(r"{{(\w+)}}", lambda found: line.labels.get(found[1], ""), legend)


def _colours(count: int) -> list[str]:
    return [COLOURS[n % len(COLOURS)] for n in range(count)]


def _spelt(value: float, unit: str) -> str:
    if not value:
        return "0"
    if unit == "percentunit":
        return f"{100 * value:g} %"
    if unit == "s" and value < 1:
        return f"{1000 * value:g} ms"
    for size, prefix in PREFIXES.items():
        if value >= size:
            return f"{value / size:g} {prefix}{UNITS.get(unit, '')}"
    return f"{value:g} {UNITS.get(unit, '')}".strip()
