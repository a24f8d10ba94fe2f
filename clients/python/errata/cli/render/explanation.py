"""Draws a model's explanation of its answer.

The explanations of models differ, so any JSON can be drawn: an object is a line for each name, a list of
objects is a table, and either may stand in a cell of the other. A system that reads the graph gets a drawing of the
sentence tree first, then why it was read so.

Liu et al., K-BERT (arXiv:1909.07606), figure 1: a fact's soft positions go on from the word that it hangs from, and
the sentence's own words go on counting as if no fact were there.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pydantic import JsonValue
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from errata.cli.render.text import draw_answer, figure, make_grid, make_table, one_line, percent

RESTS_ON, READ = "●", "○"
PIECE = "##"  # begins a token that goes on with the one before it
Key = tuple[str, str, str]
TREE_FIELDS = ("tokens", "tree", "ambiguous", "left_out", "rests_on", "without", "no_answer")
MAX_OMISSIONS = 12
MAX_ROWS = 50
SHARES = frozenset(
    {"probability", "score", "confidence", "no_fact"}
)  # Names of numbers that are shown as percentages
OMISSION_REASONS = {
    "rank": "others fit the question better",
    "value": "another value of the same relation stands for it",
    "empty": "it has no label or no value",
    "mentions": "too many words were linked",
    "room": "the sentence was full",
}
Json = Mapping[str, Any]


def draw_tokens(tokens: Sequence[Json]) -> Text:
    """Draw the sentence as the model reads it, each word behind its soft positions."""
    words: list[tuple[str, list[object]]] = []
    for token in tokens:
        text, position = str(token.get("text", "")), token.get("position")
        if token.get("branch"):
            continue
        if text.startswith(PIECE) and words:
            before, positions = words.pop()
            words.append((before + text.removeprefix(PIECE), [*positions, position]))
        else:
            words.append((text, [position]))
    parts = [((format_positions(at[0], at[-1]) + " ", "dim"), f"{one_line(word)}  ") for word, at in words]
    return Text.assemble("  ", *(piece for part in parts for piece in part))


def draw_facts(mention: Json, rests_on: Collection[Key]) -> RenderableType:
    """Draw a linked word with its facts, those on which the answer rests marked."""
    entity, facts = str(mention.get("entity") or ""), mention.get("facts")
    label = one_line(str(mention.get("label") or mention.get("text") or ""))
    table = make_table("", ">at", "fact", ">rank", ">score", "edit")
    for column in table.columns:
        column.overflow = "fold"
    for fact in facts if isinstance(facts, list) else []:
        if not isinstance(fact, dict):
            continue
        relation, value, span = (
            str(fact.get("relation") or ""),
            str(fact.get("object") or ""),
            fact.get("positions"),
        )
        is_ground = (entity, relation, value) in rests_on
        table.add_row(
            RESTS_ON if is_ground else READ,
            format_positions(*span) if isinstance(span, list) and len(span) == 2 else "",
            one_line(str(fact.get("text") or f"{relation} {value}")),
            format_number(fact.get("rank")),
            format_number(fact.get("score")),
            str(fact.get("edit") or ""),
            style="green" if is_ground else "",
        )
    head = Text.assemble((label, "bold cyan"), (f"  {one_line(entity)}" if entity else "", "dim"))
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


def draw_explanation(explanation: Mapping[str, JsonValue], answer: str | None) -> RenderableType:
    """Draw the sections of a system that reads the graph, and every other explanation as it is."""
    if not isinstance(explanation.get("tree"), list) and not isinstance(explanation.get("tokens"), list):
        return Padding.indent(_draw(dict(explanation)), 2)
    tree = _rows(explanation, "tree")
    rests_on: set[Key] = {
        (str(fact.get("entity")), str(fact.get("relation")), str(fact.get("object")))
        for fact in _rows(explanation, "rests_on")
    }
    parts: list[RenderableType] = [draw_tokens(_rows(explanation, "tokens"))]
    parts += [draw_facts(mention, rests_on) for mention in tree]
    if rests_on:
        legend = f"  {RESTS_ON} the answer rests on it   {READ} read as well"
        parts.append(Text(legend, style="dim"))
    labels = {_text(word, "entity"): _text(word, "label") or _text(word, "text") for word in tree}
    for title, table in (
        ("Names with several meanings", _draw_ambiguities(explanation, labels)),
        ("Left out", _draw_omissions(explanation, labels)),
        ("Without one fact", _draw_ablations(explanation, answer)),
    ):
        if table is not None:
            parts += [Text(f"\n  {title}", style="bold"), Padding.indent(table, 4)]
    if isinstance(explanation.get("no_answer"), int | float):
        share = percent(float(str(explanation["no_answer"])))
        parts.append(Text(f"\n  That no fact answers: {share}", "dim"))
    rest = {name: value for name, value in explanation.items() if name not in TREE_FIELDS}
    if rest:
        parts += [Text(), Padding.indent(_draw(rest), 2)]
    return Group(*parts)


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
        table = make_grid()
        table.add_column(style="dim")
        for name, cell in value.items():
            table.add_row(Text(name.replace("_", " ")), _draw(cell, name))
        return table
    objects = [item for item in value if isinstance(item, dict)]
    if len(objects) == len(value):
        table = make_table()
        names = list(dict.fromkeys(name for item in objects for name in item))
        for name in names:
            are_numbers = all(isinstance(item.get(name), int | float) for item in objects)
            table.add_column(Text(name.replace("_", " ")), justify="right" if are_numbers else "left")
        for item in objects[:MAX_ROWS]:
            table.add_row(*("" if item.get(name) is None else _draw(item[name], name) for name in names))
        if len(objects) > MAX_ROWS:
            return Group(table, Text(f"and {len(objects) - MAX_ROWS:,} more: --json tells them all", "dim"))
        return table
    if any(isinstance(item, dict | list) for item in value):
        return Group(*map(_draw, value))
    return Text(", ").join(text for item in value if isinstance(text := _draw(item), Text))


def _draw_ambiguities(explanation: Json, labels: Mapping[str, str]) -> Table | None:
    """Draw the entities that bear a name, and how well each fits; the first is the chosen one."""
    table = _make_folding_table("name", "taken for", "", ">fit", ">facts")
    for mention in _rows(explanation, "ambiguous"):
        choice = mention.get("chosen")
        entity: Json = choice if isinstance(choice, dict) else {"id": choice}
        id = _text(entity, "id")
        label = _text(entity, "label") or labels.get(id, "")
        fit, degree = format_number(entity.get("fit")), format_number(entity.get("degree"))
        table.add_row(_text(mention, "text"), Text(label or id, "cyan"), Text(id, "cyan"), fit, degree)
        for other in _rows(mention, "others"):
            fit, degree = format_number(other.get("fit")), format_number(other.get("degree"))
            name, other_id = f"not {_text(other, 'label')}", _text(other, "id")
            table.add_row("", Text(name, "dim"), Text(other_id, "dim"), fit, degree)
    return table if table.row_count else None


def _draw_omissions(explanation: Json, labels: Mapping[str, str]) -> RenderableType | None:
    """Draw the facts that were found and not read, with the reasons."""
    omissions = _rows(explanation, "left_out")
    table = _make_folding_table("of", "relation", "value", "because")
    for fact in omissions[:MAX_OMISSIONS]:
        entity, reason = _text(fact, "entity"), _text(fact, "reason")
        because = OMISSION_REASONS.get(reason, reason)
        table.add_row(labels.get(entity, entity), _text(fact, "relation"), _text(fact, "object"), because)
    if len(omissions) > MAX_OMISSIONS:
        rest = f"and {len(omissions) - MAX_OMISSIONS:,} more: --json tells them all"
        return Group(table, Text(rest, style="dim"))
    return table if omissions else None


def _draw_ablations(explanation: Json, answer: str | None) -> Table | None:
    """Draw the answer without each one of the facts."""
    table = _make_folding_table("relation", "value", "then the answer is", ">sure")
    for fact in _rows(explanation, "without"):
        reply = None if fact.get("answer") is None else one_line(str(fact["answer"]))
        score = fact.get("score")
        confidence = percent(score) if isinstance(score, int | float) else ""
        words = Text.assemble(draw_answer(reply), style="yellow")
        if reply == answer:
            words = Text("the same", "dim")
        table.add_row(_text(fact, "relation"), _text(fact, "object"), words, confidence)
    return table if table.row_count else None


def _make_folding_table(*titles: str) -> Table:
    table = make_table(*titles)
    for column in table.columns:
        column.overflow = "fold"
    return table


def _rows(explanation: Json, name: str) -> list[dict[str, Any]]:
    """Return the rows of a section; none for another shape, as of a newer service."""
    value = explanation.get(name)
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def _text(row: Json, name: str) -> str:
    value = row.get(name)
    return "" if value is None else one_line(str(value))
