"""What can be asked of the knowledge graph: look it up, correct a triple of it, fill it from a file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO, Literal, Unpack
from urllib.parse import quote

from errata import wire
from errata.call import Call
from errata.committing import HowToEdit, HowToImport, checked, commit, key_among
from errata.upload import Progress, Upload
from errata.wire import Act, Format, Request, Version

LONGEST_NAME_CHARS = 200


class _Lookup(Request):
    q: wire.Text
    limit: int = 20
    version: Version | None = None


class _At(Request):
    id: wire.Text
    version: Version | None = None


class GraphCalls:
    """The part of `Calls` that is about the graph."""

    def fact(
        self,
        subject: str,
        relation: str,
        object: str,
        *,
        act: Act | None = None,
        only: Literal["graph"] | None = None,
        **how: Unpack[HowToEdit],
    ) -> Call[wire.EditReceipt]:
        """Make this triple a fact for every system, or with `only` for the graph alone.

        subject: an entity's id, or its name; Ambiguous if several bear it. act: "set" it in place of all other
        values, "add" it beside them or "remove" it; if left out, set or add as the relation holds one value or many.
        """
        item = checked(wire.FactItem, subject=subject, relation=relation, object=object, act=act, only=only)
        return _edits([item], how)

    def define_relation(
        self,
        name: str,
        *,
        holds: Literal["one", "many"] | None = None,
        label: str | None = None,
        **how: Unpack[HowToEdit],
    ) -> Call[wire.EditReceipt]:
        """Say how many values a relation holds for one subject, and how people call it, which a model reads."""
        return _edits([checked(wire.RelationItem, define=name, holds=holds, label=label)], how)

    def entities(self, q: str, *, limit: int = 20, version: int | None = None) -> Call[wire.EntityList]:
        """Entities by name, best first: those called `q`, then those whose name begins with it."""
        asked = checked(_Lookup, q=q, limit=limit, version=version)
        return Call("GET", "/v1/entities", wire.EntityList, query=_given(asked))

    def entity(self, id: str, *, version: int | None = None) -> Call[wire.EntityState]:
        """One entity with its facts, and those that were removed; at a version, or as it is now."""
        asked = checked(_At, id=id, version=version)
        path = f"/v1/entities/{quote(asked.id, safe='')}"
        return Call("GET", path, wire.EntityState, query=_given(asked, "id"))

    def import_graph(
        self,
        file: str | Path | BinaryIO,
        *,
        format: Format | None = None,
        language: str = "en",
        source: str | None = None,
        progress: Progress | None = None,
        **how: Unpack[HowToImport],
    ) -> Call[wire.ImportReceipt]:
        """Fill the graph from a file of triples, in one commit. The file is streamed, never held whole.

        file: a path, or a file open for reading bytes. format: the service looks at the content if left out.
        source: what the log calls it; the file's own name if left out. progress: told what was sent, in the
        phase "sending", and then what the service tells of its own phases.
        """
        given = Path(file) if isinstance(file, str | Path) else file
        named = (_name(given) if source is None else source)[-LONGEST_NAME_CHARS:]
        fields: dict[str, object] = {"format": format, "language": language, "source": named, **how}
        key = key_among(fields)
        order = checked(wire.ImportOrder, **fields)
        return Call(
            "POST",
            "/admin/graph/import",
            wire.ImportReceipt,
            query=_given(order),
            idempotency_key=key,
            reads=order.dry_run,
            slow=True,
            upload=Upload(given, progress),
        )


def _edits(items: Iterable[wire.Item], how: HowToEdit) -> Call[wire.EditReceipt]:
    return commit("/admin/edits", wire.EditRequest, {"edits": list(items), **how})


def _given(asked: Request, *but: str) -> dict[str, int | str]:
    """As a query: only what differs from the default, truth as JSON writes it."""
    fields = asked.model_dump(exclude_defaults=True, exclude=set(but))
    return {name: str(value).lower() if value is True else value for name, value in fields.items()}


def _name(file: Path | BinaryIO) -> str:
    name = getattr(file, "name", None)
    return Path(name).name if isinstance(name, str) else ""
