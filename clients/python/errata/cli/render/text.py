"""The format of numbers, times, answers and tables, the same in all output of the command."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Literal, TypeVar

from pydantic import JsonValue
from rich import filesize
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from errata.wire import Response
from errata.wire.base import CONTROL

# Flags of the commands by the fields that sentences of the service name
FLAGS = {name: f"--{name}" for name in ("add", "create", "model", "replaces", "set", "where")}
FLAGS |= {
    "column": "--column HEADING=RELATION",
    "counterexamples": "--not",
    "keep_corrections": "--keep-corrections",
}
T = TypeVar("T", bound=Response)

MINUTE_S, HOUR_S, DAY_S, WEEK_S = 60, 3_600, 86_400, 604_800


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def figure(number: float) -> str:
    """Format a number of unknown meaning in four digits."""
    return f"{number:.0f}" if abs(number) >= 10_000 else f"{number:.4g}"


def milliseconds(ms: float) -> str:
    return f"{ms:.0f} ms" if ms < 10_000 else f"{ms / 1_000:.1f} s"


def seconds(s: float) -> str:
    """Format a duration in the precision that matters."""
    if s < 10:
        return f"{s:.1f} s"
    if s < 2 * MINUTE_S:
        return f"{s:.0f} s"
    minutes = round(s / MINUTE_S)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60:02d} min"


def megabytes(count: float) -> str:
    """Format bytes in decimal units: 1 MB is a million bytes."""
    return filesize.decimal(round(count))


def shorten(text: str, letters: int) -> str:
    return text if len(text) <= letters else f"{text[: letters - 1].rstrip()}…"


def short_digest(digest: str) -> str:
    """Return the beginning of a checksum, enough to compare by eye."""
    return digest.removeprefix("sha256:")[:12]


def age(time: datetime) -> str:
    """Format the time since a moment; after a week, its day."""
    passed_s = (datetime.now(UTC) - time).total_seconds()
    if passed_s < MINUTE_S:
        return "just now"
    if passed_s < HOUR_S:
        return f"{passed_s // MINUTE_S:.0f} min ago"
    if passed_s < DAY_S:
        return f"{passed_s // HOUR_S:.0f} h ago"
    if passed_s < WEEK_S:
        return f"{plural(int(passed_s // DAY_S), 'day')} ago"
    return f"{time.astimezone():%Y-%m-%d}"


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


def draw_page(table: Table, command: str, options: str, before: object) -> RenderableType:
    """Draw a page of a list, and the command for the next one, which has the same options; no command without one."""
    if before is None:
        return table
    words = " ".join(filter(None, (command, options, f"--before {before}")))
    return Group(table, Text(f"Older ones: {words}", style="dim"))


def one_line(text: str) -> str:
    """Join the lines of a text that stands in one line of a drawing."""
    return " ".join(text.split())


def make_printable(value: T) -> T:
    """Return a value with visible control characters, so that an answer cannot steer the terminal."""
    return type(value).model_validate(_escape_all(value.model_dump(mode="json")))


def _escape_all(value: JsonValue, name: str = "") -> JsonValue:
    if isinstance(value, str):  # the message of a commit has lines, which are drawn as such
        return "\n".join(map(escape, value.split("\n"))) if name == "message" else escape(value)
    if isinstance(value, list):
        return [_escape_all(item) for item in value]
    if isinstance(value, dict):
        return {escape(name): _escape_all(item, name) for name, item in value.items()}
    return value


def escape(text: str) -> str:
    """Write control characters, line breaks and those that turn the direction of text as backslash codes."""
    return CONTROL.sub(lambda control: f"\\u{ord(control[0]):04x}", text)
