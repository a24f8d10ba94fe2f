"""Entities at a version as a table: a row for each, a column for each relation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import date
from typing import TYPE_CHECKING

from errata import wire
from more_itertools import map_reduce

from models.graph.knowledge import WholeEntity
from models.graph.statement import RELATION
from models.graph.view import GraphView
from service.editing.operations import MakeTable
from service.errors import ErrataError, InvalidInput, TooLarge
from service.graph.formats.table import MAX_COLUMNS, header_name
from service.graph.linking.folding import name_key
from service.graph.name_resolution import resolve_relation

if TYPE_CHECKING:
    from service.editing.editor import Editor


MAX_ROWS = 50_000


@MakeTable.handler
async def make_table(editor: Editor, call: MakeTable) -> wire.GraphTable:
    query, lookup = call.query, editor.models.lookup
    view, version = await editor.graph_at(query.version)
    n_imported = sum(active.manifest.entities for active in view.imports)
    if n_imported > MAX_ROWS:
        raise TooLarge(
            f"imports name {n_imported:,} entities, and a table has {MAX_ROWS:,} at most", limit=MAX_ROWS
        )
    ids = {id for id in view.edits if not id.startswith(RELATION)}
    for active in view.imports:
        ids |= await lookup.list_ids(active.manifest)
    candidates = await lookup.entities(ids, view)
    conditions = {read_condition(text, view) for text in query.where}
    present = [entity for entity in candidates.values() if entity is not None]
    current = [WholeEntity(entity.at(date.today().isoformat())) for entity in present]
    entities = [
        entity
        for entity in current
        if entity.facts and conditions <= {(f.relation, name_key(f.object)) for f in entity.facts}
    ]
    rows, left_out = leave_out_namesakes(
        sorted(entities, key=lambda entity: (name_key(entity.label), entity.id))
    )
    n_past = sum(entity.degree for entity in present) - sum(entity.degree for entity in current)
    left_out += [f"facts that are not current are left out: {n_past:,}"] if n_past else []
    n_qualified = sum(any(fact.details) for entity in rows for fact in entity.facts)
    left_out += (
        [f"dates, units, ranks and sources are left out, which {n_qualified:,} of the facts have"]
        if n_qualified
        else []
    )
    headings, other = name_columns(rows, query.subject, view)
    left_out += other
    if len(headings) >= MAX_COLUMNS:
        raise InvalidInput(
            f"the table would have {len(headings) + 1} columns, and {MAX_COLUMNS} are the most: "
            "choose its things with `where`",
            field="where",
        )
    return wire.GraphTable(
        version=version,
        columns=[query.subject, *headings.values()],
        rows=[[entity.label, *_cells(entity, headings)] for entity in rows],
        left_out=left_out,
    )


def read_condition(text: str, view: GraphView) -> tuple[str, str]:
    relation, equals, value = text.partition("=")
    if not equals or not relation.strip() or not value.strip():
        raise InvalidInput(f"{text!r} is no condition: write RELATION=VALUE", field="where")
    return resolve_relation(relation.strip(), view), name_key(value.strip())


def leave_out_namesakes(entities: Sequence[WholeEntity]) -> tuple[list[WholeEntity], list[str]]:
    """Return the entities whose name is their own, and a sentence on each name that several have."""
    times = Counter(name_key(entity.label) for entity in entities)
    shared = dict.fromkeys(entity.label for entity in entities if times[name_key(entity.label)] > 1)
    sentences = [f"several things are called {label!r}: their rows are left out" for label in shared]
    return [entity for entity in entities if times[name_key(entity.label)] == 1], sentences


def name_columns(
    entities: Iterable[WholeEntity], subject: str, view: GraphView
) -> tuple[dict[str, str], list[str]]:
    """Return the heading of each relation, the most used first, and a sentence on each that cannot have one.

    A heading is the relation's label where an import would take it for this relation, and otherwise its name.
    """
    headings: dict[str, str] = {}
    names = {header_name(subject)}
    sentences: list[str] = []
    uses = Counter(fact.relation for entity in entities for fact in entity.facts)
    for relation, _ in uses.most_common():
        for heading in (view.label(relation), relation):
            with suppress(ErrataError):
                if header_name(heading) not in names and resolve_relation(heading, view) == relation:
                    headings[relation] = heading
                    names.add(header_name(heading))
                    break
        else:
            sentences.append(f"another column is called {view.label(relation)!r}: {relation!r} is left out")
    return headings, sentences


def _cells(entity: WholeEntity, headings: Mapping[str, str]) -> list[str]:
    values = map_reduce(entity.facts, lambda fact: fact.relation, lambda fact: fact.object)
    return ["\n".join(dict.fromkeys(values.get(relation, ()))) for relation in headings]
