"""What a curator looks up: entities with their facts, documents, and the senses of a word."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from errata import wire
from errata.cli.render.text import escape, make_grid, make_table, one_line, plural

MAX_ALIASES = 3


def draw_entity_list(page: wire.EntityList) -> RenderableType:
    if not page.entities:
        return Text(f"No entity is called so at version {page.version}.", style="yellow")
    return draw_entities(page.entities)


def draw_entities(entities: Sequence[wire.EntityHead]) -> RenderableType:
    """Draw entities, without columns that would be empty."""
    has_aliases = any(entity.aliases for entity in entities)
    has_descriptions = any(entity.description for entity in entities)
    titles = ["also called"] * has_aliases + ["what it is"] * has_descriptions
    table = make_table("id", "name", ">facts", *titles)
    for column in table.columns[:2]:
        column.overflow = "fold"
    table.columns[0].style = "cyan"
    for entity in entities:
        aliases = ", ".join(map(one_line, entity.aliases[:MAX_ALIASES]))
        aliases += ", …" if len(entity.aliases) > MAX_ALIASES else ""
        cells = [aliases] * has_aliases + [one_line(entity.description)] * has_descriptions
        table.add_row(entity.id, one_line(entity.label), f"{entity.degree:,}", *cells)
    return table


def draw_entity(entity: wire.EntityState) -> RenderableType:
    parts: list[RenderableType] = [
        Text.assemble((one_line(entity.label), "bold"), (f"  {entity.id}", "cyan"))
    ]
    if entity.aliases:
        parts.append(Text.assemble(("also called ", "dim"), ", ".join(map(one_line, entity.aliases))))
    if entity.description:
        parts.append(Text(entity.description))
    count = plural(len(entity.facts), "fact") if entity.facts else "no facts"
    parts += [Text(f"{count} at version {entity.version}", style="dim"), Text(), _draw_facts(entity.facts)]
    if entity.removed_facts:
        parts += [Text("\nSaid before", style="dim"), _draw_facts(entity.removed_facts)]
    return Group(*parts)


def _draw_facts(facts: Sequence[wire.EntityFact]) -> RenderableType:
    """Draw facts. A relation with several values is named once, by its label and by the name for edits."""
    table = make_grid()
    for style in ("dim", "", "cyan", "dim"):
        table.add_column(style=style, overflow="fold" if style == "cyan" else "ellipsis")
    previous = ""
    for fact in facts:
        label, name = one_line(fact.label), one_line(fact.relation)
        title = name if label in ("", name) else f"{label} ({name})"
        since = f"since version {fact.added_in}" if fact.added_in else "from the base"
        if isinstance(fact, wire.RemovedFact):
            since = f"{since}, removed in version {fact.removed_in}"
        origin = f"{since} · {fact.edit}" if fact.edit else since
        object_id = f"{fact.object_id} (by its name)" if fact.linked_text else fact.object_id
        table.add_row("" if title == previous else title, one_line(fact.object), object_id, origin)
        previous = title
    return Padding.indent(table, 2)


def draw_document(document: wire.DocumentState) -> Text:
    """Return the text, whose lines and tabs are the document's; other control characters are shown."""
    lines = document.text.replace("\r\n", "\n").split("\n")
    return Text("\n".join("\t".join(map(escape, line.split("\t"))) for line in lines))


def draw_document_list(page: wire.DocumentList) -> RenderableType:
    if not page.documents:
        return Text(f"There is no document at version {page.version}.", style="yellow")
    table = make_table("id", "title", ">characters", ">edits")
    table.columns[0].overflow = "fold"
    table.columns[0].style = "cyan"
    for document in page.documents:
        table.add_row(
            document.id, one_line(document.title), f"{document.characters:,}", f"{len(document.edits):,}"
        )
    if len(page.documents) == page.total:
        return table
    last = page.documents[-1].id
    note = f"{plural(page.total, 'document')} in all; more of them: errata doc list --after {last}"
    return Group(table, Text(note, style="dim"))


def draw_senses(word: wire.WordSenses) -> RenderableType:
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


def _write_strength(sense: wire.Sense) -> str:
    if abs(sense.strength - sense.base_strength) < 0.005:
        return f"{sense.strength:.2f}"
    return f"{sense.base_strength:.2f} → {sense.strength:.2f}"


def _write_words(words: list[wire.ScoredWord]) -> str:
    """Write words in one line; spaces before them are left out, and other white space is written as a code."""
    return "  ".join(word.word.removeprefix(" ").replace("\n", "\\n") or "␣" for word in words)
