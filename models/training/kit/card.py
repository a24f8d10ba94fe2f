"""A model card: the figures of an exam, as Markdown for people and as JSON for programs."""

import json
import platform
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

FIGURES = "measured.json"


def fill_card(
    folder: Path, template: Path, figures: Mapping[str, Any], by: str = "right", **facts: object
) -> None:
    """Write measured.json, and README.md from a template with fields as {group[figure]}, {groups} and {fact}.

    The table {groups} has the groups with a figure `by`, and {edits} those of edits.
    """
    (folder / FIGURES).write_text(json.dumps(figures, indent=1) + "\n", "utf-8")
    machine = f"{platform.machine()}, Python {platform.python_version()}, {time.strftime('%Y-%m-%d')}"
    tables = {"groups": tabulate(figures, by), "edits": tabulate(figures, "refused")}
    text = template.read_text("utf-8").format_map({**figures, **facts, **tables, "machine": machine})
    (folder / "README.md").write_text(text, "utf-8")


def tabulate(figures: Mapping[str, Any], name: str) -> str:
    """Return a table of the groups that have a figure of this name."""
    groups = {group: row for group, row in figures.items() if isinstance(row, dict) and name in row}
    columns = list(dict.fromkeys(column for row in groups.values() for column in row))
    rows = ([group, *(_format(row.get(column, "")) for column in columns)] for group, row in groups.items())
    return "\n".join(table(f"| {' | '.join(columns)}", rows)).rstrip()


def _format(figure: object) -> str:
    return f"{figure:.1f}" if isinstance(figure, float) else str(figure)


def table(columns: str, rows: Iterable[Iterable[object]]) -> Iterator[str]:
    """Yield a table with its heads, which `columns` separates by `|`, and an empty line."""
    yield f"| {columns} |"
    yield "|" + "---|" * (columns.count("|") + 1)
    yield from (f"| {' | '.join(map(str, row))} |" for row in rows)
    yield ""


def percent(marks: Iterable[bool]) -> float:
    """Return the share of true marks, in per cent with one digit."""
    every = list(marks)
    return round(100 * sum(every) / max(1, len(every)), 1)
