"""Changes of the graph and of memories in words: facts, triples of an import, rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import JsonValue, TypeAdapter, ValidationError
from rich.console import Group, RenderableType
from rich.text import Text

from errata import wire
from errata.cli.render.text import make_table, one_line, plural

MAX_EFFECTS = 40  # triples with an effect on other values that are shown


def describe_change(notes: Mapping[str, JsonValue]) -> str:
    """Describe an edit that is no question with its answer, in one line; "" for a question with its answer.

    A fact reads `Peru · capital · Cusco`. A relation, an import and a change of a memory's own kind have other words.
    """
    if is_import(notes):
        return f"import of {one_line(str(notes.get('source') or 'a stream'))}: {notes['triples']:,} triples"
    if "define" in notes:
        values = {"one": "holds one value", "many": "holds many values"}.get(str(notes.get("holds")))
        clauses = [values] if values else []
        clauses += [f"is called {notes['label']}"] if notes.get("label") else []
        return one_line(f"{notes['define']} {' and '.join(clauses)}")
    if "summary" in notes:
        return one_line(str(notes["summary"]))
    parts = [notes.get(name) for name in ("subject", "relation", "object")]
    return " · ".join(one_line(str(part)) for part in parts) if all(parts) else ""


def is_fact(notes: Mapping[str, JsonValue]) -> bool:
    """Return whether the notes are of a change of the graph: a fact, a relation or an import."""
    return (
        is_import(notes) or "define" in notes or all(notes.get(n) for n in ("subject", "relation", "object"))
    )


def is_import(notes: Mapping[str, JsonValue]) -> bool:
    return isinstance(notes.get("triples"), int)


def read_rows(notes: Mapping[str, JsonValue]) -> list[wire.ImportedTriple]:
    """Return the triples of an import that its commit lists; none of another edit, or in a form of another release."""
    try:
        return TypeAdapter(list[wire.ImportedTriple]).validate_python(notes.get("rows", ()))
    except ValidationError:
        return []


def describe_act(notes: Mapping[str, JsonValue]) -> str:
    """Describe how a fact treats the other values of its relation; "" where it replaces them or is the first."""
    if notes.get("act") == "remove":
        return "  (taken away)"
    earlier = one_line(str(notes.get("before") or ""))
    return f"  (beside {earlier})" if notes.get("act") == "add" and earlier else ""


def draw_fact_change(change: wire.FactChange) -> Text:
    """Draw a line of a difference: a triple that only one of the two versions has."""
    parts = [one_line(part) for part in (change.subject, change.relation, change.object) if part]
    return _draw_side(change, " · ".join(parts), change.act)


def draw_memory_change(change: wire.MemoryChange) -> Text:
    """Draw a line of a difference: a change of a memory's own kind that only one of the two versions has."""
    return _draw_side(change, one_line(change.summary), change.kind)


def _draw_side(change: wire.FactChange | wire.MemoryChange, text: str, kind: str) -> Text:
    sign, style = ("+ ", "green") if change.change == "added" else ("- ", "red")
    return Text.assemble((sign + text, style), (f"  {kind}  {change.edit}", "dim"))


def group_facts(edits: Sequence[wire.EditReport]) -> list[list[wire.EditReport]]:
    """Group each fact with the edits made of it for systems that learn by question and answer."""
    groups: list[list[wire.EditReport]] = []
    for edit in edits:
        fact = groups[-1][0] if groups else None
        belongs = (
            fact is not None
            and not is_fact(edit.notes)
            and bool(is_fact(fact.notes) and fact.question)
            and (fact.question, fact.answer) == (edit.question, edit.answer)
        )
        if belongs:
            groups[-1].append(edit)
        else:
            groups.append([edit])
    return groups


def draw_rules(page: wire.ActiveEditList) -> RenderableType:
    """Draw the valid rules, a line each."""
    if not page.edits:
        return Text(f"No rule is in force at version {page.version}: every path may be walked.", style="dim")
    table = make_table("edit", ">version", "who", "rule", "message")
    table.columns[0].style = "cyan"
    table.columns[3].overflow = "fold"
    for edit in page.edits:
        fields = edit.edit.get("change")
        rule, label = (fields.get("rule", ""), fields.get("label")) if isinstance(fields, dict) else ("", "")
        words = one_line(f"{rule}  (is called {label})" if label else str(rule))
        table.add_row(edit.id, str(edit.version), edit.author, words, edit.message.partition("\n")[0])
    note = f"{plural(len(page.edits), 'rule')} at version {page.version}; take one back: errata rules rm EDIT"
    return Group(table, Text(note, style="dim"))


def draw_triples(
    rows: Sequence[wire.ImportedTriple], n_triples: int, n_others: int = 0
) -> list[RenderableType]:
    """Draw the triples that replaced values or go against the edits of people, then the first `n_others`."""
    effects = [triple for triple in rows if triple.before or triple.by_hand]
    other_rows = [triple for triple in rows if not triple.before and not triple.by_hand][:n_others]
    if not effects and not other_rows:
        return []
    table = make_table(">line", "triple", "before", "by", "", indent=2)
    for triple in [*effects[:MAX_EFFECTS], *other_rows]:
        name = f"{one_line(triple.subject)} · {one_line(triple.relation)} · {one_line(triple.object)}"
        origin = f"version {triple.version}, {triple.author}" if triple.version else ""
        state = "left out" if triple.is_left_out else "edited by hand" if triple.by_hand else ""
        table.add_row(f"{triple.line:,}", name, one_line(triple.before), origin, Text(state, style="red"))
    n_more = n_triples - len(other_rows) - min(MAX_EFFECTS, len(effects))
    rest = [Text(f"  and {plural(n_more, 'more triple')}", style="dim")] if other_rows and n_more > 0 else []
    return [table, *rest]
