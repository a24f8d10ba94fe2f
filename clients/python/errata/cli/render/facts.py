"""What a fact did in each system: the triple once, then who answers what, asked in the same words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import JsonValue
from rich.padding import Padding
from rich.text import Text

from errata.cli.render.text import draw_change, make_grid, one_line, plural
from errata.wire import EditReport, FactChange

ACTS = {"add": "  (one more)", "remove": "  (taken away)"}


def describe_triple(notes: Mapping[str, JsonValue]) -> str:
    """`Peru · capital · Cusco`, the definition of a relation, or an import; "" where the notes have none of them."""
    if is_import(notes):
        return f"import of {one_line(str(notes.get('source') or 'a stream'))}: {notes['triples']:,} triples"
    if "define" in notes:
        values = {"one": "holds one value", "many": "holds many values"}.get(str(notes.get("holds")))
        clauses = [values] if values else []
        clauses += [f"is called {notes['label']}"] if notes.get("label") else []
        return one_line(f"{notes['define']} {' and '.join(clauses)}")
    parts = [notes.get(name) for name in ("subject", "relation", "object")]
    return " · ".join(one_line(str(part)) for part in parts) if all(parts) else ""


def is_import(notes: Mapping[str, JsonValue]) -> bool:
    return isinstance(notes.get("triples"), int)


def draw_fact_change(change: FactChange) -> Text:
    """A line of a difference: a triple that only one of the two versions has."""
    parts = [one_line(part) for part in (change.subject, change.relation, change.object) if part]
    sign, style = ("+ ", "green") if change.change == "added" else ("- ", "red")
    return Text.assemble((sign + " · ".join(parts), style), (f"  {change.act}  {change.edit}", "dim"))


def group_facts(edits: Sequence[EditReport]) -> list[list[EditReport]]:
    """A fact is one group: the triple, then what was made of it for systems that learn by question and answer."""
    groups: list[list[EditReport]] = []
    for edit in edits:
        fact = groups[-1][0] if groups else None
        belongs = (
            fact is not None
            and not describe_triple(edit.notes)
            and bool(describe_triple(fact.notes) and fact.question)
            and (fact.question, fact.answer) == (edit.question, edit.answer)
        )
        if belongs:
            groups[-1].append(edit)
        else:
            groups.append([edit])
    return groups


def draw_fact(reports: Sequence[EditReport]) -> list[Text | Padding]:
    """A line for each question, one for each other wording that does not follow, one that counts the rest."""
    notes = reports[0].notes
    act = ACTS.get(str(notes.get("act")), "")
    lines: list[Text | Padding] = [Text.assemble("  ", describe_triple(notes), (act, "dim"))]
    table = make_grid()
    for report in reports:
        if "define" in report.notes or is_import(report.notes):
            continue
        system = report.model or report.method
        if report.question:
            expectation = "" if report.holds else f"  (wanted: {report.answer or 'no answer'})"
            answers = Text.assemble(draw_change(report.before, report.after), (expectation, "red"))
            table.add_row(_draw_mark(report.holds), system, report.question, answers)
        else:  # a graph that says nothing is not unsure
            answers = draw_change(report.before or "nothing", report.after or "nothing")
            table.add_row(_draw_mark(report.holds), system, Text("the graph says", "dim"), answers)
        failing = [wording for wording in report.paraphrases if not wording.follows]
        for wording in failing:
            change = draw_change(wording.before, wording.after)
            table.add_row(_draw_mark(False), system, wording.question, change)
        n_following = len(report.paraphrases) - len(failing)
        if n_following:
            table.add_row("", "", Text(f"and in {plural(n_following, 'other wording')}", "dim"))
    if table.rows:
        lines.append(Padding.indent(table, 4))
    warnings = dict.fromkeys(warning for report in reports for warning in report.warnings)
    return [*lines, *(Text(f"    warning: {warning}", style="yellow") for warning in warnings)]


def _draw_mark(good: bool) -> Text:
    return Text("✓", "green") if good else Text("✗", "red")
