"""Questions around an edited one: near ones that follow or stay, and other wordings that were tried."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.padding import Padding
from rich.text import Text

from errata.cli.render.text import draw_change, make_grid, one_line, percent
from errata.wire import EditReport, NearQuestion, ParaphraseReport

NEAR_FOLLOWS, NEAR_STAYS = "near, follows too", "near, stays"
FOLLOWS, DOES_NOT_FOLLOW = "tried, follows", "tried, does not"


def draw_surroundings(edit: EditReport, verbose: bool = False) -> list[Padding]:
    """Draw the near questions of an edit, then the wordings that the service tried.

    Args:
        edit: The report of the edit.
        verbose: Whether to add how likely each near question asks for the same.
    """
    near = [(near, _describe_near(near, verbose)) for near in edit.near_questions]
    rows = [
        *((NEAR_FOLLOWS, other.question, details) for other, details in near if other.follows),
        *((NEAR_STAYS, other.question, details) for other, details in near if not other.follows),
    ]
    return _draw_rows([*rows, *_list_tried(edit.generated_paraphrases)])


def draw_tried(wordings: Iterable[ParaphraseReport]) -> list[Padding]:
    """Draw wordings that the service tried, each once: those that follow, then the others."""
    return _draw_rows(_list_tried({wording.question: wording for wording in wordings}.values()))


def _list_tried(wordings: Iterable[ParaphraseReport]) -> list[tuple[str, str, Text]]:
    wordings = list(wordings)
    return [
        *((FOLLOWS, wording.question, Text()) for wording in wordings if wording.follows),
        *(
            (DOES_NOT_FOLLOW, wording.question, draw_change(wording.before, wording.after))
            for wording in wordings
            if not wording.follows
        ),
    ]


def _describe_near(near: NearQuestion, verbose: bool) -> Text:
    clauses = [] if near.version is None else [f"{near.answer}, by version {near.version}"]
    clauses += [f"{percent(near.probability)} likely the same"] if verbose else []
    return Text("; ".join(clauses), style="dim")


def _draw_rows(rows: Sequence[tuple[str, str, Text]]) -> list[Padding]:
    """Draw a table whose labels stand at the first of their rows alone."""
    if not rows:
        return []
    table = make_grid()
    previous = ""
    for label, question, details in rows:
        style = "yellow" if label in (NEAR_FOLLOWS, DOES_NOT_FOLLOW) else "dim"
        table.add_row(Text("" if label == previous else label, style), one_line(question), details)
        previous = label
    return [Padding.indent(table, 4)]
