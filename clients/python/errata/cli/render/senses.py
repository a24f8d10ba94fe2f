"""Senses of words, and what a multiplier on one does, as a curator reads them."""

from __future__ import annotations

from io import StringIO
from math import log
from typing import NamedTuple

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from errata.cli.render.text import make_table, percent, plural
from errata.wire import BiasReport, PairBias, ScoredWord, Sense, WordSenses

N_SHARES = 5  # number of senses that are listed with their shares
BAR = 40  # cells of the longest bar
SVG_COLUMNS = 100


class Curve(NamedTuple):
    """A figure of each multiplier, with the title of its column and how it is written."""

    title: str
    values: list[float]
    form: str


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


def draw_bias(report: BiasReport, at: int | None = None) -> RenderableType:
    """Draw a report: for each pair what each sense carries, and a line for each multiplier."""
    parts: list[RenderableType] = []
    if report.note:
        parts.append(Text(report.note))
    words = ", ".join(word.strip() for word in report.words) or "all words of the prompts"
    counts = f"{plural(len(report.prompts), 'prompt')}, {plural(report.n_sentences, 'sentence')}"
    parts.append(
        Text.assemble((f"{words}", "bold"), (f"  {counts}; {report.model}, version {report.version}", "dim"))
    )
    for pair in report.pairs:
        parts += [Text(), _draw_shares(pair), Text(), _draw_points(pair)]
    parts += [Text(warning, style="yellow") for warning in report.warnings]
    if at is None and (command := _suggest(report)):
        parts += [Text(), Text(command, style="dim")]
    return Group(*parts)


def _draw_shares(pair: PairBias) -> RenderableType:
    first, second = (word.strip() for word in pair.pair)
    table = make_table(">sense", ">carries", f"of the log-odds of {first} against {second}")
    largest = pair.shares[0].mean_size
    for share in pair.shares[:N_SHARES]:
        style = "bold" if share.sense == pair.sense else ""
        bar = _draw_bar(share.mean_size, largest)
        leaning = f"{share.mean:+.2f} on average"
        table.add_row(str(share.sense), f"{share.mean_size:.2f}", f"{bar} {leaning}", style=style)
    return table


def _list_curves(pair: PairBias) -> list[Curve]:
    """Return the curves over the multipliers."""
    points = pair.points
    return [
        Curve("ratio", [point.ratio for point in points], "{:,.3g}"),
        Curve("median", [point.median_ratio for point in points], "{:,.3g}"),
        Curve("perplexity", [point.perplexity for point in points], "{:.3f}"),
    ]


def _draw_points(pair: PairBias) -> Table:
    """Draw a line for each multiplier: the ratio of the pair with a bar, and what everything else does."""
    curves = _list_curves(pair)
    titles = [f">{curve.title}" for curve in curves]
    table = make_table(f">sense {pair.sense} times", *titles, ">elsewhere", "logarithm of the ratio")
    largest = max(log(point.ratio) for point in pair.points)
    for place, point in enumerate(pair.points):
        cells = [curve.form.format(curve.values[place]) for curve in curves]
        bar = _draw_bar(log(point.ratio), largest)
        table.add_row(f"{point.multiplier:g}", *cells, percent(point.shift), bar)
    return table


def _draw_bar(value: float, largest: float) -> str:
    return "█" * round(BAR * value / largest) if largest > 0 else ""


def _suggest(report: BiasReport) -> str:
    """Return the command that makes a multiplier an edit."""
    if not report.words or not report.pairs:
        return ""
    word, sense = report.words[0], report.pairs[0].sense
    command = f"errata change backpack/senses sense word='{word}' action=factor senses='[{sense}]' factor=0.5"
    return f"Nothing was changed. A multiplier becomes an edit, word by word, with\n  {command} --dry-run"


def draw_curves(report: BiasReport) -> str:
    """Return a picture of the report as SVG."""
    console = Console(file=StringIO(), record=True, width=SVG_COLUMNS, markup=False, highlight=False)
    console.print(draw_bias(report, at=report.version))
    return console.export_svg(title="errata bias")
