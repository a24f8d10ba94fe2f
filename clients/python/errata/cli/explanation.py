"""Draws what a model says of its answer. Each model explains itself in its own terms, so any JSON has a shape here.

An object is a line for each name, a list of objects is a table, and either may stand in a cell of the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import JsonValue
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text


def draw_explanation(told: Mapping[str, JsonValue]) -> RenderableType:
    return Padding.indent(_draw(dict(told)), 2)


def _draw(value: JsonValue) -> RenderableType:
    if not isinstance(value, dict | list):
        return Text(_said(value))
    if not value:
        return Text("none", style="dim")
    if isinstance(value, dict):
        return _fields(value)
    objects = [item for item in value if isinstance(item, dict)]
    if len(objects) == len(value):
        return _rows(objects)
    if any(isinstance(item, dict | list) for item in value):
        return Group(*map(_draw, value))
    return Text(", ".join(map(_said, value)))


def _fields(told: Mapping[str, JsonValue]) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim")
    table.add_column()
    for name, value in told.items():
        table.add_row(_title(name), _draw(value))
    return table


def _rows(objects: Sequence[Mapping[str, JsonValue]]) -> Table:
    table = Table(box=None, header_style="dim", padding=(0, 2, 0, 0))
    names = list(dict.fromkeys(name for one in objects for name in one))
    for name in names:
        numbers = all(isinstance(one.get(name), int | float) for one in objects)
        table.add_column(_title(name), justify="right" if numbers else "left")
    for one in objects:
        table.add_row(*(_draw(one[name]) if name in one else "" for name in names))
    return table


def _title(name: str) -> Text:
    return Text(name.replace("_", " "))


def _said(value: JsonValue) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)
