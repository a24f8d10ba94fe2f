"""Draws a model's explanation of its answer.

The explanations of models differ, so any JSON can be drawn: an object is a line for each name, a list of
objects is a table, and either may stand in a cell of the other. A system that reads the graph gets a drawing of the
sentence tree first, then why it was read so.

Liu et al., K-BERT (arXiv:1909.07606), figure 1: a fact's soft positions go on from the word that it hangs from, and
the sentence's own words go on counting as if no fact were there.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pydantic import JsonValue
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from errata.cli.render.drawing import draw_answer, make_table
from errata.cli.render.escaping import one_line
from errata.cli.render.text import figure, percent

RESTS_ON, READ = "●", "○"
PIECE = "##"  # begins a token that goes on with the one before it
TREE_FIELDS = ("tokens", "tree", "ambiguous", "left_out", "rests_on", "without", "no_answer")
MAX_OMISSIONS, MAX_ROWS = 12, 50
# Names of numbers that are shown as percentages
SHARES = frozenset({"probability", "score", "confidence", "no_fact"})
OMISSION_REASONS = {
    "rank": "others fit the question better",
    "value": "another value of the same relation stands for it",
    "empty": "it has no label or no value",
    "mentions": "too many words were linked",
    "room": "the sentence was full",
}
Json = Mapping[str, Any]
Rows = Sequence[Sequence[RenderableType]]


def draw_explanation(explanation: Mapping[str, JsonValue], answer: str | None) -> RenderableType:
    """Draw the sections of a system that reads the graph, and every other explanation as it is."""
    if not isinstance(explanation.get("tree"), list) and not isinstance(explanation.get("tokens"), list):
        return Padding.indent(_draw(dict(explanation)), 2)
    tree = _rows(explanation, "tree")
    rests_on = {_texts(fact, "entity", "relation", "object") for fact in _rows(explanation, "rests_on")}
    labels = {_text(word, "entity"): _text(word, "label") or _text(word, "text") for word in tree}
    parts: list[RenderableType] = [draw_tokens(_rows(explanation, "tokens"))]
    parts += [draw_facts(mention, rests_on) for mention in tree]
    if rests_on:
        parts.append(Text(f"  {RESTS_ON} the answer rests on it   {READ} read as well", style="dim"))
    meanings = [row for name in _rows(explanation, "ambiguous") for row in list_meanings(name, labels)]
    omissions = [list_omission(fact, labels) for fact in _rows(explanation, "left_out")]
    ablations = [list_ablation(fact, answer) for fact in _rows(explanation, "without")]
    for title, titles, rows in (
        ("Names with several meanings", ("name", "taken for", "", ">fit", ">facts"), meanings),
        ("Left out", ("of", "relation", "value", "because"), omissions),
        ("Without one fact", ("relation", "value", "then the answer is", ">sure"), ablations),
    ):
        if rows:
            table = _draw_rows(titles, rows, MAX_OMISSIONS if rows is omissions else MAX_ROWS)
            parts += [Text(f"\n  {title}", style="bold"), Padding.indent(table, 4)]
    if isinstance(explanation.get("no_answer"), int | float):
        share = percent(float(str(explanation["no_answer"])))
        parts.append(Text(f"\n  That no fact answers: {share}", "dim"))
    rest = {name: value for name, value in explanation.items() if name not in TREE_FIELDS}
    parts += [Text(), Padding.indent(_draw(rest), 2)] if rest else []
    return Group(*parts)


def draw_tokens(tokens: Sequence[Json]) -> Text:
    """Draw the sentence as the model reads it, each word behind its soft positions."""
    words: list[tuple[str, list[object]]] = []
    trunk = (token for token in tokens if not token.get("branch"))
    for token in trunk:
        text, position = str(token.get("text", "")), token.get("position")
        if text.startswith(PIECE) and words:
            before, positions = words.pop()
            words.append((before + text.removeprefix(PIECE), [*positions, position]))
        else:
            words.append((text, [position]))
    parts = [((format_positions(at[0], at[-1]) + " ", "dim"), f"{one_line(word)}  ") for word, at in words]
    return Text.assemble("  ", *(piece for part in parts for piece in part))


def draw_facts(mention: Json, rests_on: Collection[tuple[str, ...]]) -> RenderableType:
    """Draw a linked word with its facts, those on which the answer rests marked."""
    entity = _text(mention, "entity")
    table = make_table("", ">at", "fact", ">rank", ">score", "edit")
    for fact in _rows(mention, "facts"):
        relation, value, edit = _texts(fact, "relation", "object", "edit")
        is_ground = (entity, relation, value) in rests_on
        span = fact.get("positions")
        table.add_row(
            RESTS_ON if is_ground else READ,
            format_positions(*span) if isinstance(span, list) and len(span) == 2 else "",
            _text(fact, "text") or f"{relation} {value}",
            *map(format_number, (fact.get("rank"), fact.get("score"))),
            edit,
            style="green" if is_ground else "",
        )
    label = _text(mention, "label") or _text(mention, "text")
    head = Text.assemble((label, "bold cyan"), (f"  {entity}" if entity else "", "dim"))
    if not table.row_count:
        return Padding.indent(head.append("  no facts", "dim"), 2)
    return Padding.indent(Group(head, Padding.indent(table, 2)), 2)


def format_positions(first: object, last: object) -> str:
    if not isinstance(first, int):
        return ""
    return str(first) if last in (None, first) else f"{first}–{last}"


def format_number(value: object) -> str:
    """Format a share or a similarity; a place in an order stays a whole number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return ""
    return str(value) if isinstance(value, int) else f"{value:.2f}"


