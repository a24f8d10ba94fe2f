"""What memories hold and how it changes: facts, triples of an import, rules, entities, documents, senses of a word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import JsonValue, TypeAdapter, ValidationError
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from errata import wire
from errata.cli.render.drawing import draw_lines, make_compact_table, make_table
from errata.cli.render.escaping import escape, one_line
from errata.cli.render.text import plural

MAX_ALIASES = 3
MAX_EFFECTS = 40  # triples with an effect on other values that are shown


def describe_change(notes: Mapping[str, JsonValue]) -> str:
    """Describe an edit that is no question with its answer, in one line; "" for a question with its answer.

    A fact reads `Peru · capital · Cusco`. A relation, an import and a change of a memory's own kind have other words.
    """
    parts = [notes.get(name) for name in ("subject", "relation", "object")]
    text = " · ".join(one_line(str(part)) for part in parts) if all(parts) else ""
    if is_import(notes):
        text = f"import of {notes.get('source') or 'a stream'}: {notes['triples']:,} triples"
    elif "define" in notes:
        values = {"one": "holds one value", "many": "holds many values"}.get(str(notes.get("holds")), "")
        label = f"is called {notes['label']}" if notes.get("label") else ""
        text = f"{notes['define']} {' and '.join(filter(None, (values, label)))}"
    elif "summary" in notes:
        text = str(notes["summary"])
    return one_line(text)


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
    return _draw_side(change, " · ".join([*parts, *describe_qualifiers(change)]), change.act)


def describe_qualifiers(fact: wire.Qualifiers) -> list[str]:
    """Describe the period of a fact, its rank and its source; what it does not have is left out."""
    bounds = {"from": fact.begin, "to": fact.end, "of": fact.time}
    period = " ".join(f"{word} {one_line(text)}" for word, text in bounds.items() if text)
    source = f"source {one_line(fact.source)}" if fact.source else ""
    return [part for part in (period, one_line(fact.rank), source) if part]


def draw_memory_change(change: wire.MemoryChange) -> Text:
    """Draw a line of a difference: a change of a memory's own kind that only one of the two versions has."""
    return _draw_side(change, one_line(change.summary), change.kind)


def _draw_side(change: wire.EditDifference, text: str, kind: str) -> Text:
    sign, style = ("+ ", "green") if change.change == "added" else ("- ", "red")
    return Text.assemble((sign + text, style), (f"  {kind}  {change.edit}", "dim"))


def group_facts(edits: Sequence[wire.EditReport]) -> list[list[wire.EditReport]]:
    """Group each fact with the edits made of it for systems that learn by question and answer."""
    groups: list[list[wire.EditReport]] = []
    for edit in edits:
        fact = groups[-1][0] if groups else None
        if (
            fact is not None
            and is_fact(fact.notes)
            and not is_fact(edit.notes)
            and fact.question
            and (fact.question, fact.answer) == (edit.question, edit.answer)
        ):
            groups[-1].append(edit)
        else:
            groups.append([edit])
    return groups


def draw_rules(page: wire.ActiveEditList) -> RenderableType:
    """Draw the valid rules, a line each."""
    if not page.edits:
        return Text(f"No rule is in force at version {page.version}: every path may be walked.", style="dim")
    table = make_table("edit:cyan", ">version", "who", "rule", "message")
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
    table = make_table(">line", "triple", "before", "by", ":red", indent=2)
    for triple in [*effects[:MAX_EFFECTS], *other_rows]:
        name = " · ".join(map(one_line, (triple.subject, triple.relation, triple.object)))
        origin = f"version {triple.version}, {triple.author}" if triple.version else ""
        state = "left out" if triple.is_left_out else "edited by hand" if triple.by_hand else ""
        table.add_row(f"{triple.line:,}", name, one_line(triple.before), origin, state)
    n_more = n_triples - table.row_count if other_rows else 0
    rest = f"  and {plural(n_more, 'more triple')}" if n_more > 0 else ""
    return [table, *draw_lines((rest, "dim"))] if table.row_count else []


def draw_entity_list(page: wire.EntityList) -> RenderableType:
    if not page.entities:
        return Text(f"No entity is called so at version {page.version}.", style="yellow")
    return draw_entities(page.entities)


def draw_entities(entities: Sequence[wire.EntityHead]) -> RenderableType:
    """Draw entities, without columns that would be empty."""
    rows = [
        (e.id, one_line(e.label), f"{e.degree:,}", list_aliases(e), one_line(e.description)) for e in entities
    ]
    return make_compact_table("id:cyan", "name", ">facts", "also called", "what it is", rows=rows)


