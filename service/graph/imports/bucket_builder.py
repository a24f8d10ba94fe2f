"""Builds the buckets of an import from spooled rows: each statement once, with names and counts.

While facts are packed by their subjects, they are spooled again by their objects for the
buckets that follow.

"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import chain

from more_itertools import chunked

from models.graph.in_edges import InEdge, interleave
from models.graph.statement import ALIAS, DESCRIPTION, LABEL, PLAIN
from service.graph import layout, redis_keys
from service.graph.formats.ntriples import is_unnamed, words_of
from service.graph.imports.spool import PARTS, Spool
from service.graph.layout import MAX_STATEMENTS

ROWS_PER_BUCKET = 64
MAX_BUCKETS = 1 << 22
STATEMENTS_PER_PART = 16 * MAX_STATEMENTS  # statements about one entity in each further part
# sort order of names, which stand before the facts, for these may be very many
NAME_ORDER = {LABEL: 0, DESCRIPTION: 1, ALIAS: 2}

EntityRows = dict[str, dict[tuple[str, ...], None]]  # statements of each entity, each once
ACT = 3  # place of the act in a statement


def bucket_count(rows: int) -> int:
    """Return the number of buckets, a power of two like the number of a spool's parts: one divides the other."""
    needed_buckets = min(MAX_BUCKETS, max(1, rows // ROWS_PER_BUCKET))
    return 1 << (needed_buckets - 1).bit_length()


def chunk(number: int, buckets: int) -> tuple[int, int]:
    """Return the range of buckets of a chunk, which one part of the spool completes."""
    return number * buckets // PARTS, (number + 1) * buckets // PARTS


def chunk_of(bucket: int, buckets: int) -> int:
    return -(-(bucket + 1) * PARTS // buckets) - 1


@dataclass
class BucketBatch:
    """Keys and bytes of some buckets, and the number of further parts of each (`parts`)."""

    contents: list[tuple[str, bytes]] = field(default_factory=list)
    names: list[tuple[str, str]] = field(default_factory=list)
    parts: dict[int, int] = field(default_factory=dict)
    triples: int = 0
    entities: int = 0


@dataclass
class BucketBuilder:
    spool: Spool  # the rows of the import
    source: str  # the id of the import
    buckets: int  # number of buckets
    labels: Mapping[str, str]  # labels of entities that are objects by id only
    ids_by_name: Mapping[str, str]  # entities that the file names, for objects that it named before
    has_entity: Callable[[str, str], bool]  # tells by id and label whether the graph has an entity already
    # Facts that are left out, each by its subject, relation, and the object's text or else its id
    left_out: Set[tuple[str, str, str]] = frozenset()
    has_names: bool = True  # whether the rows may name entities of others
    aside: Mapping[str, str] = field(default_factory=dict)  # entities that are left out, with the reason
    skipped: Counter[str] = field(default_factory=Counter)  # counts of their statements, by the reason
    new_entities: int = 0  # number of entities built so far that the graph did not have

    def build(self) -> Iterator[BucketBatch]:
        in_edges = Spool(self.spool.max_bytes)
        try:
            yield from self._build_facts(in_edges)
            if in_edges.rows:
                yield from self._build_in_edges(in_edges)
        finally:
            in_edges.close()

    def _build_facts(self, in_edges: Spool) -> Iterator[BucketBatch]:
        pending: dict[int, EntityRows] = {}
        for part in range(PARTS):
            cells: set[tuple[str, str]] = set()  # entities and relations whose values the file sets
            for entity, *statement in self.spool.read_part(part):
                is_nameless = is_unnamed(self.labels, entity, statement[2])
                if reason := self.aside.get(entity) or "blank_node" * is_nameless:
                    self.skipped[reason] += 1
                    continue
                if self.left_out and (entity, statement[0], statement[1] or statement[2]) in self.left_out:
                    continue
                if not statement[1]:
                    statement[1] = self.labels.get(statement[2]) or words_of(statement[2]) or statement[2]
                elif not statement[2] and statement[0] not in NAME_ORDER:
                    statement[2] = self.ids_by_name.get(statement[1], "")
                if statement[2] and statement[0] not in NAME_ORDER:
                    in_edges.add((statement[2], statement[0], "", entity, ""))
                bucket = pending.setdefault(layout.bucket_of(entity, self.buckets), {})
                statements, key = bucket.setdefault(entity, {}), tuple(statement)
                if statement[ACT] == "set":
                    cells.add((entity, statement[0]))
                if (
                    entity,
                    statement[0],
                ) in cells:  # the last repetition counts; of an added statement, the first
                    statements.pop(key, None)
                statements[key] = None
            batch = BucketBatch()
            for number in range(*chunk(part, self.buckets)):
                # Empty buckets are written, too: a missing one is damage.
                self._build_bucket(number, pending.pop(number, {}), batch)
            yield batch

    def _build_in_edges(self, spool: Spool) -> Iterator[BucketBatch]:
        """Yield buckets of the facts by their objects, with the first facts of each relation of an object."""
        pending: dict[int, dict[str, dict[str, dict[InEdge, None]]]] = {}
        for part in range(PARTS):
            for entity, relation, _, subject, _ in spool.read_part(part):
                number = layout.in_edges_bucket_of(entity, self.buckets)
                by_relation = pending.setdefault(number, {}).setdefault(entity, {})
                edges = by_relation.setdefault(relation, {})
                if len(edges) < MAX_STATEMENTS:
                    edges[InEdge(relation, subject)] = None
            batch = BucketBatch()
            for number in range(*chunk(PARTS + part, self.buckets)):
                rows = {
                    entity: [
                        (edge.relation, "", edge.subject)
                        for edge in interleave(chain.from_iterable(by_relation.values()))[:MAX_STATEMENTS]
                    ]
                    for entity, by_relation in pending.pop(number, {}).items()
                }
                key = redis_keys.bucket(self.source, number)
                batch.contents.append((key, layout.encode(key, rows, {})))
            yield batch

    def _build_bucket(self, bucket: int, rows: EntityRows, batch: BucketBatch) -> None:
        first: dict[str, Sequence[Sequence[str]]] = {}
        parts: dict[str, tuple[int, int]] = {}
        for entity, row in rows.items():
            statements = _sort(row)
            label = next((s[1] for s in statements if s[0] == LABEL), "")
            is_known = self.has_entity(entity, label)
            self.new_entities += not is_known
            if not label and not is_known and (words := words_of(entity)):
                statements.insert(0, (LABEL, words, "", "default"))
            batch.names += [(s[1], entity) for s in statements if s[0] in (LABEL, ALIAS)]
            batch.triples += sum(s[0] not in NAME_ORDER for s in statements)
            first[entity] = statements[:MAX_STATEMENTS]
            if len(statements) > MAX_STATEMENTS:
                number = last = batch.parts.get(bucket, 0)
                for further in chunked(statements[MAX_STATEMENTS:], STATEMENTS_PER_PART):
                    last += 1
                    key = redis_keys.bucket(self.source, bucket, last)
                    batch.contents.append((key, layout.encode(key, {entity: further})))
                parts[entity] = number + 1, last - number
                batch.parts[bucket] = last
        batch.entities += len(rows)
        key = redis_keys.bucket(self.source, bucket)
        batch.contents.append((key, layout.encode(key, first, parts)))


def _sort(statements: Iterable[tuple[str, ...]]) -> list[Sequence[str]]:
    """Sort statements by how soon they must be read: names, then the last set one of each relation, then added ones.

    Defaults at a statement's end are left out: most statements add a text.
    """
    last_set = {s[0]: s for s in statements if s[ACT] == "set"}
    remaining = (s for s in statements if s[ACT] != "set" or last_set[s[0]] is s)
    ranking = sorted(remaining, key=lambda s: (NAME_ORDER.get(s[0], 3), s[ACT] != "set"))
    return [s if s[ACT] != "add" or s[PLAIN:] else s[:3] if s[2] else s[:2] for s in ranking]
