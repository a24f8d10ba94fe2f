"""From spooled rows to pieces: bucket by bucket, each statement once, names and counts on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from models.graph.statement import ALIAS, DESCRIPTION, LABEL
from service.graph import bucket_codec, keys
from service.graph.formats.ntriples import words_of
from service.graph.imports.spool import PARTS, Spool

ROWS_A_BUCKET = 64
MAX_BUCKETS = 1 << 22
FIRST = {LABEL: 0, DESCRIPTION: 1, ALIAS: 2}  # names stand before the facts, which may be very many

Told = dict[str, dict[tuple[str, ...], None]]
ACT = 3  # where in a statement it stands


def bucket_count(rows: int) -> int:
    """A power of two, as the parts of a spool are, so that either divides the other."""
    wanted = min(MAX_BUCKETS, max(1, rows // ROWS_A_BUCKET))
    return 1 << (wanted - 1).bit_length()


def chunk(number: int, buckets: int) -> tuple[int, int]:
    """The first bucket of a chunk, and the one behind its last: what one part of the spool completes."""
    return number * buckets // PARTS, (number + 1) * buckets // PARTS


def chunk_of(bucket: int, buckets: int) -> int:
    """Which chunk a bucket is in."""
    return -(-(bucket + 1) * PARTS // buckets) - 1


@dataclass
class Written:
    """Keys and bytes of some buckets. more: bucket -> how many further pieces it has."""

    pieces: list[tuple[str, bytes]] = field(default_factory=list)
    names: list[tuple[str, str]] = field(default_factory=list)
    more: dict[int, int] = field(default_factory=dict)
    triples: int = 0
    entities: int = 0


@dataclass
class BucketBuilder:
    """labels: of entities that are objects by id only. ids_by_name: entities that the file names, for objects that
    it named before. source: the import. has_entity: whether the graph has an entity already, by its id and its label.
    new: how many it did not have, of those written so far."""

    spool: Spool
    source: str
    buckets: int
    labels: Mapping[str, str]
    ids_by_name: Mapping[str, str]
    has_entity: Callable[[str, str], bool]
    new: int = 0

    def written(self) -> Iterator[Written]:
        """The buckets in their order, some at a time."""
        shared: dict[int, Told] = {}
        for part in range(PARTS):
            for entity, *statement in self.spool.part(part):
                if not statement[1]:
                    statement[1] = self._called(statement[2])
                elif not statement[2] and statement[0] not in FIRST:
                    statement[2] = self.ids_by_name.get(statement[1], "")
                told = shared.setdefault(bucket_codec.bucket_of(entity, self.buckets), {})
                _tell(told.setdefault(entity, {}), tuple(statement))
            first, complete = chunk(part, self.buckets)
            # Empty ones, too: a bucket that is not there is damage.
            yield self._pieces({bucket: shared.pop(bucket, {}) for bucket in range(first, complete)})

    def _called(self, entity: str) -> str:
        """An object of which only the id is known, as people call it."""
        return self.labels.get(entity) or words_of(entity) or entity

    def _pieces(self, done: Mapping[int, Told]) -> Written:
        made = Written()
        for bucket, told in done.items():
            self._bucket(bucket, told, made)
        return made

    def _bucket(self, bucket: int, told: Told, made: Written) -> None:
        first: dict[str, Sequence[Sequence[str]]] = {}
        more: dict[str, tuple[int, int]] = {}
        for entity, statements in told.items():
            ordered = list(map(_short, _ordered(statements)))
            label = next((one[1] for one in ordered if one[0] == LABEL), "")
            known = self.has_entity(entity, label)
            self.new += not known
            if not label and not known and (words := words_of(entity)):
                ordered.insert(0, (LABEL, words, "", "default"))
            made.names += [(one[1], entity) for one in ordered if one[0] in (LABEL, ALIAS)]
            made.triples += sum(one[0] not in FIRST for one in ordered)
            first[entity], rest = (
                ordered[: bucket_codec.MAX_STATEMENTS],
                ordered[bucket_codec.MAX_STATEMENTS :],
            )
            if rest:
                start = made.more.get(bucket, 0) + 1
                more[entity] = start, self._rest(bucket, start, entity, rest, made)
        made.entities += len(told)
        key = keys.piece(self.source, bucket)
        made.pieces.append((key, bucket_codec.encode(key, {"told": first, "more": more})))

    def _rest(
        self, bucket: int, start: int, entity: str, rest: Sequence[Sequence[str]], made: Written
    ) -> int:
        """How many further pieces an entity of very many facts takes."""
        size = bucket_codec.MAX_STATEMENTS * 16
        chunks = [rest[at : at + size] for at in range(0, len(rest), size)]
        for number, chunk in enumerate(chunks, start):
            key = keys.piece(self.source, bucket, number)
            made.pieces.append((key, bucket_codec.encode(key, {"told": {entity: chunk}})))
        made.more[bucket] = start + len(chunks) - 1
        return len(chunks)


def _ordered(statements: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Names, then what is set, of each relation the last, then what is added: the first ones are all that is read."""
    last = {one[0]: one for one in statements if one[ACT] == "set"}
    kept = (one for one in statements if one[ACT] != "set" or last[one[0]] is one)
    return sorted(kept, key=lambda one: (FIRST.get(one[0], 3), one[ACT] != "set"))


def _tell(told: dict[tuple[str, ...], None], statement: tuple[str, ...]) -> None:
    """Each statement once; of one that is set the last time counts, of one that is added the first."""
    if statement[ACT] == "set":
        told.pop(statement, None)
    told[statement] = None


def _short(statement: Sequence[str]) -> Sequence[str]:
    """Without what is as by default: most statements add a text."""
    relation, text, object_id, act = statement
    if act != "add":
        return statement
    return (relation, text, object_id) if object_id else (relation, text)