def list_aliases(entity: wire.EntityHead) -> str:
    aliases = [*map(one_line, entity.aliases[:MAX_ALIASES]), *["…"] * (len(entity.aliases) > MAX_ALIASES)]
    return ", ".join(aliases)


def draw_entity(entity: wire.EntityState) -> RenderableType:
    aliases = Text.assemble(("also called ", "dim"), ", ".join(map(one_line, entity.aliases)))
    count = plural(entity.degree, "fact") if entity.facts else "no facts"
    count += f" at version {entity.version}{_format_rest(entity.facts_left_out)}"
    parts: list[RenderableType] = [
        Text.assemble((one_line(entity.label), "bold"), (f"  {entity.id}", "cyan")),
        *([aliases] if entity.aliases else []),
        *draw_lines((entity.description, ""), (count, "dim")),
        Text(),
        _draw_facts(entity.facts),
    ]
    if entity.removed_facts:
        title = f"\nSaid before{_format_rest(entity.removed_facts_left_out)}"
        parts += [Text(title, style="dim"), _draw_facts(entity.removed_facts)]
    return Group(*parts)


def _format_rest(n_left_out: int) -> str:
    return f", of which {n_left_out:,} are not shown" if n_left_out else ""


def _draw_facts(facts: Sequence[wire.EntityFact]) -> RenderableType:
    """Draw facts. A relation with several values is named once, by its label and by the name for edits."""
    table = make_table(":dim", "", ":cyan", ":dim")
    previous = ""
    for fact in facts:
        label, name = one_line(fact.label), one_line(fact.relation)
        title = name if label in ("", name) else f"{label} ({name})"
        object_id = f"{fact.object_id} (by its name)" if fact.linked_text else fact.object_id
        object_name = "no label is known of " * fact.unlabelled + object_id
        origin = " · ".join(filter(None, (*describe_qualifiers(fact), describe_age(fact), fact.edit)))
        table.add_row("" if title == previous else title, one_line(fact.object), object_name, origin)
        previous = title
    return Padding.indent(table, 2)


def describe_age(fact: wire.EntityFact) -> str:
    since = f"since version {fact.added_in}" if fact.added_in else "from the base"
    return f"{since}, removed in version {fact.removed_in}" if isinstance(fact, wire.RemovedFact) else since


def draw_document(document: wire.DocumentState) -> Text:
    """Return the text, whose lines and tabs are the document's; other control characters are shown."""
    lines = document.text.replace("\r\n", "\n").split("\n")
    return Text("\n".join("\t".join(map(escape, line.split("\t"))) for line in lines))


def draw_document_list(page: wire.DocumentList) -> RenderableType:
    if not page.documents:
        return Text(f"There is no document at version {page.version}.", style="yellow")
    rows = [(d.id, one_line(d.title), f"{d.characters:,}", f"{len(d.edits):,}") for d in page.documents]
    table = make_table("id:cyan", "title", ">characters", ">edits", rows=rows)
    if len(page.documents) == page.total:
        return table
    last = page.documents[-1].id
    note = f"{plural(page.total, 'document')} in all; more of them: errata doc list --after {last}"
    return Group(table, Text(note, style="dim"))


def draw_senses(word: wire.WordSenses) -> RenderableType:
    """Draw a word: a line a sense."""
    title = Text.assemble((f"'{word.word}'", "bold"), (f"  {word.model}, version {word.version}", "dim"))
    rows = [
        (
            str(sense.number),
            _write_strength(sense),
            _write_words(sense.top),
            _write_words(sense.bottom[:3]),
            ", ".join(sense.edits),
        )
        for sense in word.senses
    ]
    titles = ">sense", ">strength", "favours", "disfavours:dim", "edits:yellow"
    warnings = [Text(warning, style="yellow") for warning in word.warnings]
    return Group(title, make_compact_table(*titles, rows=rows), *warnings)


def _write_strength(sense: wire.Sense) -> str:
    if abs(sense.strength - sense.base_strength) < 0.005:
        return f"{sense.strength:.2f}"
    return f"{sense.base_strength:.2f} → {sense.strength:.2f}"


def _write_words(words: list[wire.ScoredWord]) -> str:
    """Write words in one line; spaces before them are left out, and other white space is written as a code."""
    return "  ".join(word.word.removeprefix(" ").replace("\n", "\\n") or "␣" for word in words)
