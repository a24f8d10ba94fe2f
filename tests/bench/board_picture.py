"""The boards' main pictures on one sheet, drawn from a Prometheus' answers to the boards' own queries."""

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

from tests.deploy.boards import PANELS, Panel
from tests.deploy.prometheus import Line, Prometheus

MAIN = {
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
    """A change made to the service. at: seconds since 1970."""

    at: float
    name: str


def draw(prometheus: Prometheus, events: Sequence[Event], file: Path) -> None:
    """Draw the sheet. events: marked in each picture, and named under the sheet."""
    end_s = time.time()
    with rc_context(STYLE):
        figure = Figure(figsize=(15, 3.1 * len(MAIN)), dpi=110, layout="constrained")
        for row, (board, titles) in zip(figure.subplots(len(MAIN), 4), MAIN.items(), strict=True):
            for axes, title in zip(row, titles, strict=True):
                _draw(axes, prometheus, _find_panel(board.partition(":")[0], title))
                _mark(axes, events, prometheus.start_s, end_s)
        event_names = "    ".join(f"{number}: {event.name}" for number, event in enumerate(events, 1))
        figure.supxlabel(event_names, fontsize=10)
        figure.savefig(file)


def _find_panel(board: str, title: str) -> Panel:
    [matching_panel] = [
        panel for panel in PANELS if panel.board == board and panel.title == title and not panel.is_number
    ]
    return matching_panel


def _draw(axes: Axes, prometheus: Prometheus, panel: Panel) -> None:
    named_lines = [
        (_fill_legend(target["legendFormat"], line_history), line_history)
        for target in panel.json["targets"]
        for line_history in prometheus.history(target["expr"])
    ]
    named_lines = [
        (name, line_history)
        for name, line_history in named_lines
        if any(value for _, value in line_history.points)
    ] or named_lines
    if panel.is_stacked:
        _draw_area(axes, named_lines, prometheus.start_s)
    else:
        for colour, (name, line_history) in zip(_pick_colours(len(named_lines)), named_lines, strict=True):
            moments = [at - prometheus.start_s for at, _ in line_history.points]
            axes.plot(moments, [value for _, value in line_history.points], colour, lw=1.2, label=name)
    _frame(axes, panel)


def _mark(axes: Axes, events: Sequence[Event], start_s: float, end_s: float) -> None:
    axes.set_xlim(0, end_s - start_s)
    for number, event in enumerate(events, 1):
        axes.axvline(event.at - start_s, color="#8a8f99", lw=0.8, ls=":")
        place = (event.at - start_s, 1.0)
        axes.annotate(f"{number}", place, xycoords=("data", "axes fraction"), fontsize=6.5, color="#5a5f69")


def _draw_area(axes: Axes, named_lines: list[tuple[str, Line]], start_s: float) -> None:
    """Draw areas on top of each other, at all moments that any of them has."""
    moments = sorted({at for _, history in named_lines for at, _ in history.points})
    heights = [[dict(history.points).get(at, 0.0) for at in moments] for _, history in named_lines]
    names = [name for name, _ in named_lines]
    axes.stackplot(
        [at - start_s for at in moments],
        heights,
        labels=names,
        colors=_pick_colours(len(named_lines)),
        alpha=0.65,
    )


def _frame(axes: Axes, panel: Panel) -> None:
    axes.set_title(panel.title, loc="left", fontsize=9, fontweight="bold", pad=10)
    axes.set_ylim(bottom=0)
    axes.grid(axis="y", color="#e4e6ea", lw=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.yaxis.set_major_locator(MaxNLocator(5))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _format(value, panel.unit)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g} s"))
    lines, names = axes.get_legend_handles_labels()
    columns = 2 if max(map(len, names), default=0) > 16 else 3
    below = {"loc": "upper left", "bbox_to_anchor": (-0.02, -0.09), "borderaxespad": 0.0}
    axes.legend(lines, names, fontsize=6.5, frameon=False, ncols=columns, handlelength=1.2, **below)


def _fill_legend(legend: str, line: Line) -> str:
    """As Grafana fills in labels."""
    return re.sub(r"{{(\w+)}}", lambda match: line.labels.get(match[1], ""), legend)


def _pick_colours(count: int) -> list[str]:
    return [COLOURS[n % len(COLOURS)] for n in range(count)]


def _format(value: float, unit: str) -> str:
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
