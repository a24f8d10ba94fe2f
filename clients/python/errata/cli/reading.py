"""What a system that reads the graph says of its answer: the sentence tree, then how it came to be so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import JsonValue
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from errata.cli.branches import OTHER, RESTS, Key, number
from errata.cli.explanation import draw_explanation
from errata.cli.placed import placed
from errata.cli.sentence_tree import SentenceTree
from errata.cli.words import one_line, percent, said

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
