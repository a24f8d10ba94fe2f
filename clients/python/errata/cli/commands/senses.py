"""`errata senses` and `errata bias`: words by their senses, and which sense carries a difference."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from errata.calls.senses import MULTIPLIERS
from errata.cli.options import At
from errata.cli.render.senses import draw_bias, draw_curves, draw_senses
from errata.cli.session import Session, check_writable
from errata.wire.senses import MAX_SENTENCES

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


def bias(
    session: Session,
    pair: Annotated[
        list[str] | None,
        typer.Option(metavar="WORD/WORD", help="Words that are compared, such as he/she; may be repeated."),
    ] = None,
    word: Annotated[
        list[str] | None,
        typer.Option(help="A word whose senses may carry the difference; may be repeated."),
    ] = None,
    prompt: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEXT", help="A text up to the place where the pair is compared; {word} is each word."
        ),
    ] = None,
    sentences: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", exists=True, dir_okay=False, help="A sentence a line: what else is to stay."
        ),
    ] = None,
    multiplier: Annotated[
        list[float] | None, typer.Option(help="A factor on the weight of the sense; may be repeated.")
    ] = None,
    sense: Annotated[
        int | None, typer.Option(min=0, help="The sense; by default the one that carries most.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE.svg", help="Draw the curves into this file, too.")
    ] = None,
    model: Model = None,
    at: At = None,
) -> None:
    """Tell which sense carries the difference between two words, and what a multiplier on it does.

    Without --pair the model studies its list of pairs. Nothing is changed.
    """
    if plot is not None:
        if plot.suffix.lower() != ".svg":
            raise typer.BadParameter(f"{plot} is no SVG file: name one that ends with .svg")
        check_writable(plot)
    call = session.calls.bias(
        [parse_pair(text) for text in pair or ()],
        words=word or (),
        prompts=prompt or (),
        sentences=read_lines(sentences) if sentences else (),
        multipliers=multiplier or MULTIPLIERS,
        sense=sense,
        model=model,
        version=at,
    )
    reply = session.send(call, "Measuring")
    session.show(reply, partial(draw_bias, at=at))
    if plot is not None:
        session.write_file(plot, draw_curves(reply.value))


def parse_pair(text: str) -> tuple[str, str]:
    """Read WORD/WORD.

    Raises:
        BadParameter: It is no pair.
    """
    first, slash, second = text.partition("/")
    if not (first and slash and second):
        raise typer.BadParameter(f"{text!r} is no pair: write two words with / between them, such as he/she")
    return first, second


def read_lines(file: Path) -> list[str]:
    """Read a file of sentences.

    Raises:
        BadParameter: It is no text, or has none or too many of them.
    """
    try:
        lines = [line for line in file.read_text(encoding="utf-8-sig").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise typer.BadParameter(f"{file} cannot be read as a text in UTF-8: {error}") from error
    if not 0 < len(lines) <= MAX_SENTENCES:
        raise typer.BadParameter(f"{file} has {len(lines):,} sentences: give 1 to {MAX_SENTENCES}")
    return lines
