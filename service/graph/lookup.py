"""What the graph says of the words of a question: link, fetch what is not at hand in one go, fold at the version.

One per process. It holds the names of every version; whether an entity bears a name at the
asked one, the entity says.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TypeAlias
from weakref import WeakKeyDictionary

from models.graph.blocks import Manifest
from models.graph.knowledge import Entity, Mention
from models.graph.statement import ALIAS, LABEL, RELATION, Statement
from models.graph.view import ActiveImport, GraphView
from models.system import Ask
from service.errors import ErrataError, LedgerCorrupt, LedgerUnavailable
from service.graph.linking.folding import fold
from service.graph.linking.linker import Linker, LinkResult
from service.graph.linking.matching import Span
from service.graph.rows import Rows

CACHED = 20_000  # entities of one view
FEW = 100  # names that are linked at once

log = logging.getLogger(__name__)

Entities: TypeAlias = dict[str, Entity | None]
Linked: TypeAlias = tuple[Ask, Sequence[Span], GraphView]


@dataclass(frozen=True)
class InformedBatch:
    """asks: with their mentions, or why they cannot be had. link_s, graph_s: for the whole batch.

    hits, misses: rows of imports that were at hand, and that had to be fetched.
    """

    asks: list[Ask | ErrataError]
    link_s: float = 0.0
    graph_s: float = 0.0
    hits: int = 0
    misses: int = 0

    @property
    def facts(self) -> list[int]:
        """How many facts each question got."""
        asked = [ask for ask in self.asks if isinstance(ask, Ask)]
        return [sum(e.degree for mention in ask.mentions for e in mention.entities) for ask in asked]


class Lookup:
    """Every view has to be prepared once before it is read."""

    def __init__(self, rows: Rows, linker: Linker | None = None) -> None:
        self._rows = rows
        self.linker = linker or Linker()
        self._known: set[str] = set()  # edits whose names are linked; "" for the base
        self._naming: set[str] = set()  # those of them that gave any
        self._damage: dict[str, str] = {}
        self._preparing = asyncio.Lock()
        self._entities: WeakKeyDictionary[GraphView, Entities] = WeakKeyDictionary()

    async def prepare(self, view: GraphView) -> None:
        """Make everything linkable that this view names. LedgerUnavailable.

        Damaged names are no reason to stop: who can take the import back has to be there for it. See `find_damage`.
        """
        async with self._preparing:
            if "" not in self._known:
                await asyncio.to_thread(self.linker.add_many, list(_names(view.base.statements)))
                self._known.add("")
            for one in view.imports:
                if one.edit not in self._known:
                    await self._link_import(one)
            await self._link_edits(view)

    def find_damage(self, view: GraphView) -> str | None:
        """What keeps names of this view from being found, in one sentence; None when nothing does."""
        return next((self._damage[one.edit] for one in view.imports if one.edit in self._damage), None)

    async def rebuild_names(self, view: GraphView) -> None:
        """All names but those of this view: what a dry run of an import has linked would stay for ever."""
        async with self._preparing:
            names = [*_names(view.base.statements)]
            for subject, pairs in view.edits.items():
                names += (name for _, said in pairs for name in _names({subject: said.statements}))
            for one in view.imports:
                async for some in self._rows.names(one.manifest):
                    names += some
            self._naming = {one.edit for one in view.imports}
            self._naming |= {said.edit for pairs in view.edits.values() for _, said in pairs}
            self._known = {"", *self._naming}
            await asyncio.to_thread(self.linker.replace, names)

    async def _link_import(self, one: ActiveImport) -> None:
        try:
            async for some in self._rows.names(one.manifest):
                await asyncio.to_thread(self.linker.add_many, some)
        except LedgerCorrupt as error:
            log.error("the names of an import cannot be linked: %s", error.detail)
            self._damage[one.edit] = error.detail
        self._known.add(one.edit)
        self._naming.add(one.edit)

    async def _link_edits(self, view: GraphView) -> None:
        fresh: list[tuple[str, str]] = []
        edits: set[str] = set()
        for subject, pairs in view.edits.items():
            for _, said in pairs:
                if said.edit not in self._known:
                    edits.add(said.edit)
                    names = list(_names({subject: said.statements}))
                    fresh += names
                    self._naming |= {said.edit} if names else set()
        if len(fresh) > FEW:
            await asyncio.to_thread(self.linker.add_many, fresh)
        elif fresh:
            self.linker.add(fresh)
        self._known |= edits

    def has_no_other_names(self, view: GraphView) -> bool:
        """Whether all names that are linked are of edits and imports that are in force at this view."""
        told = {said.edit for pairs in view.edits.values() for _, said in pairs}
        return self._naming <= told | {one.edit for one in view.imports}

    async def inform(self, asks: Sequence[Ask], views: Sequence[GraphView]) -> InformedBatch:
        """Each question with what its view says of its words."""
        started = perf_counter()
        spans = [_all(self.linker.find(ask.question)) if ask.linked else () for ask in asks]
        linked = perf_counter()
        hits, misses = self._rows.hits, self._rows.misses
        asked = list(zip(asks, spans, views, strict=True))
        try:
            informed: list[Ask | ErrataError] = list(await self._informed(asked))
        except (LedgerUnavailable, LedgerCorrupt) as error:
            informed = [await self._at_hand(one, error) for one in asked]
        hits, misses = self._rows.hits - hits, self._rows.misses - misses
        return InformedBatch(informed, linked - started, perf_counter() - linked, hits, misses)

    async def _informed(self, asked: Sequence[Linked], unread: ErrataError | None = None) -> list[Ask]:
        wanted: dict[GraphView, set[str]] = {}
        for _, spans, view in asked:
            wanted.setdefault(view, set()).update(id for span in spans for id in span.ids)
        entities = await self._of(wanted, unread)
        return [
            replace(ask, mentions=_mentions(ask.question, spans, entities[view]))
            for ask, spans, view in asked
        ]

    async def _at_hand(self, one: Linked, why: ErrataError) -> Ask | ErrataError:
        """Without reading anything: a question that needs what is not at hand fails, and no other with it."""
        try:
            return (await self._informed([one], why))[0]
        except ErrataError as error:
            return error

    async def entities(self, ids: Iterable[str], view: GraphView) -> Mapping[str, Entity | None]:
        """The entities at the view's version; None for those that it does not have."""
        return (await self._of({view: set(ids)}))[view]

    async def load_entity(self, id: str, view: GraphView) -> Entity | None:
        """With every fact, also of an entity that has so many that questions read only the first ones."""
        told = await self._told({view: {id}})
        rows = dict(told[view].get(id, {}))
        for one in view.imports:
            if one.edit in rows:
                rows[one.edit] += await self._rows.rest(one.manifest, id)
        return await asyncio.to_thread(view.entity, id, rows)

    async def import_statements(self, manifest: Manifest, id: str) -> tuple[Statement, ...]:
        """What one import says of an entity, in force or not."""
        first = (await self._rows.told([(manifest, id)]))[manifest.id, id]
        return first + await self._rows.rest(manifest, id) if first else ()

    async def entities_named(self, name: str, view: GraphView) -> list[Entity]:
        """The entities that bear this name at the view's version."""
        return (await self.entities_by_name([name], view))[name]

    async def entities_by_name(self, names: Iterable[str], view: GraphView) -> dict[str, list[Entity]]:
        """The same for many names, by one reading."""
        ids = {name: self.linker.resolve(name) for name in names}
        found = await self.entities({id for some in ids.values() for id in some}, view)
        return {
            name: [one for id in some if (one := found[id]) is not None and has_name(one, fold(name))]
            for name, some in ids.items()
        }

    async def _of(
        self, wanted: Mapping[GraphView, set[str]], unread: ErrataError | None = None
    ) -> dict[GraphView, Entities]:
        known = {view: self._entities.setdefault(view, {}) for view in wanted}
        found = {
            view: {id: known[view][id] for id in ids if id in known[view]} for view, ids in wanted.items()
        }
        missing = {view: ids - found[view].keys() for view, ids in wanted.items()}
        told = await self._told(missing, unread)
        for view, ids in missing.items():
            fresh = {id: view.entity(id, told[view].get(id, {})) for id in ids}
            if len(known[view]) > CACHED:
                known[view].clear()
            known[view] |= fresh
            found[view] |= fresh
        return found

    async def _told(
        self, wanted: Mapping[GraphView, set[str]], unread: ErrataError | None = None
    ) -> dict[GraphView, dict[str, dict[str, tuple[Statement, ...]]]]:
        """View -> entity -> import's edit -> statements, by one reading for all."""
        asked = [
            (one.manifest, id) for view, ids in wanted.items() for one in view.imports for id in sorted(ids)
        ]
        found = await self._rows.told(asked, unread) if asked else {}
        return {
            view: {
                id: {one.edit: told for one in view.imports if (told := found[one.manifest.id, id])}
                for id in ids
            }
            for view, ids in wanted.items()
        }


