"""The graph's facts about the words of a question: names are linked, uncached rows read by one command, and folded.

A process has one look-up. It holds the names of every version; the entity tells whether it has a name at one version.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from time import perf_counter
from typing import NamedTuple, ParamSpec, TypeAlias, TypeVar, cast
from weakref import WeakKeyDictionary, WeakSet

from cachetools import LRUCache
from more_itertools import chunked

from models.graph.blocks import Manifest
from models.graph.in_edges import InEdge
from models.graph.knowledge import Entity, Mention, WholeEntity
from models.graph.memory import GRAPH
from models.graph.neighbours import Neighbourhood, Reach
from models.graph.statement import ALIAS, LABEL, RELATION, Statement
from models.graph.view import GraphView
from models.kit.days import choose_day, find_dates
from models.system import Ask, System
from service.concurrency import finish
from service.errors import ErrataError, LedgerCorrupt, LedgerUnavailable
from service.graph.formats.ntriples import words_of
from service.graph.formats.units import UNITS
from service.graph.linking.folding import fold, name_key, search_key
from service.graph.linking.linker import Linker, Name
from service.graph.linking.search import Span
from service.graph.linking.slips import IsCommon
from service.graph.rows import IN_EDGES, Row, Rows
from service.ledger.connection import Connection

MAX_CACHED = 20_000  # entities of one view
MAX_WHOLE = 200_000  # facts of the entities of one view that are cached with all their facts
FEW_NAMES = 100  # names that are linked on the event loop; more are linked in a thread
MANY_EDITS = 10_000  # edits from which those that no view has are forgotten
# Characters of a batch's questions that are linked on the event loop; more take over a millisecond, in a thread
SHORT_CHARS = 2_000
MAX_NAMESAKES = 16  # entities of all versions that a name may mean; a text that may mean more stays a text
FEW_ENTITIES = 500  # entities that are folded on the event loop; more take some milliseconds, in a thread
LOOK_AGAIN_S = 10.0
UNIT_ID = re.compile(r"Q[1-9]\d*|[a-z]+:\S+", re.ASCII)  # units that are named by the id of an entity
NAME_ID_PREFIX = "n:"  # prefix of an id that is made from the folded name of an entity without an id

log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")
Entities: TypeAlias = dict[str, Entity | None]
EntityRows: TypeAlias = dict[str, Row]  # statements about one entity, by the edit of their import
InEdges: TypeAlias = Mapping[str, Sequence[InEdge]]  # facts that lead to an object, by its id
LinkedAsk: TypeAlias = tuple[Ask, Sequence[Span], GraphView]


class FirstFacts(NamedTuple):
    """An entity as its first rows give it, which is all that questions read."""

    entity: Entity | None
    has_more: bool  # whether there are further rows of it


@dataclass(frozen=True)
class GroundedBatch:
    asks: list[Ask | ErrataError]  # the questions, or the error of a question
    link_s: float  # seconds of finding names in the words of the batch
    read_s: float  # seconds of reading their facts
    hits: int  # rows that were cached
    misses: int  # rows that had to be read
    facts: Sequence[int]  # number of facts of each question


class Lookup:
    """Finds entities by name and by id, and adds their facts to questions."""

    memory = GRAPH

    def __init__(self, rows: Rows, linker: Linker | None = None) -> None:
        self._rows = rows
        self.linker = linker or Linker()
        self._linked_edits: set[str] = set()  # edits whose names are linked; "" for the base
        self._prune_at = MANY_EDITS
        self._naming_edits: set[str] = set()  # linked edits that gave a name
        self._views: WeakSet[GraphView] = WeakSet()  # views in use whose names are linked
        self._damage: dict[str, str] = {}
        self._preparing = asyncio.Lock()
        self._cache: WeakKeyDictionary[GraphView, LRUCache[str, FirstFacts]] = WeakKeyDictionary()
        self._whole: WeakKeyDictionary[GraphView, LRUCache[str, WholeEntity | None]] = WeakKeyDictionary()

    async def prepare(self, view: GraphView) -> None:
        """Link every name of this view. Damaged names do not stop this: see `find_damage`.

        Raises:
            LedgerUnavailable: The names of an import cannot be read.
        """
        async with self._preparing:
            self._views.add(view)
            if "" not in self._linked_edits:
                await asyncio.to_thread(self.linker.add_many, list(_names_in(view.base.statements)))
                self._linked_edits.add("")
            for active in view.imports:
                if active.edit in self._linked_edits:
                    continue
                self._naming_edits.add(active.edit)
                try:
                    async for names in self._rows.names(active.manifest):
                        await asyncio.to_thread(self.linker.add_many, names)
                    self._damage.pop(active.edit, None)
                except LedgerCorrupt as error:
                    log.error("the names of an import cannot be linked: %s", error.detail)
                    self._damage[active.edit] = error.detail
                self._linked_edits.add(active.edit)
            await self._link_edits(view)

    async def watch_damage(self, newest: Callable[[], GraphView | None]) -> None:
        """Read damaged names again every few seconds, for ever; a restore may have repaired them."""
        while True:
            await asyncio.sleep(LOOK_AGAIN_S)
            view = newest()
            if view is None or self.find_damage(view) is None:
                continue
            self._linked_edits -= self._damage.keys()
            with suppress(LedgerUnavailable):
                await self.prepare(view)

    def find_damage(self, view: GraphView) -> str | None:
        """Return a sentence on names of this view that cannot be found; None if all can."""
        return next((self._damage[i.edit] for i in view.imports if i.edit in self._damage), None)

    async def drop_names(self, edit: str) -> None:
        """Drop the names that only this import gave; those of its dry run would otherwise stay for ever.

        Every view in use keeps its names, also that of a commit which is not appended yet.
        """
        async with self._preparing:
            fresh = Lookup(self._rows)
            for view in list(self._views):
                if all(active.edit != edit for active in view.imports):
                    await fresh.prepare(view)
            self._linked_edits, self._damage = fresh._linked_edits, fresh._damage
            await finish(asyncio.to_thread(self.linker.replace, fresh.linker))
            self._naming_edits = fresh._naming_edits

    async def list_ids(self, manifest: Manifest) -> set[str]:
        return {id async for names in self._rows.names(manifest) for _, id in names}

    async def _link_edits(self, view: GraphView) -> None:
        fresh: list[tuple[str, str]] = []
        edits: set[str] = set()
        for subject, pairs in view.edits.items():
            for _, source in pairs:
                if source.edit not in self._linked_edits:
                    edits.add(source.edit)
                    names = list(_names_in({subject: source.statements}))
                    fresh += names
                    self._naming_edits |= {source.edit} if names else set()
        if len(fresh) > FEW_NAMES:
            await asyncio.to_thread(self.linker.add_many, fresh)
        elif fresh:
            self.linker.add(fresh)
        self._linked_edits |= edits
        if (
            len(self._linked_edits) > self._prune_at
        ):  # names of trials and of edits that are gone may be linked again
            self._linked_edits &= {"", *(edit for view in self._views for edit in _edits_of(view))}
            self._prune_at = MANY_EDITS + 2 * len(self._linked_edits)

    def has_no_other_names(self, view: GraphView) -> bool:
        """Return whether all names that are linked come from edits and imports that are active at this view."""
        return self._naming_edits <= _edits_of(view)

    async def retrieve_facts(
        self, asks: Sequence[Ask], views: Sequence[GraphView], reach: Reach | None = None
    ) -> GroundedBatch:
        """Return each question with the facts of its view about its words.

        Args:
            reach: How far the system reads around the entities of a question; None for these alone.
        """
        start = perf_counter()
        spans = await _run(sum(len(ask.question) for ask in asks) <= SHORT_CHARS, self._link, asks)
        linked_at = perf_counter()
        hits, misses = self._rows.hits, self._rows.misses
        linked_asks = list(zip(asks, spans, views, strict=True))
        try:
            results: list[Ask | ErrataError] = list(await self._add_entities(linked_asks, reach))
        except (LedgerUnavailable, LedgerCorrupt) as error:
            # Only the questions that need uncached rows fail.
            results = []
            for linked_ask in linked_asks:
                try:
                    results += await self._add_entities([linked_ask], reach, error)
                except ErrataError as cause:
                    results.append(cause)
        hits, misses = self._rows.hits - hits, self._rows.misses - misses
        entities = [(*_starts(ask), *ask.neighbours) for ask in results if isinstance(ask, Ask)]
        facts = [sum(entity.degree for entity in of_ask) for of_ask in entities]
        return GroundedBatch(results, linked_at - start, perf_counter() - linked_at, hits, misses, facts)

    def _link(self, asks: Sequence[Ask]) -> list[Sequence[Span]]:
        return [self.linker.find(ask.question) if ask.use_graph else () for ask in asks]

    async def _add_entities(
        self, linked_asks: Sequence[LinkedAsk], reach: Reach | None, unavailable: ErrataError | None = None
    ) -> list[Ask]:
        ids: dict[GraphView, set[str]] = {}
        for _, spans, view in linked_asks:
            ids.setdefault(view, set()).update(id for span in spans for id in span.ids)
        entities = _entities_in(await self._load(ids, unavailable))
        asks = [
            replace(ask, mentions=_mentions(ask.question, spans, entities[view], _day_of(ask)))
            for ask, spans, view in linked_asks
        ]
        if reach is None:
            return asks
        return await self._add_neighbours(asks, [view for _, _, view in linked_asks], reach, unavailable)

    async def _add_neighbours(
        self, asks: Sequence[Ask], views: Sequence[GraphView], reach: Reach, unavailable: ErrataError | None
    ) -> list[Ask]:
        """Add the entities around those of the questions; each hop of all questions is one reading."""
        starts = [{entity.id: entity for entity in _starts(ask)} for ask in asks]
        areas = [Neighbourhood(entities, reach) for entities in starts]
        in_edges = await self._load_in_edges(_frontiers(areas, views), unavailable) if reach.fan_in else {}
        for area, entities, view in zip(areas, starts, views, strict=True):
            area.advance(entities, in_edges.get(view))
        while any(area.frontier for area in areas):
            ids = _frontiers(areas, views)
            in_edges = await self._load_in_edges(ids, unavailable) if reach.fan_in else {}
            entities_by_view = _entities_in(await self._load(ids, unavailable))
            for area, view in zip(areas, views, strict=True):
                area.advance(entities_by_view[view], in_edges.get(view))
        return [
            replace(
                ask,
                neighbours=tuple(e.at(_day_of(ask)) for id, e in area.entities.items() if id not in entities),
            )
            for ask, area, entities in zip(asks, areas, starts, strict=True)
        ]

    async def entities(self, ids: Iterable[str], view: GraphView) -> Mapping[str, WholeEntity | None]:
        """Return entities at the view's version with every fact; None for those that it does not have."""
        first = (await self._load({view: set(ids)}))[view]
        return {
            id: await self._load_whole(id, view) if has_more else cast(WholeEntity | None, entity)
            for id, (entity, has_more) in first.items()
        }

    async def load_entity(self, id: str, view: GraphView) -> WholeEntity | None:
        return (await self.entities([id], view))[id]

    async def _load_whole(self, id: str, view: GraphView) -> WholeEntity | None:
        """Read an entity that has so many facts that questions read only the first ones."""
        cache = self._whole.setdefault(view, LRUCache(MAX_WHOLE, getsizeof=lambda e: e.degree if e else 1))
        if id in cache:
            return cache[id]
        rows = {i.edit: await self._rows.all_statements(i.manifest, id) for i in view.imports}
        entities = {view: {id: await asyncio.to_thread(view.entity, id, rows)}}
        with_names = await self._name_objects(entities, None)
        entity = cast(WholeEntity | None, (await self._link_objects(with_names, None))[view][id])
        with suppress(ValueError):  # it is larger than the cache
            cache[id] = entity
        return entity

    async def import_statements(self, manifest: Manifest, id: str) -> tuple[Statement, ...]:
        return await self._rows.all_statements(manifest, id)

    async def entities_named(self, name: str, view: GraphView) -> list[Entity]:
        return (await self.entities_by_name([name], view))[name]

    async def entities_by_name(self, names: Iterable[str], view: GraphView) -> dict[str, list[Entity]]:
        """Return the entities that each of many names means, by one reading, as `find_bearers` does."""
        pairs = {name: [(name, id) for id in self.linker.find_alike(name)] for name in names}
        bearers = await self.find_bearers((pair for of_name in pairs.values() for pair in of_name), view)
        return {
            name: choose_bearers(name, [bearers[pair] for pair in of_name if pair in bearers])
            for name, of_name in pairs.items()
        }

    async def find_bearers(self, names: Iterable[Name], view: GraphView) -> dict[Name, Entity]:
        """Return by name and id the entities that have the name, perhaps without some of their facts."""
        names = list(names)
        first = (await self._load({view: {id for _, id in names}}))[view]
        bearers: dict[Name, Entity] = {}
        for name, id in names:
            entity, has_more = first[id]
            if has_more and not (entity and has_name(entity, name)):
                entity = await self._load_whole(id, view)
            if entity and has_name(entity, name):
                bearers[name, id] = entity
        return bearers

    async def find_misspelt(self, text: str, view: GraphView, is_common: IsCommon) -> dict[str, list[str]]:
        """Return the stretches of a text that no name of the view has, with the names of one slip less."""
        slips = self.linker.find_slips(text, is_common)
        bearers = await self.entities_by_name({slip.name for slip in slips}, view)
        names: dict[str, list[str]] = defaultdict(list)
        for slip in slips:
            names[text[slip.start : slip.end]] += (
                name
                for entity in bearers[slip.name]
                for name in entity.names
                if search_key(name) == slip.name
            )
        return {stretch: list(dict.fromkeys(similar)) for stretch, similar in names.items() if similar}

    async def _load(
        self, ids: Mapping[GraphView, set[str]], unavailable: ErrataError | None = None
    ) -> dict[GraphView, dict[str, FirstFacts]]:
        entities: dict[GraphView, dict[str, FirstFacts]] = {}
        missing: dict[GraphView, set[str]] = {}
        for view, view_ids in ids.items():
            cache = self._cache.setdefault(view, LRUCache(MAX_CACHED))
            entities[view] = {id: cache[id] for id in view_ids if id in cache}
            missing[view] = view_ids - entities[view].keys()
            self._rows.hits += len(entities[view]) * len(view.imports)  # rows behind the cached entities
        if not any(missing.values()):
            return entities
        fresh = await self._fold(missing, unavailable)
        with_names = await self._name_objects(_entities_in(fresh), unavailable)
        for view, of_view in (await self._link_objects(with_names, unavailable)).items():
            firsts = {id: FirstFacts(entity, fresh[view][id].has_more) for id, entity in of_view.items()}
            self._cache[view].update(firsts)
            entities[view] |= firsts
        return entities

    async def _fold(
        self, ids: Mapping[GraphView, set[str]], unavailable: ErrataError | None
    ) -> dict[GraphView, dict[str, FirstFacts]]:
        rows = await self._read_rows(ids, unavailable)
        return await _run(sum(map(len, ids.values())) <= FEW_ENTITIES, _fold_entities, rows)

    async def _name_objects(
        self, entities: dict[GraphView, Entities], unavailable: ErrataError | None
    ) -> dict[GraphView, Entities]:
        """Return entities whose objects are called by the labels that they have at their view.

        No row changes for a label that another import or an edit gives: it is read, and it goes with that.
        """
        results = dict(entities)
        for view, of_view in entities.items():
            objects = {id: _find_objects(entity, view) for id, entity in of_view.items() if entity}
            if ids := {object_id for of_entity in objects.values() for object_id in of_entity}:
                labels = await self.labels(ids, view, unavailable)
                labels |= {id: UNITS[id] for id in labels.keys() & UNITS.keys() if not labels[id]}
                results[view] = {
                    id: entity.with_names(labels, is_identifier) if entity and objects[id] else entity
                    for id, entity in of_view.items()
                }
        return results

    async def labels(
        self, ids: Iterable[str], view: GraphView, unavailable: ErrataError | None = None
    ) -> dict[str, str]:
        """Return the label of each id at the view's version; "" where none is known but words of the id itself."""
        labels: dict[str, str] = {}
        for batch in chunked(ids, FEW_ENTITIES):
            rows = (await self._read_rows({view: set(batch)}, unavailable))[view]
            for id in batch:
                # by an import, for want of a label
                made_label = Statement(LABEL, words_of(id), "", "default")
                names = {
                    edit: tuple(s for s in row.statements if s != made_label)
                    for edit, row in rows[id].items()
                }
                labels[id] = view.label_of(id, names)
        return labels

    async def is_object(self, id: str, view: GraphView) -> bool:
        """Return whether a fact may speak of this id, though nothing is said about it."""
        return bool((await self._load_in_edges({view: {id}}))[view][id])

    async def _link_objects(
        self, entities: dict[GraphView, Entities], unavailable: ErrataError | None
    ) -> dict[GraphView, Entities]:
        """Return entities whose objects are taken for entities: each text that is the name of exactly one of its view.

        So a fact leads on to its object, whichever of the two was written first, and is a text again when the entity
        is taken back.
        """
        is_small = sum(map(len, entities.values())) <= FEW_ENTITIES
        namesakes = await _run(is_small, self._find_namesakes, entities)
        if not namesakes:
            return entities
        wanted_ids = {
            view: {id for ids in by_text.values() for id in ids} for view, by_text in namesakes.items()
        }
        bearers = _entities_in(await self._fold(wanted_ids, unavailable))
        results = dict(entities)
        for view, by_text in namesakes.items():
            bearers_by_text = {
                text: [
                    bearer
                    for bearer in _bearers(text, ids, bearers[view])
                    if has_name(bearer, text, name_key)
                ]
                for text, ids in by_text.items()
            }
            only_ids = {text: only[0].id for text, only in bearers_by_text.items() if len(only) == 1}
            results[view] = {
                id: entity and entity.with_links(only_ids, view.new_labels)
                for id, entity in entities[view].items()
            }
        return results

    def _find_namesakes(
        self, entities: Mapping[GraphView, Entities]
    ) -> dict[GraphView, dict[str, tuple[str, ...]]]:
        """Return the texts of objects that may be names of entities, with their ids; views without any are left out."""
        namesakes: dict[GraphView, dict[str, tuple[str, ...]]] = {}
        for view, of_view in entities.items():
            texts = {fact.object for e in of_view.values() if e for fact in e.facts if not fact.object_id}
            by_text = {
                text: ids for text in texts if 0 < len(ids := self.linker.resolve(text)) <= MAX_NAMESAKES
            }
            if by_text:
                namesakes[view] = by_text
        return namesakes

    async def _load_in_edges(
        self, ids: Mapping[GraphView, set[str]], unavailable: ErrataError | None = None
    ) -> dict[GraphView, InEdges]:
        """Return the facts that lead to entities; the rows of the entities are read with them, so they are cached."""
        wanted_ids = {view: {*of_view, *(IN_EDGES + id for id in of_view)} for view, of_view in ids.items()}
        rows = await self._read_rows(wanted_ids, unavailable)
        return {
            view: {
                id: view.in_edges(id, (row.statements for row in rows[view][IN_EDGES + id].values()))
                for id in of_view
            }
            for view, of_view in ids.items()
        }

    async def _read_rows(
        self, ids: Mapping[GraphView, set[str]], unavailable: ErrataError | None = None
    ) -> dict[GraphView, dict[str, EntityRows]]:
        """Return the first statements of imports by view, entity and import's edit, in one reading."""
        requests = [
            (active.manifest, id)
            for view, view_ids in ids.items()
            for active in view.imports
            for id in sorted(view_ids)
        ]
        rows = await self._rows.statements(requests, unavailable) if requests else {}
        return {
            view: {
                id: {i.edit: row for i in view.imports if (row := rows[i.manifest.id, id]).statements}
                for id in view_ids
            }
            for view, view_ids in ids.items()
        }


