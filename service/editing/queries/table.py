"""The graph's own things as a table: a row for each, a column for each relation, as an import takes it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from errata.wire import GraphRelation, GraphTable, RelationList
from more_itertools import map_reduce

from models.graph.knowledge import Entity
from models.graph.statement import RELATION
from models.graph.view import GraphView
from service.editing.operations import ListRelations, MakeTable
from service.errors import ErrataError, InvalidInput, TooLarge
from service.graph.formats.detect import header_name
from service.graph.formats.table import MAX_COLUMNS
from service.graph.linking.words import fold
from service.graph.name_resolution import resolve_relation

if TYPE_CHECKING:
    from service.editing.editor import Editor

MAX_ROWS = 50_000


@ListRelations.handler
async def list_relations(editor: Editor, call: ListRelations) -> RelationList:
    view, version = await editor.graph_at(call.version)
    relations = [
        GraphRelation(
            relation=relation,
            label=view.label(relation),
            holds=view.cardinality(relation) if view.is_defined(relation) else None,
        )
        for relation in view.relations
    ]
    return RelationList(
        version=version, relations=sorted(relations, key=lambda r: (r.label.casefold(), r.relation))
    )


@MakeTable.handler
async def make_table(editor: Editor, call: MakeTable) -> GraphTable:
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
    entities = [
        entity
        for entity in candidates.values()
        if entity is not None
        and entity.facts
        and conditions <= {(f.relation, fold(f.object)) for f in entity.facts}
    ]
    rows, left_out = leave_out_namesakes(sorted(entities, key=lambda entity: (fold(entity.label), entity.id)))
    headings, other = name_columns(rows, query.subject, view)
    left_out += other
    if len(headings) >= MAX_COLUMNS:
        raise InvalidInput(
            f"the table would have {len(headings) + 1} columns, and {MAX_COLUMNS} are the most: "
            "choose its things with `where`",
            field="where",
        )
    return GraphTable(
        version=version,
        columns=[query.subject, *headings.values()],
        rows=[[entity.label, *_cells(entity, headings)] for entity in rows],
        left_out=left_out,
    )


def read_condition(text: str, view: GraphView) -> tuple[str, str]:
    relation, equals, value = text.partition("=")
    if not equals or not relation.strip() or not value.strip():
        raise InvalidInput(f"{text!r} is no condition: write RELATION=VALUE", field="where")
    return resolve_relation(relation.strip(), view), fold(value.strip())


def leave_out_namesakes(entities: Sequence[Entity]) -> tuple[list[Entity], list[str]]:
    """Return the entities whose name is their own, and a sentence on each name that several have."""
    times = Counter(fold(entity.label) for entity in entities)
    shared = dict.fromkeys(entity.label for entity in entities if times[fold(entity.label)] > 1)
    sentences = [f"several things are called {label!r}: their rows are left out" for label in shared]
    return [entity for entity in entities if times[fold(entity.label)] == 1], sentences


def name_columns(
    entities: Iterable[Entity], subject: str, view: GraphView
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


def _cells(entity: Entity, headings: Mapping[str, str]) -> list[str]:
    """Return the cells of a row; several values are lines of one cell."""
    values = map_reduce(entity.facts, lambda fact: fact.relation, lambda fact: fact.object)
    return ["\n".join(dict.fromkeys(values.get(relation, ()))) for relation in headings]
