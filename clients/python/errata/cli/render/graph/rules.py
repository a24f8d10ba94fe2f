"""Draws rules about paths, the effect of a rule, and a path with the rules that forbid edges around it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from errata.cli.render.effects import draw_report
from errata.cli.render.receipt import draw_headline
from errata.cli.render.text import draw_answer, make_grid, make_table, one_line, plural
from errata.wire import Answer, EditDetail, EditReceipt, EditReport

MAX_FORBIDDEN = 3  # edges that are shown for each rule
EFFECTS = {
    "forbid": "It forbids edges: no path may go along an edge for which it holds.",
    "require": "It requires something of every edge: no path may go along an edge for which it does not hold.",
    "infer": "It infers edges: where it holds there is such an edge, too, beside the facts.",
}


def draw_rules(rules: Sequence[EditDetail], version: int) -> RenderableType:
    """Draw the valid rules, a line each."""
    if not rules:
        return Text(f"No rule is in force at version {version}: every path may be walked.", style="dim")
    table = make_table("edit", ">version", "who", "rule", "message")
    table.columns[0].style = "cyan"
    table.columns[3].overflow = "fold"
    for rule in rules:
        message = rule.message.partition("\n")[0]
        table.add_row(rule.edit.id, str(rule.version), rule.author, _write_rule(rule), message)
    note = f"{plural(len(rules), 'rule')} at version {version}; take one back: errata rules rm EDIT"
    return Group(table, Text(note, style="dim"))


def _write_rule(rule: EditDetail) -> str:
    text = one_line(str(rule.edit.notes.get("summary", "")))
    change = rule.edit.notes.get("change")
    label = change.get("label") if isinstance(change, dict) else None
    return f"{text}  (is called {one_line(str(label))})" if label else text


def draw_trial(receipt: EditReceipt) -> RenderableType:
    """Draw the dry run of a rule: its meaning, the answer to the given question, and all answers that would change."""
    parts: list[RenderableType] = []
    for edit in receipt.report.edits:
        parts += _draw_effect(edit)
    parts += draw_report(receipt.report)
    parts.append(Text("Nothing was changed; add it: errata rules add RULE -m WHY", style="dim"))
    return Group(*parts)


def _draw_effect(edit: EditReport) -> list[Text]:
    lines = [Text(one_line(str(edit.notes.get("summary", ""))), style="bold")]
    effect = EFFECTS.get(str(edit.notes.get("effect")))
    if effect:
        lines.append(Text(effect))
    if edit.question:  # a trial expects no answer, so a warning that it is another one would mislead
        reply = Text.assemble(draw_answer(edit.before), " → ", draw_answer(edit.after))
        if edit.before == edit.after:
            reply = Text.assemble("stays ", draw_answer(edit.after))
        return [*lines, Text(f"  {edit.question}"), Text.assemble("    ", reply)]
    return [*lines, *(Text(f"warning: {warning}", style="yellow") for warning in edit.warnings)]


def draw_removal(receipt: EditReceipt, edit: str) -> RenderableType:
    """Draw that a rule was taken back, or would be, and which answers change by it."""
    is_trial = receipt.version is None
    summary = f"taking back rule {edit}" if is_trial else f"rule {edit} is taken back"
    rules = [Text(f"  {one_line(str(report.notes.get('summary', '')))}") for report in receipt.report.edits]
    hint = [] if is_trial else [Text(f"Put it back: errata revert {receipt.version}", style="dim")]
    return Group(draw_headline(receipt, summary), *rules, *draw_report(receipt.report), *hint)


def draw_proof(answer: Answer) -> RenderableType:
    """Draw the facts of the path hop by hop, then the edges around it that rules keep from being walked."""
    explanation = answer.explanation or {}
    path = _rows(explanation, "path")
    title = "The path" if answer.answer is not None else "The likeliest path, which is not sure enough"
    parts: list[RenderableType] = [Text(title, style="bold"), _draw_path(path)] if path else []
    parts += _draw_forbidden(_rows(explanation, "forbidden"))
    failures = explanation.get("failed_rules")
    for failure in failures if isinstance(failures, list) else ():
        parts.append(Text(f"warning: a rule could not be applied: {one_line(str(failure))}", style="yellow"))
    if not parts:
        parts.append(Text("No path, and no rule that forbids one.", style="dim"))
    return Group(*parts)


def _draw_path(path: Sequence[Mapping[str, Any]]) -> RenderableType:
    table = make_grid(indent=2)
    for number, hop in enumerate(path, 1):
        for fact in _rows(hop, "facts"):
            edit = f"edit {fact['edit']}" if fact.get("edit") else ""
            table.add_row(str(number), _draw_edge(fact), f"{hop.get('weight', 0):.2f}", Text(edit, "dim"))
    return table


def _draw_forbidden(edges: Sequence[Mapping[str, Any]]) -> list[RenderableType]:
    """Draw each rule once, with the first of its edges, which are the nearest to the question."""
    by_rule: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for edge in edges:
        by_rule.setdefault((str(edge.get("rule", "")), str(edge.get("rule_edit", ""))), []).append(edge)
    parts: list[RenderableType] = (
        [Text("Edges that rules keep from being walked", style="bold")] if edges else []
    )
    for (sentence, edit), facts in by_rule.items():
        parts.append(Text.assemble("  ", one_line(sentence), (f"  edit {edit}" if edit else "", "dim")))
        parts += [Text.assemble("    ✗ ", _draw_edge(fact), style="red") for fact in facts[:MAX_FORBIDDEN]]
        if len(facts) > MAX_FORBIDDEN:
            parts.append(Text(f"    and {len(facts) - MAX_FORBIDDEN} more: --json tells them", style="dim"))
    return parts


def _draw_edge(fact: Mapping[str, Any]) -> Text:
    """Draw a fact; where people call its relation otherwise, with the name by which a rule calls it."""
    subject, relation, label, target = (
        one_line(str(fact.get(name, ""))) for name in ("subject", "relation", "label", "object")
    )
    is_same = relation.replace("_", " ").casefold() == label.casefold() or not relation
    return Text.assemble(f"{subject} · {label}", ("" if is_same else f" ({relation})", "dim"), f" · {target}")


def _rows(value: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    rows = value.get(name)
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
