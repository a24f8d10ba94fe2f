"""`errata senses`: words by their senses."""

from __future__ import annotations

from typing import Annotated

import typer

from errata.cli.options import At
from errata.cli.render.senses import draw_senses
from errata.cli.session import Session

Model = Annotated[
    str | None, typer.Option(help="Which system; by default the first whose words have senses.")
]


def senses(
    session: Session,
    word: Annotated[str, typer.Argument(help="The word.")],
    sense: Annotated[int | None, typer.Option(min=0, help="Only this sense.")] = None,
    top: Annotated[int, typer.Option(min=1, max=100, help="How many words each sense is shown by.")] = 8,
    exact: Annotated[
        bool, typer.Option("--exact", help="The word as it is written, without a space before it.")
    ] = False,
    first_piece: Annotated[
        bool, typer.Option("--first-piece", help="Of a word of several pieces, the first one.")
    ] = False,
    model: Model = None,
    at: At = None,
) -> None:
    """Show a word by its senses: the words that each favours, its strength, and its edits."""
    call = session.calls.senses(
        word, sense=sense, top_k=top, exact=exact, first_piece=first_piece, model=model, version=at
    )
    session.show(session.send(call, "Looking at the senses"), draw_senses)
