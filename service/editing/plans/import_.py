"""Imports: a file streams in, is read and spooled beside the work, and becomes one commit, or nothing.

Until the last byte nothing is in Redis; until the commit nothing of it is seen.
A session that nobody feeds is given up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from time import monotonic
from typing import Any

from errata.wire import ImportOrder
from service.editing.edit import NO_GRAPH, digest
from service.editing.session import Session, among
from service.editing.systems import Systems
from service.editing.writer import Order, Writer, Written
from service.measuring.draft import Draft
from service.measuring.materials import key
from service.measuring.present import Present
from service.measuring.reading import Reading
from service.measuring.stopwatch import Stopwatch

from models.graph.blocks import Manifest, manifest_block
from models.graph.memory import GRAPH
from models.memory import Material
from service.errors import (
    GraphMoved,
    InvalidInput,
    LedgerUnavailable,
    NotFound,
    StaleVersion,
    TooMany,
    UnknownModel,
)
from service.graph.formats.reader import GraphFileReader
from service.graph.formats.row import GraphFileError
from service.graph.imports.bucket_builder import BucketBuilder, bucket_count
from service.graph.imports.row_resolver import RowResolver
from service.graph.imports.store import ImportStore
from service.ledger.commit import IMPORT, EditRecord, Kind, edit_order, new_edit_id
from service.ledger.fold import Change

MOST = 2  # at a time: each has a spool on the disk
IDLE_S = 120.0
GRAPH_ALONE = (
    "an import fills the graph alone: {} goes on answering as before; `errata fact` corrects a fact for all"
)


class Importing:
    """The plan of an import, once its rows are written."""

    kind: Kind = "edit"

    def __init__(
        self,
        session: Session,
        manifest: Manifest,
        counts: Mapping[str, Any],
        model: str,
        others: Sequence[str],
    ) -> None:
        self.message = session.order.message or f"import {session.order.source}".strip()
        asked = session.order.model_dump(mode="json", include={"format", "language", "source", "message"})
        self.request = digest("edit", {"import": session.content.hexdigest(), **asked})
        self._session, self._manifest, self._counts, self._model = session, manifest, counts, model
        self._others = others

    async def draft(self, present: Present, watch: Stopwatch) -> Draft:
        refuse_if_moved(self._session, present)
        place = edit_order(present.version + 1, 0)
        block = manifest_block(key(self._session.id), place, self._manifest)
        record = EditRecord(
            id=self._session.id,
            model=self._model,
            memory=GRAPH,
            question="",
            answer="",
            paraphrases=(),
            method=IMPORT,
            material=block.digest,
            order=place,
            notes={
                **self._counts,
                "warnings": [GRAPH_ALONE.format(" and ".join(self._others))] if self._others else [],
            },
        )
        material = Material(self._session.id, IMPORT, block)
        return Draft(Change((record.id,), ()), None, (record,), (material,))

    async def stands(self, draft: Draft, after: Mapping[str, Reading]) -> bool:
        return True


def refuse_if_moved(session: Session, present: Present) -> None:
    """GraphMoved when the graph was written since: names were resolved on what it was."""
    later = present.commits[session.version :]
    if any(GRAPH in commit.writes for commit in later):
        raise GraphMoved(
            f"the graph was changed in version {present.version} while the file was read on version "
            f"{session.version}: nothing was imported; send it again",
            current=present.version,
            expected=session.version,
        )


class Importer:
    """All imports of the one writer."""

    def __init__(self, writer: Writer, systems: Systems, imports: ImportStore) -> None:
        self._writer, self._systems, self._imports = writer, systems, imports
        self._sessions: dict[str, Session] = {}

    async def begin(self, order: ImportOrder, author: str, repetition: str | None = None) -> Session:
        """repetition: the Idempotency-Key; a file that is sent again with it is answered with its first result."""
        if not self._systems.on_graph:
            raise UnknownModel(NO_GRAPH, models=list(self._systems.names))
        await self._give_up_idle()
        self._refuse_too_many()
        present = await self._writer.undisturbed()
        repeated = repetition is not None and await self._writer.remembers(repetition)
        if not repeated and order.expected_version not in (None, present.version):
            raise StaleVersion.at(current=present.version, expected=order.expected_version)
        await self._imports.sweep(self._sessions)
        self._refuse_too_many()  # others may have begun meanwhile
        view = present.readings[self._systems.on_graph[0]].view
        lookup = self._systems.lookup
        trusted = lookup.has_no_other_names(view)
        intake = RowResolver(view, lookup.linker, among(lookup, view), trusted)
        reading = GraphFileReader(order.format, order.language)
        session = Session(new_edit_id(), order, author, repetition, present.version, view, intake, reading)
        self._sessions[session.id] = session
        return session

    def _refuse_too_many(self) -> None:
        if len(self._sessions) >= MOST:
            raise TooMany(f"{len(self._sessions)} imports are under way: wait until one is done")

    async def feed(self, id: str, data: bytes) -> dict[str, Any]:
        """InvalidInput when the file cannot be read at all; the session is then over."""
        async with self._of(id).turn:
            session = self._of(id)  # it may have been given up meanwhile
            try:
                if self._writer.present is not None:
                    refuse_if_moved(session, self._writer.present)
                session.content.update(data)
                await _whole(session.take, session.reading.feed(data))
            except GraphFileError as error:
                raise self._unreadable(session, error) from error
            session.fed = monotonic()
            session.bytes += len(data)
            session.done = session.bytes
            return session.progress()

    async def finish(self, id: str, watch: Stopwatch) -> Written:
        """The commit, with the wire's ImportCounts. What no commit names is dropped, now or by the next import."""
        async with self._of(id).turn:
            session = self._of(id)
            try:
                return await self._finished(session, watch)
            except GraphFileError as error:
                raise self._unreadable(session, error) from error
            finally:
                session.intake.spool.close()
                self._sessions.pop(id, None)

    async def _finished(self, session: Session, watch: Stopwatch) -> Written:
        await _whole(session.take, session.reading.finish())
        counts, spool = session.intake.counts, session.intake.spool
        if not spool.rows:
            detail = f"none of {session.reading.lines:,} lines can be used"
            reasons = "; ".join(f"line {one['line']}: {one['reason']}" for one in counts.listed[:3])
            raise InvalidInput(f"{detail}: {reasons or 'the file is empty'}", field="body")
        refuse_if_moved(session, await self._writer.newest())
        session.phase, session.done, session.total = "writing", 0, counts.triples
        intake = session.intake
        buckets = bucket_count(spool.rows)
        bucketing = BucketBuilder(
            spool, session.id, buckets, intake.labels, intake.ids_by_name, intake.has_entity
        )
        try:
            with watch.part("editor"):
                manifest = await self._imports.write(
                    bucketing, session.intake.relations, lambda done: setattr(session, "done", done)
                )
            session.phase, session.done, session.total = "committing", 0, None
            told = session.counts(manifest, bucketing.new)
            systems = self._systems
            plan = Importing(session, manifest, told, systems.on_graph[0], systems.corrected)
            asked = session.order
            order = Order(
                session.author, asked.expected_version, asked.dry_run, asked.strict, session.repetition
            )
            written = await self._writer.write(plan, order, watch)
        except BaseException:
            await self._drop(session)
            raise
        made = written.commit.edits[0] if written.commit else None
        if made is None or made.id != session.id:
            await self._drop(session)
            await self._systems.lookup.rebuild_names(session.view)
        session.phase = "replicas"
        return replace(
            written,
            more={
                "counts": {name: made.notes.get(name, own) for name, own in told.items()} if made else told
            },
        )

    async def _drop(self, session: Session) -> None:
        """Unless a commit names it. What cannot be dropped now is swept away before the next import."""
        with suppress(LedgerUnavailable):
            await asyncio.shield(self._imports.drop(session.id))

    async def damage(self, present: Present) -> list[str]:
        """What is wrong with the rows of the imports in force."""
        views = [present.readings[model].view for model in self._systems.on_graph[:1]]
        found = [await self._imports.find_damage(one.manifest) for view in views for one in view.imports]
        return [one for one in found if one is not None]

    def progress(self, id: str) -> dict[str, Any]:
        return self._of(id).progress()

    async def abandon(self, id: str) -> None:
        """The sender is gone. Of an import that is being committed this says nothing."""
        session = self._sessions.get(id)
        if session is not None and session.phase == "reading":
            self._sessions.pop(id, None)
            async with session.turn:
                session.intake.spool.close()

    def _of(self, id: str) -> Session:
        if id not in self._sessions:
            raise NotFound(
                f"the import {id} was given up, or the editor was started again: send the file again"
            )
        return self._sessions[id]

    def _unreadable(self, session: Session, error: GraphFileError) -> InvalidInput:
        """Within its turn: the session is over."""
        self._sessions.pop(session.id, None)
        session.intake.spool.close()
        return InvalidInput(f"the file cannot be imported: {error}", field="body")

    async def _give_up_idle(self) -> None:
        now = monotonic()
        for session in list(self._sessions.values()):
            if session.phase == "reading" and now - session.fed > IDLE_S:
                await self.abandon(session.id)


async def _whole(work: Callable[..., None], *arguments: Any) -> None:
    """In a thread, to its end also where the caller is gone: what it works on is closed after that."""
    task = asyncio.ensure_future(asyncio.to_thread(work, *arguments))
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise
