"""Imports: a file is kept on the disk, read and spooled when it is whole, and becomes one commit, or nothing.

Nothing is in Redis until the last byte, and nothing of it is visible until the commit. An idle session is closed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from tempfile import TemporaryFile
from time import monotonic
from typing import Any, BinaryIO

from errata.wire import ImportOrder, ImportProgress
from more_itertools import chunked

from models.blocks import block_key
from models.graph.blocks import Manifest, manifest_block
from models.graph.knowledge import Entity
from models.graph.view import GraphView
from models.memory import Material
from service.concurrency import finish
from service.editing.draft import Build, Draft, EditorState, one_line, request_digest
from service.editing.figures import Timings
from service.editing.models import Models
from service.editing.notes import ImportNote, dump_note, read_note
from service.editing.pipeline import Pipeline, Result, WriteOptions
from service.editing.plans.facts import name_answering
from service.editing.plans.import_conflicts import ImportConflicts, examine
from service.editing.state_builder import StateBuilder
from service.errors import (
    GraphMoved,
    InvalidInput,
    LedgerUnavailable,
    NotFound,
    NothingToDo,
    StaleVersion,
    TooLarge,
    TooMany,
    TooSlow,
)
from service.graph.formats.reader import GraphFileReader
from service.graph.formats.row import GraphFileError
from service.graph.imports.bucket_builder import BucketBuilder, bucket_count
from service.graph.imports.row_resolver import RowResolver
from service.graph.imports.spool import ImportLimits
from service.graph.imports.store import ImportStore
from service.graph.linking.folding import name_key
from service.graph.lookup import has_name
from service.ledger.commit import IMPORT, EditRecord, Kind, edit_order, new_edit_id
from service.ledger.fold import Change

MAX_SESSIONS = 2  # sessions at a time; each has a file and a spool on the disk
IDLE_S = 120.0
# Bytes a second that a sender must keep up after the first minute: others wait for its slot
LEAST_BYTES_PER_S = 1_000
GRACE_S = 60.0
WATCH_EVERY_S = 10.0
ROWS_PER_LOOKUP = 10_000
UNREAD = (
    "nothing reads the columns {}: what they hold is left out; the columns beside subject, relation and object are "
    "those with _id and _label after these names, from, to, time, unit, rank and source"
)
GRAPH_ALONE = "{} from this import, and {} as before: a corrected fact or answer is so for all"

SAME = "things of the file that are things of the graph, by sameAs or exactMatch: {:,}"
NOT_SAME = (
    "things of the file whose entity of Wikidata, by sameAs or exactMatch, the graph lacks: {:,}; to join them, take "
    "this import back, import these entities, and send the file again"
)
NAMELESS_RELATIONS = (
    "no name is known of the relations {}, so that no question asks for their facts: import their labels, too, or give "
    "each a name (errata relation ID --label NAME)"
)
NEW_RELATIONS = (
    "new relations, as columns are called: {}; if the graph calls one otherwise, take the import back and name it "
    "with `column`"
)


@dataclass
class ImportSession:
    """One file on its way into the graph: on the disk, then read, spooled and counted, and not yet in Redis."""

    id: str
    order: ImportOrder
    author: str
    idempotency_key: str | None
    version: int  # version on which names are resolved
    memory: str  # name of the memory of facts
    view: GraphView  # that memory at the version
    resolver: RowResolver
    reader: GraphFileReader
    created_at: float = field(default_factory=monotonic)
    last_feed_at: float = field(default_factory=monotonic)
    n_bytes: int = 0
    phase: str = "reading"
    progress_count: int = 0  # progress of the phase, in its own unit
    total: int | None = None  # end of the phase, in this unit
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    content: Any = field(default_factory=sha256)
    file: BinaryIO = field(default_factory=TemporaryFile)
    is_whole: bool = False

    def keep(self, data: bytes) -> None:
        self.file.write(data)
        self.content.update(data)

    def read(self) -> None:
        """Read the file in batches of rows, whose names are looked up together, and give its disk back."""
        self.reader.scope = self.content.hexdigest()[:12]
        for batch in chunked(self.reader.read(self.file), ROWS_PER_LOOKUP):
            self.resolver.objects_by_name = self.reader.format in ("tsv", "csv", "xlsx")
            self.resolver.prefetch(batch)
            for row in batch:
                self.resolver.add(row)
        self.file.close()

    def build(self, respect: ImportConflicts) -> BucketBuilder:
        """Return the builder of the rows, without those that are left out."""
        resolver = self.resolver
        return BucketBuilder(
            resolver.spool,
            self.id,
            bucket_count(resolver.spool.rows),
            resolver.labels,
            resolver.ids_by_name,
            resolver.has_entity,
            respect.left_out,
            resolver.has_names,
            resolver.aside,
            resolver.counts.skipped,
        )

    def start_phase(self, name: str, total: int | None = None) -> None:
        self.phase, self.progress_count, self.total = name, 0, total

    def progress(self) -> ImportProgress:
        counts = self.resolver.counts
        return ImportProgress(
            phase=self.phase,
            done=self.progress_count,
            total=self.total,
            lines=self.reader.lines,
            triples=counts.triples,
            rejected=counts.rejections.total(),
        )

    def note(
        self, manifest: Manifest, n_new_entities: int, warnings: Sequence[str], respect: ImportConflicts
    ) -> ImportNote:
        counts = self.resolver.counts
        return ImportNote(
            self.reader.format or "tsv",
            self.reader.lines,
            manifest.triples,
            manifest.entities,
            n_new_entities,
            counts.rejections.total(),
            dict(counts.rejections),
            dict(counts.skipped + self.reader.skipped),
            list(counts.rejected_lines),
            round(monotonic() - self.created_at, 3),
            self.order.source,
            [*respect.warnings(), *warnings],
            respect.n_replaced,
            respect.n_by_hand,
            [triple.model_dump(mode="json", exclude_defaults=True) for triple in respect.rows],
        )

    def warnings(self, readers: Sequence[str], other_models: Sequence[str]) -> list[str]:
        """Return sentences on the systems that do not read the graph, and on columns that are new relations."""
        names = name_answering(readers), name_answering(other_models)
        warnings = [GRAPH_ALONE.format(*names)] if other_models else []
        warnings += [UNREAD.format(one_line(self.reader.unread))] if self.reader.unread else []
        new_relations = self.resolver.new_relations if self.order.subject else ()
        n_joined = self.resolver.n_joined
        counts = {SAME: n_joined, NOT_SAME: len(self.resolver.same_as) - n_joined}
        warnings += [sentence.format(count) for sentence, count in counts.items() if count]
        lists = {NAMELESS_RELATIONS: self.resolver.nameless_relations, NEW_RELATIONS: new_relations}
        return [*warnings, *(sentence.format(one_line(names)) for sentence, names in lists.items() if names)]

    def check_graph(self, state: EditorState) -> None:
        """Check that the graph has not changed since names were resolved on it."""
        if any(self.memory in commit.writes for commit in state.commits[self.version :]):
            raise GraphMoved(
                f"the graph was changed in version {state.version} while the file was read on version "
                f"{self.version}: nothing was imported; send it again",
                current=state.version,
                expected=self.version,
            )


class ImportPlan:
    """The plan of POST /admin/graph/import, whose rows are in Redis."""

    kind: Kind = "edit"

    def __init__(self, session: ImportSession, manifest: Manifest, note: ImportNote, models: Models) -> None:
        order = session.order.model_dump(mode="json", include={"format", "language", "source", "message"})
        order |= session.order.model_dump(include={"subject", "sheet", "column"}, exclude_defaults=True)
        self.message = session.order.message or f"import {session.order.source}".strip()
        self.request = request_digest("edit", {"import": session.content.hexdigest(), **order})
        self._session, self._manifest, self._model = session, manifest, models.fact_readers[0]
        self._note = note

    async def build(self, state: EditorState, builder: StateBuilder, timings: Timings) -> Build:
        self._session.check_graph(state)
        order = edit_order(state.version + 1, 0)
        block = manifest_block(block_key(self._session.id), order, self._manifest)
        record = EditRecord(
            id=self._session.id,
            model=self._model,
            memory=self._session.memory,
            question="",
            answer="",
            paraphrases=(),
            method=IMPORT,
            material=block.digest,
            order=order,
            notes=dump_note(self._note),
        )
        material = Material(self._session.id, IMPORT, block)
        with timings.part("editor"):
            return await builder.build(state, Draft(Change((record.id,), ()), None, (record,), (material,)))


class Importer:
    def __init__(self, pipeline: Pipeline, models: Models, store: ImportStore, limits: ImportLimits) -> None:
        self._pipeline, self._models, self._store, self._limits = pipeline, models, store, limits
        self._sessions: dict[str, ImportSession] = {}

    async def begin(
        self, order: ImportOrder, author: str, idempotency_key: str | None = None
    ) -> ImportSession:
        """Begin a session. A file that is sent again with its Idempotency-Key is answered with its first result."""
        self._models.check_takes_facts()
        self._refuse_too_many(author)
        state = await self._pipeline.newest_restored()
        is_repeated = idempotency_key is not None and await self._pipeline.remembers(author, idempotency_key)
        if not is_repeated and order.expected_version not in (None, state.version):
            raise StaleVersion.at(current=state.version, expected=order.expected_version)
        await self._store.sweep(self._sessions)
        self._refuse_too_many(author)  # others may have begun one meanwhile
        memory, lookup = self._models.fact_memory, self._models.lookup
        view = state.memories[memory].view
        reader = open_reader(order)  # before the resolver, which opens files
        loop = asyncio.get_running_loop()

        def find(names: Sequence[str]) -> dict[str, list[Entity]]:
            """Return the entities with these names; a file's name that differs in accents is another one."""
            bearers = asyncio.run_coroutine_threadsafe(lookup.entities_by_name(names, view), loop).result()
            return {name: [e for e in bearers[name] if has_name(e, name, name_key)] for name in names}

        resolver = RowResolver(
            view,
            lookup.linker.copy(),
            find,
            lookup.has_no_other_names(view),
            self._limits,
            sets_undefined=order.subject != "",
        )
        session = ImportSession(
            new_edit_id(), order, author, idempotency_key, state.version, memory, view, resolver, reader
        )
        self._sessions[session.id] = session
        return session

    def _refuse_too_many(self, author: str) -> None:
        if any(session.author == author for session in self._sessions.values()):
            raise TooMany("an import of yours is under way: wait until it is done")
        if len(self._sessions) >= MAX_SESSIONS:
            raise TooMany(f"{len(self._sessions)} imports are under way: wait until one is done")

    async def watch(self) -> None:
        while True:
            for session in list(self._sessions.values()):
                if not session.is_whole and monotonic() - session.last_feed_at > IDLE_S:
                    await self.abandon(session.id)  # which forgets it first, so an error meets it once
            await asyncio.sleep(WATCH_EVERY_S)

    async def feed(self, id: str, data: bytes) -> ImportProgress:
        """Keep a part of the file.

        Raises:
            TooLarge: The file has too many bytes; the session ends.
            TooSlow: The file trickles in; the session ends.
        """
        async with self._session(id).lock:
            session = self._session(id)  # it may have been closed meanwhile
            await finish(asyncio.to_thread(session.keep, data))
            session.last_feed_at = monotonic()
            session.n_bytes += len(data)
            session.progress_count = session.n_bytes
            max_bytes = self._limits.disk_bytes // 2  # the rows take the other half
            if session.n_bytes > max_bytes:
                self._close(session)
                raise TooLarge(
                    f"a file may have {max_bytes:,} bytes: import it in several parts", limit=max_bytes
                )
            seconds = monotonic() - session.created_at
            if seconds > GRACE_S and session.n_bytes < LEAST_BYTES_PER_S * seconds:
                self._close(session)
                raise TooSlow(
                    f"less than {LEAST_BYTES_PER_S:,} bytes a second came: nothing was imported; save the file first, "
                    "then send it at once"
                )
            return session.progress()

    async def finish(self, id: str, timings: Timings) -> Result:
        """Read the file and make the commit, with the wire's ImportCounts; drop the rows if no commit names them."""
        async with self._session(id).lock:
            session = self._session(id)
            session.is_whole = True  # it is not idle, however long the rest takes
            try:
                await finish(asyncio.to_thread(session.read))
                session.start_phase("comparing")
                return await self._commit(session, timings)
            except GraphFileError as error:
                raise InvalidInput(f"the file cannot be imported: {error}", field="body") from error
            finally:
                self._close(session)

    async def _commit(self, session: ImportSession, timings: Timings) -> Result:
        resolver, reader, order = session.resolver, session.reader, session.order
        if not resolver.spool.rows and not any(resolver.relations.values()):
            lines = resolver.counts.rejected_lines[:3]
            reasons = "; ".join(f"line {line['line']}: {line['reason']}" for line in lines)
            if resolver.same_as and not reasons:
                reasons = "sameAs joins things that the same file describes"
            raise InvalidInput(
                f"none of {reader.lines:,} lines can be used: {reasons or 'the file is empty'}", field="body"
            )
        state = await self._pipeline.newest()
        session.check_graph(state)
        await self._join(session)
        await asyncio.to_thread(resolver.set_aside, reader.relations, reader.aside)
        respect = await self._examine(session, state)
        session.start_phase("writing", resolver.counts.triples)
        buckets = session.build(respect)
        try:
            with timings.part("editor"):
                manifest = await self._store.write(
                    buckets, resolver.relations, lambda count: setattr(session, "progress_count", count)
                )
            session.start_phase("committing")
            warnings = session.warnings(self._models.fact_readers, tuple(self._models.answer_memories))
            note = session.note(manifest, buckets.new_entities, warnings, respect)
            plan = ImportPlan(session, manifest, note, self._models)
            conditions = WriteOptions(
                session.author, order.expected_version, order.dry_run, order.strict, session.idempotency_key
            )
            result = await self._pipeline.write(plan, conditions, timings)
        except BaseException:
            await self._drop(session)
            raise
        record = result.commit.edits[0] if result.commit else None
        if record is None or record.id != session.id:
            await self._drop(session)
            await self._models.lookup.drop_names(session.id)
        session.phase = "replicas"
        counts = dump_note(note if record is None else read_note(record))
        counts.pop("warnings", None)
        return replace(result, extra={"counts": counts})

    async def _join(self, session: ImportSession) -> None:
        """Take things of the file for the entities of Wikidata that they are said to be, where the graph has those."""
        resolver, present = session.resolver, set[str]()
        for ids in chunked(set(resolver.same_as.values()), ROWS_PER_LOOKUP):
            labels = await self._models.lookup.labels(ids, session.view)
            present |= {id for id, label in labels.items() if label}
        if resolver.same_as:
            await finish(asyncio.to_thread(resolver.join, present))

    async def _examine(self, session: ImportSession, state: EditorState) -> ImportConflicts:
        """Return what the file does to the graph; a request that made a commit already is not examined.

        Raises:
            BreaksTests: With `strict`, the file goes against what people edited.
            NothingToDo: The graph says all of it.
            SimilarName: With `strict`, a new name is one letter away from another.
        """
        key, order, resolver = session.idempotency_key, session.order, session.resolver
        if key is not None and await self._pipeline.remembers(session.author, key):
            return ImportConflicts()
        respect = await examine(resolver, state, session.view, self._models.lookup, order.keep_corrections)
        if order.strict and not order.dry_run:
            respect.check()
        is_known = resolver.is_compared and not resolver.has_names and not resolver.new_names
        if is_known and not respect.n_new and not order.dry_run:
            n_kept = len(respect.left_out)
            suffix = f", but for {n_kept:,} that go against what people edited" if n_kept else ""
            raise NothingToDo(
                f"nothing new: the graph says all {len(resolver.facts):,} triples of the file{suffix}",
                version=state.version,
            )
        return respect

    async def _drop(self, session: ImportSession) -> None:
        """Delete the rows of an import that no commit names; the next import deletes those that remain."""
        with suppress(LedgerUnavailable):
            await asyncio.shield(self._store.drop(session.id))

    async def find_damage(self, state: EditorState) -> list[str]:
        if not self._models.fact_memory:
            return []
        imports = state.memories[self._models.fact_memory].view.imports
        damage = [await self._store.find_damage(active.manifest) for active in imports]
        return [sentence for sentence in damage if sentence is not None]

    def progress(self, id: str) -> ImportProgress:
        return self._session(id).progress()

    async def abandon(self, id: str) -> None:
        """End a session whose sender is gone; an import whose file is whole continues."""
        session = self._sessions.get(id)
        if session is not None and not session.is_whole:
            self._sessions.pop(id, None)
            async with session.lock:
                self._close(session)

    def _session(self, id: str) -> ImportSession:
        if id not in self._sessions:
            raise NotFound(
                f"the import {id} was given up, or the editor was started again: send the file again"
            )
        return self._sessions[id]

    def _close(self, session: ImportSession) -> None:
        self._sessions.pop(session.id, None)
        session.file.close()
        session.resolver.spool.close()


def open_reader(order: ImportOrder) -> GraphFileReader:
    try:
        columns = {
            heading.strip(): relation.strip()
            for heading, _, relation in (column.rpartition("=") for column in order.column)
        }
        return GraphFileReader(order.format, order.language, order.subject, order.sheet, columns)
    except GraphFileError as error:
        raise InvalidInput(str(error), field="subject") from error
