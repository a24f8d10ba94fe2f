"""A document as its lines, and documents as a table without their texts."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from errata.cli.render.text import escape, make_table, one_line, plural
from errata.wire import DocumentList, DocumentState


def draw_document(document: DocumentState) -> Text:
    """Return the text, whose lines and tabs are the document's; other control characters are shown."""
    lines = document.text.replace("\r\n", "\n").split("\n")
    return Text("\n".join("\t".join(map(escape, line.split("\t"))) for line in lines))


def draw_document_list(page: DocumentList) -> RenderableType:
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
