"""Answers, changes, tables and pages, drawn the same in all output of the command."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import compress
from typing import Literal, TypeVar

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from errata.wire import Response

# Flags of the commands by the fields that sentences of the service name
FLAGS = {name: f"--{name}" for name in ("add", "create", "model", "replaces", "set", "where")} | {
    "column": "--column HEADING=RELATION",
    "counterexamples": "--not",
    "keep_corrections": "--keep-corrections",
}
T = TypeVar("T", bound=Response)


def draw_answer(answer: str | None) -> Text:
    """Draw an answer, or that there is none."""
    return Text("not sure", style="italic dim") if answer is None else Text(answer)


def draw_change(before: str | None, after: str | None) -> Text:
    return Text.assemble(draw_answer(before), (" → ", "dim"), draw_answer(after))


def make_table(*titles: str, rows: Iterable[Sequence[RenderableType]] = (), indent: int = 0) -> Table:
    """Make a table of rows, without a header line where no title has words.

    A title that begins with > stands over numbers; behind a colon it has the style of its column.
    """
    has_header = any(title.strip(">").partition(":")[0] for title in titles)
    table = Table(box=None, padding=(0, 2, 0, indent), header_style="dim", show_header=has_header)
    for title in titles:
        name, _, style = title.removeprefix(">").partition(":")
        justify: Literal["left", "right"] = "right" if title.startswith(">") else "left"
        table.add_column(name, style=style, justify=justify, overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


def make_compact_table(*titles: str, rows: Iterable[Sequence[RenderableType]], indent: int = 0) -> Table:
    """Make a table without the columns that no row needs."""
    lines = list(rows)
    is_in_use = [any(cells) for cells in zip(*lines, strict=True)]
    compact_lines = ([*compress(cells, is_in_use)] for cells in lines)
    return make_table(*compress(titles, is_in_use), rows=compact_lines, indent=indent)


def draw_page(table: Table, command: str, options: str, before: object) -> RenderableType:
    """Draw a page of a list, and the command for the next one, which has the same options; no command without one."""
    if before is None:
        return table
    words = " ".join(filter(None, (command, options, f"--before {before}")))
    return Group(table, Text(f"Older ones: {words}", style="dim"))


def draw_lines(*lines: tuple[str, str]) -> list[Text]:
    """Draw lines, each from its words and its style; one without words is left out."""
    return [Text(words, style=style) for words, style in lines if words]
