"""Draws what a model says of its answer.

Each model explains itself in its own terms, so any JSON has a shape here: an object is a line for each name, a list of
objects is a table, and either may stand in a cell of the other. A system that reads the graph gets a drawing of the
sentence tree first, then why it was read so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import JsonValue
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from errata.cli.render.branches import OTHER, RESTS, Key, number
from errata.cli.render.sentence_tree import SentenceTree, placed
from errata.cli.render.text import one_line, percent, said


def draw_explanation(told: Mapping[str, JsonValue]) -> RenderableType:
    return Padding.indent(_draw(dict(told)), 2)


def _draw(value: JsonValue) -> RenderableType:
    if not isinstance(value, dict | list):
        return Text(_said(value))
    if not value:
        return Text("none", style="dim")
    if isinstance(value, dict):
        return _draw_fields(value)
    objects = [item for item in value if isinstance(item, dict)]
    if len(objects) == len(value):
        return _draw_objects(objects)
    if any(isinstance(item, dict | list) for item in value):
        return Group(*map(_draw, value))
    return Text(", ".join(map(_said, value)))


def _draw_fields(told: Mapping[str, JsonValue]) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim")
    table.add_column()
    for name, value in told.items():
        table.add_row(_title(name), _draw(value))
    return table


def _draw_objects(objects: Sequence[Mapping[str, JsonValue]]) -> Table:
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


OWN = ("tokens", "tree", "ambiguous", "left_out", "rests_on", "without", "no_answer")
MOST_LEFT_OUT = 12
WHY = {
    "rank": "others fit the question better",
    "value": "another value of the same relation stands for it",
    "empty": "it has no label or no value",
    "mentions": "too many words were linked",
    "room": "the sentence was full",
}
Told = Mapping[str, JsonValue]


def reads_a_tree(told: Told) -> bool:
    return isinstance(told.get("tree"), list) or isinstance(told.get("tokens"), list)


def draw_reading(told: Told, question: str, answer: str | None) -> RenderableType:
    """question: as it was asked. answer: what the whole tree gives, to compare with."""
    tree = _rows(told, "tree")
    labels = {_text(one, "entity"): _text(one, "label") or _text(one, "text") for one in tree}
    rests_on = {_key(one) for one in _rows(told, "rests_on")}
    words = placed(question.strip(), _rows(told, "tokens"), tree)
    parts: list[RenderableType] = [Text(), SentenceTree(words, rests_on)]
    if rests_on:
        parts.append(Text(f"  {RESTS} the answer rests on it   {OTHER} read as well", style="dim"))
    for title, table in (
        ("Names with several meanings", _ambiguous(told, labels)),
        ("Left out", _left_out(told, labels)),
        ("Without one fact", _without(told, answer)),
    ):
        if table is not None:
            parts += [Text(f"\n  {title}", style="bold"), Padding.indent(table, 4)]
    if isinstance(told.get("no_answer"), int | float):
        parts.append(Text(f"\n  That no fact answers: {percent(float(str(told['no_answer'])))}", "dim"))
    rest = {name: value for name, value in told.items() if name not in OWN}
    return Group(*parts, *([Text(), draw_explanation(rest)] if rest else []))


def _ambiguous(told: Told, labels: Mapping[str, str]) -> Table | None:
    """Who else bears a name, and how well each fits; the first is the one that was taken."""
    table = _table("name", "taken for", "", ">fit", ">facts")
    for one in _rows(told, "ambiguous"):
        chosen = one.get("chosen")
        taken: Mapping[str, Any] = chosen if isinstance(chosen, dict) else {"id": chosen}
        id = _text(taken, "id")
        label = _text(taken, "label") or labels.get(id, "")
        table.add_row(_text(one, "text"), Text(label or id, "cyan"), Text(id, "cyan"), *_fit(taken))
        for other in _rows(one, "others"):
            row = Text(f"not {_text(other, 'label')}", "dim"), Text(_text(other, "id"), "dim")
            table.add_row("", *row, *_fit(other))
    return table if table.row_count else None


def _fit(one: Mapping[str, Any]) -> tuple[str, str]:
    return number(one.get("fit")), number(one.get("degree"))


def _left_out(told: Told, labels: Mapping[str, str]) -> RenderableType | None:
    lost = _rows(told, "left_out")
    table = _table("of", "relation", "value", "because")
    for one in lost[:MOST_LEFT_OUT]:
        entity, reason = _text(one, "entity"), _text(one, "reason")
        why = WHY.get(reason, reason)
        table.add_row(labels.get(entity, entity), _text(one, "relation"), _text(one, "object"), why)
    if len(lost) > MOST_LEFT_OUT:
        more = f"and {len(lost) - MOST_LEFT_OUT:,} more: --json tells them all"
        return Group(table, Text(more, style="dim"))
    return table if lost else None


def _without(told: Told, answer: str | None) -> Table | None:
    table = _table("relation", "value", "then the answer is", ">sure")
    for one in _rows(told, "without"):
        given = one.get("answer")
        then = None if given is None else one_line(str(given))
        score = one.get("score")
        sure = percent(score) if isinstance(score, int | float) else ""
        words = Text("the same", "dim") if then == answer else Text.assemble(said(then), style="yellow")
        table.add_row(_text(one, "relation"), _text(one, "object"), words, sure)
    return table if table.row_count else None


def _table(*titles: str) -> Table:
    """A title that begins with > is over numbers."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for title in titles:
        right = title.startswith(">")
        table.add_column(title.removeprefix(">"), justify="right" if right else "left", overflow="fold")
    return table


def _rows(told: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """Nothing where it is absent or of another shape: a newer service may tell it in another way."""
    value = told.get(name)
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _text(one: Mapping[str, Any], name: str) -> str:
    value = one.get(name)
    return "" if value is None else one_line(str(value))


def _key(fact: Mapping[str, Any]) -> Key:
    return str(fact.get("entity")), str(fact.get("relation")), str(fact.get("object"))