async def _run(is_small: bool, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run small work on the event loop, and other work in a thread."""
    return work(*args, **kwargs) if is_small else await asyncio.to_thread(work, *args, **kwargs)


def _find_objects(entity: Entity, view: GraphView) -> set[str]:
    """Return the objects of an entity whose labels have to be read.

    They are those that are called by their identifiers, and those of facts that are older than names which came later.
    """
    places = view.places(entity.id) if view.newest_names >= 0 else {}
    units = (
        {fact.unit for fact in entity.facts if UNIT_ID.fullmatch(fact.unit)} if entity.has_periods else set()
    )
    return units | {
        fact.object_id
        for fact in entity.facts
        if fact.object_id
        and (
            places.get(fact.edit, -1) < view.newest_names
            or (fact.edit and is_identifier(fact.object, fact.object_id))
        )
    }


def is_identifier(text: str, id: str) -> bool:
    """Return whether a text is only the identifier of an id. An id that is made from a name has none."""
    return not id.startswith(NAME_ID_PREFIX) and text in (id, words_of(id))


def _fold_entities(
    rows: Mapping[GraphView, Mapping[str, EntityRows]],
) -> dict[GraphView, dict[str, FirstFacts]]:
    """Return the entities of each view from its base, its edits and these rows of imports."""
    return {
        view: {
            id: FirstFacts(
                view.entity(id, {edit: row.statements for edit, row in of_entity.items()}),
                any(row.has_more for row in of_entity.values()),
            )
            for id, of_entity in by_entity.items()
        }
        for view, by_entity in rows.items()
    }


def _entities_in(entities: Mapping[GraphView, Mapping[str, FirstFacts]]) -> dict[GraphView, Entities]:
    return {view: {id: first.entity for id, first in of_view.items()} for view, of_view in entities.items()}


def _frontiers(areas: Sequence[Neighbourhood], views: Sequence[GraphView]) -> dict[GraphView, set[str]]:
    """Return the ids of the entities that neighbourhoods need next, by the view that they belong to."""
    ids: dict[GraphView, set[str]] = {}
    for area, view in zip(areas, views, strict=True):
        ids.setdefault(view, set()).update(area.frontier)
    return ids


def _starts(ask: Ask) -> list[Entity]:
    """Return the entities that the words of a question may mean."""
    return [entity for mention in ask.mentions for entity in mention.entities]


def _edits_of(view: GraphView) -> set[str]:
    """Return the edits and imports that are active at a view and write the graph."""
    edits = {source.edit for pairs in view.edits.values() for _, source in pairs}
    return edits | {active.edit for active in view.imports}


def _names_in(statements: Mapping[str, Iterable[Statement]]) -> Iterator[tuple[str, str]]:
    """Yield the names that these statements give, with their entities."""
    for id, about_entity in statements.items():
        for statement in about_entity if not id.startswith(RELATION) else ():
            if statement.relation in (LABEL, ALIAS) and statement.act != "remove":
                yield statement.object, id


def _day_of(ask: Ask) -> str:
    return ask.as_of or date.today().isoformat()


def _mentions(text: str, spans: Iterable[Span], entities: Entities, as_of: str) -> tuple[Mention, ...]:
    """Return the mentions in the order of the text, with the facts that are current on a day.

    A day that the text names besides the mention counts before `as_of`.

    Args:
        spans: Names in it, the longest first. A name of other versions or of a dry run is skipped; among names that
            overlap the first is read.
    """
    mentions: list[Mention] = []
    dates, is_taken = find_dates(text), bytearray(len(text))
    for span in spans:
        if any(is_taken[span.start : span.end]):
            continue
        bearers = _bearers(text[span.start : span.end], span.ids, entities)
        if bearers:
            is_taken[span.start : span.end] = b"\1" * (span.end - span.start)
            day = (
                choose_day(date for date in dates if date.end <= span.start or span.end <= date.start)
                or as_of
            )
            mentions.append(Mention(span.start, span.end, tuple(entity.at(day) for entity in bearers)))
    return tuple(sorted(mentions, key=lambda mention: mention.start))


def _bearers(name: str, ids: Iterable[str], entities: Mapping[str, Entity | None]) -> list[Entity]:
    """Return those of the entities with these ids that the name means."""
    return choose_bearers(name, [e for id in ids if (e := entities[id]) is not None and has_name(e, name)])


def choose_bearers(name: str, bearers: list[Entity]) -> list[Entity]:
    """Return the entities whose name is written most like this one: with its dashes, with its accents, or at all."""
    spellings = (fold, name_key) if len(bearers) > 1 else ()
    choices = ([entity for entity in bearers if has_name(entity, name, key)] for key in spellings)
    return next(filter(None, choices), bearers)


def has_name(entity: Entity, name: str, key: Callable[[str], str] = search_key) -> bool:
    """Return whether one of the entity's names at its version has the same key as this name."""
    return key(name) in map(key, entity.names)


def find_informer(systems: Iterable[System], connection: Connection) -> Lookup | None:
    """Return the look-up that adds the graph to questions; None if none of the systems reads it."""
    reads_graph = any(Lookup.memory in system.memories for system in systems)
    return Lookup(Rows(connection)) if reads_graph else None
