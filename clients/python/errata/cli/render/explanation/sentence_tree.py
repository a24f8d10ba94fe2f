"""Draws the sentence tree that K-BERT reads: its tokens with their soft positions, and the facts of each linked word.

Liu et al., K-BERT (arXiv:1909.07606), figure 1: a fact's soft positions go on from the word that it hangs from, and
the sentence's own words go on counting as if no fact were there.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from errata.cli.render.text import make_table, one_line

RESTS_ON, READ = "●", "○"
PIECE = "##"  # begins a token that goes on with the one before it
Json = Mapping[str, Any]
Key = tuple[str, str, str]


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
