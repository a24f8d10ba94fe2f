"""`errata doc`: documents that models answer from, put, read, corrected, asked and removed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from errata.cli.commands.ask import show_answer
from errata.cli.files import decode, read_file
from errata.cli.options import At, Words
from errata.cli.render.graph import draw_document, draw_document_list
from errata.cli.session import Session
from errata.cli.write import DocumentWrite, Write, make
from errata.wire.documents import DOCUMENT, DOCUMENTS, FileType, MediaType

MARKDOWN = {".md", ".markdown"}
FILE_TYPES: dict[str, FileType] = {
    ".pdf": "application/pdf",
    ".html": "text/html",
    ".htm": "text/html",
    ".xhtml": "application/xhtml+xml",
}
"""Ending of a file -> media type of a file whose text the service reads."""

Id = Annotated[str, typer.Argument(help="The document's id.")]


def put(
    session: Session, id: Id, file: Path, title: str | None = None, write: DocumentWrite = Write()
) -> None:
    """Put a document, or another text in its place.

    Args:
        file: Plain text, Markdown, HTML or PDF; - reads text that is piped in.
        title: What people call it.
    """
    data = sys.stdin.buffer.read() if str(file) == "-" else read_file(file)
    file_type = FILE_TYPES.get(file.suffix.lower())
    if file_type is not None:
        call = session.calls.put_document_file(id, data, file_type, title=title, **write.of_document)
    else:
        media_type: MediaType = "text/markdown" if file.suffix.lower() in MARKDOWN else "text/plain"
        call = session.calls.put_document(
            id, decode(file, data), title=title, media_type=media_type, **write.of_document
        )
    make(session, call, write, "Putting the document", "1 document")


def edit(
    session: Session,
    id: Id,
    replace: Annotated[str, typer.Option()],
    with_: Annotated[str, typer.Option("--with")],
    write: Write = Write(),
) -> None:
    """Correct a part of a document: `errata doc edit ID --replace OLD --with NEW`.

    Args:
        replace: The text that stands there now, once.
        with_: The text that takes its place.
    """
    fields = {"id": id, "action": "replace", "old": replace, "new": with_}
    call = session.calls.change(DOCUMENTS, DOCUMENT, fields, **write.of_edit)
    make(session, call, write, "Correcting the document", "1 correction")


def get(session: Session, id: Id, at: At = None) -> None:
    """Print a document."""
    reply = session.send(session.calls.get_document(id, version=at), "Reading the document")
    if session.as_json:
        typer.echo(reply.raw)
    else:
        session.out.print(draw_document(reply.value), soft_wrap=True)


def list_(
    session: Session,
    after: str | None = None,
    limit: Annotated[int, typer.Option(min=1)] = 100,
    at: At = None,
) -> None:
    """List the documents.

    Args:
        after (ID): Only those behind this id.
        limit: How many.
    """
    call = session.calls.list_documents(limit=limit, after=after, version=at)
    session.run(call, "Looking for documents", draw_document_list)


def rm(session: Session, id: Id, write: DocumentWrite = Write()) -> None:
    """Remove a document; earlier versions keep it."""
    call = session.calls.remove_document(id, **write.of_document)
    make(session, call, write, "Removing the document", "1 document")


def ask(
    session: Session,
    id: Id,
    words: Words,
    at: At = None,
    model: str = "ernie-doc",
    explain: bool = False,
) -> None:
    """Ask a question about a document.

    Args:
        at: Answer from this version, or this tag.
        model: Which system answers; one that reads documents.
        explain: Show the passages that the answer is from.
    """
    call = session.calls.ask(" ".join(words), model=model, document=id, version=at, explain=explain)
    show_answer(session, call, "Reading the document")
