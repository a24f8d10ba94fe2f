"""`errata doc`: documents that models answer from, put, read, corrected, asked and removed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from errata.calls.edit import DocumentOptions
from errata.cli.commands.ask import print_answer
from errata.cli.options import At, DryRun, Expect, Key, Message, NoWait, Strict, Verbose, edit_options
from errata.cli.receipts import show_receipt
from errata.cli.render.documents import draw_document, draw_document_list
from errata.cli.render.text import make_printable
from errata.cli.session import Session
from errata.cli.streams import Exit
from errata.wire import Wait
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
    session: Session,
    id: Id,
    file: Annotated[
        Path, typer.Argument(help="Plain text, Markdown, HTML or PDF; - reads text that is piped in.")
    ],
    title: Annotated[str | None, typer.Option(help="What people call it.")] = None,
    message: Message = "",
    dry_run: DryRun = False,
    expect: Expect = None,
    no_wait: NoWait = False,
    idempotency_key: Key = None,
    verbose: Verbose = False,
) -> None:
    """Put a document, or another text in its place."""
    options = document_options(message, no_wait, idempotency_key, dry_run, expect)
    data, file_type = read_file(file), FILE_TYPES.get(file.suffix.lower())
    if file_type is not None:
        call = session.calls.put_document_file(id, data, file_type, title=title, **options)
    else:
        media_type: MediaType = "text/markdown" if file.suffix.lower() in MARKDOWN else "text/plain"
        call = session.calls.put_document(
            id, decode(file, data), title=title, media_type=media_type, **options
        )
    reply = session.send(call, "Trying it out" if dry_run else "Putting the document")
    show_receipt(session, reply, "1 document", verbose)


def document_options(
    message: str, no_wait: bool, key: str | None, dry_run: bool, expect: int | None
) -> DocumentOptions:
    wait: Wait = "none" if no_wait else "all"
    return DocumentOptions(
        message=message, wait=wait, dry_run=dry_run, expected_version=expect, idempotency_key=key
    )


def read_file(file: Path) -> bytes:
    """Return the bytes of a file or of the standard input; BadParameter where it cannot be read."""
    try:
        return sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
    except OSError as error:
        raise typer.BadParameter(f"{file} cannot be read: {error.strerror}") from error


def decode(file: Path, data: bytes) -> str:
    """Return the text of a file; BadParameter where it is none."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise typer.BadParameter(f"{file} is not UTF-8: save it as UTF-8") from error


def edit(
    session: Session,
    id: Id,
    old: Annotated[str, typer.Option("--replace", help="What stands there now, once.")],
    new: Annotated[str, typer.Option("--with", help="What is to stand there.")],
    message: Message = "",
    dry_run: DryRun = False,
    strict: Strict = False,
    expect: Expect = None,
    no_wait: NoWait = False,
    idempotency_key: Key = None,
    verbose: Verbose = False,
) -> None:
    """Correct a part of a document: `errata doc edit ID --replace OLD --with NEW`."""
    options = edit_options(message, no_wait, idempotency_key, dry_run, expect, strict)
    fields = {"id": id, "action": "replace", "old": old, "new": new}
    reply = session.send(
        session.calls.change(DOCUMENTS, DOCUMENT, fields, **options),
        "Trying it out" if dry_run else "Correcting the document",
    )
    show_receipt(session, reply, "1 correction", verbose)


def get(session: Session, id: Id, at: At = None) -> None:
    """Print a document."""
    reply = session.send(session.calls.get_document(id, version=at), "Reading the document")
    if session.as_json:
        typer.echo(reply.raw)
    else:
        session.out.print(draw_document(reply.value), soft_wrap=True)


def list_(
    session: Session,
    after: Annotated[str | None, typer.Option(metavar="ID", help="Only those behind this id.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many.")] = 100,
    at: At = None,
) -> None:
    """List the documents."""
    call = session.calls.list_documents(limit=limit, after=after, version=at)
    session.show(session.send(call, "Looking for documents"), draw_document_list)


def rm(
    session: Session,
    id: Id,
    message: Message = "",
    dry_run: DryRun = False,
    expect: Expect = None,
    no_wait: NoWait = False,
    idempotency_key: Key = None,
    verbose: Verbose = False,
) -> None:
    """Remove a document; earlier versions keep it."""
    options = document_options(message, no_wait, idempotency_key, dry_run, expect)
    call = session.calls.remove_document(id, **options)
    reply = session.send(call, "Trying it out" if dry_run else "Removing the document")
    show_receipt(session, reply, "1 document", verbose)


def ask(
    session: Session,
    id: Id,
    words: Annotated[list[str], typer.Argument(metavar="QUESTION", help="The question, quoted or not.")],
    at: Annotated[
        str | None, typer.Option(metavar="VERSION", help="Answer from this version, or this tag.")
    ] = None,
    model: Annotated[str, typer.Option(help="Which system answers; one that reads documents.")] = "ernie-doc",
    explain: Annotated[
        bool, typer.Option("--explain", help="Show the passages that the answer is from.")
    ] = False,
) -> None:
    """Ask a question about a document."""
    question = " ".join(words)
    version = None if at is None else session.resolve_version(at)
    call = session.calls.ask(question, model=model, document=id, version=version, explain=explain)
    reply = session.send(call, "Reading the document")
    if session.as_json:
        typer.echo(reply.raw)
    else:
        print_answer(session, make_printable(reply.value), verbose=False)
    if reply.value.answer is None:
        raise typer.Exit(Exit.UNSURE)
