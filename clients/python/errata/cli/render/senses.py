"""Senses of words, as a curator reads them."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from errata.cli.render.text import make_table
from errata.wire import ScoredWord, Sense, WordSenses


def draw_senses(word: WordSenses) -> RenderableType:
    """Draw a word: a line a sense."""
    title = Text.assemble((f"'{word.word}'", "bold"), (f"  {word.model}, version {word.version}", "dim"))
    is_edited = any(sense.edits for sense in word.senses)
    table = make_table(">sense", ">strength", "favours", "disfavours", *(["edits"] if is_edited else []))
    for sense in word.senses:
        cells: list[RenderableType] = [str(sense.number), _write_strength(sense), _write_words(sense.top)]
        cells.append(Text(_write_words(sense.bottom[:3]), style="dim"))
        if is_edited:
            cells.append(Text(", ".join(sense.edits), style="yellow"))
        table.add_row(*cells)
    warnings = [Text(warning, style="yellow") for warning in word.warnings]
    return Group(title, table, *warnings)


def _write_strength(sense: Sense) -> str:
    if abs(sense.strength - sense.base_strength) < 0.005:
        return f"{sense.strength:.2f}"
    return f"{sense.base_strength:.2f} → {sense.strength:.2f}"


def _write_words(words: list[ScoredWord]) -> str:
    """Write words in one line; spaces before them are left out, and other white space is written as a code."""
    return "  ".join(word.word.removeprefix(" ").replace("\n", "\\n") or "␣" for word in words)