def list_meanings(name: Json, labels: Mapping[str, str]) -> Rows:
    """Return the entities that bear a name, and how well each fits; the first is the chosen one."""
    choice = {"id": _text(name, "chosen")}
    label = labels.get(choice["id"], "") or choice["id"]
    meanings: list[tuple[str, str, Json, str]] = [(_text(name, "text"), label, choice, "cyan")]
    meanings += [("", f"not {_text(other, 'label')}", other, "dim") for other in _rows(name, "others")]
    return [
        [
            text,
            Text(words, style),
            Text(_text(entity, "id"), style),
            *map(format_number, (entity.get("fit"), entity.get("degree"))),
        ]
        for text, words, entity, style in meanings
    ]


def list_omission(fact: Json, labels: Mapping[str, str]) -> tuple[str, ...]:
    """Return a fact that was found and not read, with the reason."""
    entity, relation, value, reason = _texts(fact, "entity", "relation", "object", "reason")
    return labels.get(entity, entity), relation, value, OMISSION_REASONS.get(reason, reason)


def list_ablation(fact: Json, answer: str | None) -> tuple[RenderableType, ...]:
    """Return a fact with the answer without it."""
    reply = None if fact.get("answer") is None else _text(fact, "answer")
    words = Text("the same", "dim") if reply == answer else Text.assemble(draw_answer(reply), style="yellow")
    score = fact.get("score")
    share = percent(score) if isinstance(score, int | float) else ""
    return *_texts(fact, "relation", "object"), words, share


def _draw(value: JsonValue, name: str = "") -> RenderableType:
    """Draw any JSON; its name in an object tells whether a number is a share."""
    if isinstance(value, bool):
        return Text("yes" if value else "no")
    if isinstance(value, float):
        return Text(percent(value) if name in SHARES and 0 <= value <= 1 else figure(value))
    if not isinstance(value, dict | list):
        return Text("none" if value is None else str(value))
    if not value:
        return Text("none", style="dim")
    if isinstance(value, dict):
        return make_table(
            rows=[(Text(name.replace("_", " "), "dim"), _draw(v, name)) for name, v in value.items()]
        )
    objects = [item for item in value if isinstance(item, dict)]
    if len(objects) == len(value):
        names = list(dict.fromkeys(name for item in objects for name in item))
        numbers = {n for n in names if all(isinstance(item.get(n), int | float) for item in objects)}
        titles = [">" * (name in numbers) + re.sub("[_:>]", " ", name) for name in names]
        rows = [["" if item.get(n) is None else _draw(item[n], n) for n in names] for item in objects]
        return _draw_rows(titles, rows, MAX_ROWS)
    if any(isinstance(item, dict | list) for item in value):
        return Group(*map(_draw, value))
    return Text(", ").join(text for item in value if isinstance(text := _draw(item), Text))


def _draw_rows(titles: Sequence[str], rows: Rows, n_most: int) -> RenderableType:
    table = make_table(*titles, rows=rows[:n_most])
    n_more = len(rows) - n_most
    return Group(table, Text(f"and {n_more:,} more: --json tells them all", "dim")) if n_more > 0 else table


def _rows(explanation: Json, name: str) -> list[dict[str, Any]]:
    """Return the rows of a section; none for another shape, as of a newer service."""
    value = explanation.get(name)
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def _text(row: Json, name: str) -> str:
    value = row.get(name)
    return "" if value is None else one_line(str(value))


def _texts(row: Json, *names: str) -> tuple[str, ...]:
    return tuple(_text(row, name) for name in names)
