"""What a fact did in each system: the triple once, then who answers what, asked in the same words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import JsonValue
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from errata.cli.render.text import became, one_line, plural
from errata.wire import EditReport, FactChange

IN_THE_GRAPH = "the graph says"
ACTS = {"add": "  (one more)", "remove": "  (taken away)"}


def triple(notes: Mapping[str, JsonValue]) -> str:
    """`Peru · capital · Cusco`, what was said of a relation, or what was imported; "" where the notes tell of none."""
    if is_import(notes):
        return f"import of {one_line(str(notes.get('source') or 'a stream'))}: {notes['triples']:,} triples"
    if "define" in notes:
        holds = {"one": "holds one value", "many": "holds many values"}.get(str(notes.get("holds")))
        said = [holds] if holds else []
        said += [f"is called {notes['label']}"] if notes.get("label") else []
        return one_line(f"{notes['define']} {' and '.join(said)}")
    parts = [notes.get(name) for name in ("subject", "relation", "object")]
    return " · ".join(one_line(str(part)) for part in parts) if all(parts) else ""


def is_import(notes: Mapping[str, JsonValue]) -> bool:
    return isinstance(notes.get("triples"), int)


def fact_told(change: FactChange) -> Text:
    """A line of a difference: what only one of the two versions was told."""
    parts = [one_line(part) for part in (change.subject, change.relation, change.object) if part]
    sign, style = ("+ ", "green") if change.change == "added" else ("- ", "red")
    return Text.assemble((sign + " · ".join(parts), style), (f"  {change.act}  {change.edit}", "dim"))


def told_together(edits: Sequence[EditReport]) -> list[list[EditReport]]:
    """A fact is one group: the triple, then what was made of it for systems that learn by question and answer."""
    groups: list[list[EditReport]] = []
    for one in edits:
        if groups and not triple(one.notes) and _made_of(groups[-1][0], one):
            groups[-1].append(one)
        else:
            groups.append([one])
    return groups


def _made_of(fact: EditReport, one: EditReport) -> bool:
    return bool(triple(fact.notes) and fact.question) and (fact.question, fact.answer) == (
        one.question,
        one.answer,
    )


def draw_fact(told: Sequence[EditReport]) -> list[Text | Padding]:
    notes = told[0].notes
    act = ACTS.get(str(notes.get("act")), "")
    lines: list[Text | Padding] = [Text.assemble("  ", triple(notes), (act, "dim"))]
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for one in told:
        _add(table, one)
    if table.rows:
        lines.append(Padding.indent(table, 4))
    warnings = dict.fromkeys(warning for one in told for warning in one.warnings)
    return [*lines, *(Text(f"    warning: {warning}", style="yellow") for warning in warnings)]


def _add(table: Table, one: EditReport) -> None:
    """One line for the question, one for each other wording that does not follow, one that counts the rest."""
    if "define" in one.notes or is_import(one.notes):
        return
    system = one.model or one.method
    table.add_row(_mark(one.holds), system, one.question or Text(IN_THE_GRAPH, "dim"), _answers(one))
    lost = [other for other in one.paraphrases if not other.follows]
    for other in lost:
        table.add_row(_mark(False), system, other.question, became(other.before, other.after))
    rest = len(one.paraphrases) - len(lost)
    if rest:
        table.add_row("", "", Text(f"and in {plural(rest, 'other wording')}", "dim"))


def _answers(one: EditReport) -> Text:
    """A graph that says nothing is not unsure."""
    if not one.question:
        before, after = one.before or "nothing", one.after or "nothing"
        return became(before, after)
    wanted = "" if one.holds else f"  (wanted: {one.answer or 'no answer'})"
    return Text.assemble(became(one.before, one.after), (wanted, "red"))


def _mark(good: bool) -> Text:
    return Text("✓", "green") if good else Text("✗", "red")
