"""The scoreboard as one SVG, readable on a white and on a black page."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tests.bench.editing_methods.report import Line

INK = "#808890"  # a grey for both pages
COLOURS = (
    "#e8590c",
    "#3b8ee0",
    "#2fa36b",
    "#a06be0",
    "#c2a008",
    "#d6508f",
    "#22a3b3",
    "#8a94a0",
    "#a9744f",
    "#4b5bd6",
    "#7a9a01",
    "#b04a4a",
)
MARKS = ("o", "s", "^", "D", "v", "P", "X", "h", "*", "<", ">", "p")


def draw(path: Path, lines: Sequence[Line], figures: Sequence[str]) -> None:
    """Draw the lines; the first is the most important, and is drawn on top of the others."""
    style = {
        "text.color": INK,
        "axes.edgecolor": INK,
        "axes.labelcolor": INK,
        "xtick.color": INK,
        "ytick.color": INK,
    }
    with rc_context({**style, "svg.hashsalt": "errata", "font.size": 10, "svg.fonttype": "path"}):
        figure = Figure(figsize=(3.1 * len(figures), 4.0))
        axes = figure.subplots(1, len(figures), sharex=True, sharey=True)
        for panel, name in zip(axes, figures, strict=True):
            _draw_panel(panel, lines, name)
        axes[0].set_ylabel("per cent")
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="lower center", ncols=5, frameon=False)
        figure.tight_layout(rect=(0, 0.15, 1, 1))
        figure.savefig(path, transparent=True, metadata={"Date": None})


def _draw_panel(axes: Axes, lines: Sequence[Line], name: str) -> None:
    for place, line in enumerate(lines):
        places = [n for n, _ in line.points[name]]
        heights = [share for _, share in line.points[name]]
        axes.plot(
            places,
            heights,
            label=line.name,
            color=COLOURS[place],
            marker=MARKS[place],
            markersize=6 if place == 0 else 4.5,
            linewidth=2.8 if place == 0 else 1.3,
            zorder=len(lines) - place,
        )
    axes.set_title(name if name in ("reliability", "generalisation") else f"locality, {name}", fontsize=11)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_ylim(-2, 102)
    axes.set_xlabel("sequential edits")
    axes.grid(color=INK, alpha=0.25, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