def _names(told: Mapping[str, Iterable[Statement]]) -> Iterable[tuple[str, str]]:
    for id, statements in told.items():
        for statement in statements if not id.startswith(RELATION) else ():
            if statement.relation in (LABEL, ALIAS) and statement.act != "remove":
                yield statement.object, id


def _all(found: LinkResult) -> list[Span]:
    """Every name that stands in the text, the longest first: which of them there are at a version is still open."""
    return sorted((*found.spans, *found.overlapped), key=lambda span: (span.start - span.end, span.start))


def _mentions(text: str, spans: Iterable[Span], entities: Entities) -> tuple[Mention, ...]:
    """In the order of the text. spans: of overlapping ones the first that names something at this version is read.

    What else is linked, of other versions and of dry runs, so changes nothing.
    """
    mentions: list[Mention] = []
    for span in spans:
        if any(span.start < one.end and one.start < span.end for one in mentions):
            continue
        name = fold(text[span.start : span.end])
        meant = [one for id in span.ids if (one := entities[id]) is not None and has_name(one, name)]
        if meant:
            mentions.append(Mention(span.start, span.end, tuple(meant)))
    return tuple(sorted(mentions, key=lambda one: one.start))


def has_name(entity: Entity, folded: str) -> bool:
    """Whether this folded name is the entity's at the version it was read at."""
    return any(fold(name) == folded for name in entity.names)
