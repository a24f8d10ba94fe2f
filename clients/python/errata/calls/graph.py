"""Calls that look entities of the knowledge graph up, and fill it from a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, Unpack
from urllib.parse import quote

from errata import wire
from errata.calls.edits import CommitOptions, take_key
from errata.files import Progress, Upload
from errata.request import Call, build, to_query
from errata.wire import Format, Request, Version

MAX_SOURCE_CHARS = 200


class ImportOptions(CommitOptions, total=False):
    """Options of an import. A file that is sent again with the same key is answered with its first receipt.

    Attributes:
        keep_corrections: Whether to leave out the triples that go against the edits of people.
        subject: Heading of the column with the names of things, of a table with a row for each thing.
        sheet: Name of the sheet of a workbook; "" for its only one.
        column: Columns that are not called as their relation is, each as "HEADING=RELATION".
    """

    expected_version: int | None
    keep_corrections: bool
    subject: str
    sheet: str
    column: Sequence[str]


class _EntityQuery(Request):
    q: wire.Text
    limit: int = 20
    version: Version | None = None


class _EntityAt(Request):
    id: wire.Text
    version: Version | None = None


class GraphCalls:
    """The part of `Calls` that is about the graph."""

    def entities(self, q: str, *, limit: int = 20, version: int | None = None) -> Call[wire.EntityList]:
        """Find entities by name, the best first: those named `q`, then those whose name begins with it."""
        query = build(_EntityQuery, q=q, limit=limit, version=version).model_dump(exclude_defaults=True)
        return Call("GET", "/v1/entities", wire.EntityList, query=query)

    def entity(self, id: str, *, version: int | None = None) -> Call[wire.EntityState]:
        """Return one entity with its facts, and those that were removed, at a version or now."""
        entity = build(_EntityAt, id=id, version=version)
        path = f"/v1/entities/{quote(entity.id, safe='')}"
        return Call("GET", path, wire.EntityState, query=to_query(version=entity.version))

    def relations(self, *, version: int | None = None) -> Call[wire.RelationList]:
        """List the relations in use, with what people call them."""
        query = build(wire.TableQuery, version=version)
        return Call("GET", "/admin/graph/relations", wire.RelationList, query=to_query(version=query.version))

    def table(
        self, subject: str = "Name", *, where: Sequence[str] = (), version: int | None = None
    ) -> Call[wire.GraphTable]:
        """Return the things that edits and imports brought as a table, which an import takes again.

        Args:
            subject: Heading of the column with the names of things.
            where: Conditions that the things fulfil, each as "RELATION=VALUE".
            version: A version; None for the newest.
        """
        query = build(wire.TableQuery, subject=subject, where=list(where), version=version)
        return Call(
            "GET",
            "/admin/graph/table",
            wire.GraphTable,
            query=to_query(**query.model_dump(exclude_defaults=True)),
            slow=True,
        )

    def import_graph(
        self,
        file: str | Path | BinaryIO,
        *,
        format: Format | None = None,
        language: str = "en",
        source: str | None = None,
        progress: Progress | None = None,
        **options: Unpack[ImportOptions],
    ) -> Call[wire.ImportReceipt]:
        """Fill the graph from a file of triples or a table, in one commit. The file is streamed, never held whole.

        Args:
            file: A path, or a file open for reading bytes.
            format: The format; None lets the service detect it.
            language: Language of the labels that are taken.
            source: Name of the file in the log; None for its own name.
            progress: Is called with the bytes sent, in the phase "sending", then with the service's phases.
            **options: Options of the write.
        """
        if source is None:
            name = file if isinstance(file, str) else getattr(file, "name", None)
            source = Path(name).name if isinstance(name, str) else ""
        fields: dict[str, object] = {**options}
        key = take_key(fields)
        source = source[-MAX_SOURCE_CHARS:]
        order = build(wire.ImportOrder, format=format, language=language, source=source, **fields)
        return Call(
            "POST",
            "/admin/graph/import",
            wire.ImportReceipt,
            query=to_query(**order.model_dump(exclude_defaults=True)),
            idempotency_key=key,
            reads=order.dry_run,
            slow=True,
            upload=Upload(file, progress),
        )
