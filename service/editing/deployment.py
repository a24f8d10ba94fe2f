"""The editor deployment: the admin routes' other end. One replica, since there is one writer.

Every method gives an Outcome, so no exception crosses the handle. The class is plain; Ray comes in on the last line.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from errata.wire import (
    CheckReport,
    EditRequest,
    ImportOrder,
    ReplicaList,
    RevertRequest,
    RollbackRequest,
    Tag,
    TagList,
    Wait,
)
from ray import serve

from service.concurrency import cancel_and_wait
from service.config import Settings
from service.editing.acknowledge import living
from service.editing.counted import begin_at_zero, counted
from service.editing.edit import NO_GRAPH, Editing
from service.editing.entities import Entities
from service.editing.folding import Folder
from service.editing.gauges import publish
from service.editing.history import History
from service.editing.importing import Importer
from service.editing.outcomes import outcome
from service.editing.receipt import Patience, receipt
from service.editing.systems import Systems
from service.editing.undo import Reverting, RollingBack
from service.editing.watching import EVERY_S, watch
from service.editing.writer import Order, Writer, Written
from service.errors import ErrataError, NotFound, UnknownModel
from service.graph.imports.store import ImportStore
from service.graph.lookup import Lookup
from service.graph.rows import Rows
from service.ledger import tags
from service.ledger.arriving import looked_at
from service.ledger.store import RedisLedger
from service.loading import load_system
from service.measuring.bystanders import Bystanders
from service.measuring.capacity import Room
from service.measuring.difference import diff
from service.measuring.draft import Plan
from service.measuring.probes import Probes
from service.measuring.report import Reporter, unmeasured
from service.measuring.rewording import Rewording
from service.measuring.standing import check, standing
from service.measuring.stopwatch import Stopwatch
from service.metrics import metrics
from service.replicas.outcome import Outcome

log = logging.getLogger(__name__)

LINKED_S = 60.0  # for replicas to link the names of an import


class Editor:
    """Starts even while the ledger is away; it reads it when it is there."""

    async def __init__(self, settings: Settings) -> None:  # type: ignore[misc]  # Ray awaits it
        assert settings.redis_url, "the launcher names the ledger's Redis"
        metrics.count_start("editor")
        self._settings = settings
        thread = ThreadPoolExecutor(1, thread_name_prefix="editor")
        run = asyncio.get_running_loop().run_in_executor
        loaded = {name: await run(thread, load_system, settings, name) for name in settings.systems}
        self._ledger = RedisLedger.connect(settings.redis_url, settings.redis_timeout_s)
        self._systems = Systems(loaded, Lookup(Rows(self._ledger.connection)), thread)
        self._folder = Folder(self._ledger, self._systems)
        self._room = Room(settings.bank_slots, settings.auto_grow_bank)
        self._rewording = {name: await asyncio.to_thread(Rewording.of_model, name) for name in loaded}
        probes = {name: await asyncio.to_thread(Probes.of, name) for name in loaded}
        self._bystanders = Bystanders(probes)
        reporter = Reporter(self._bystanders, self._rewording, self._room)
        look = partial(looked_at, settings.redis_url)
        self._writer = Writer(self._ledger, look, self._folder, reporter, settings.snapshot_every)
        expected = dict.fromkeys(loaded, settings.replica_count)
        self._patience = Patience(settings.ack_timeout_s, expected)
        self._importer = Importer(self._writer, self._systems, ImportStore(self._ledger.connection))
        self._tags = tags.Tags(self._ledger.connection)
        self._checking = asyncio.Lock()
        self._checked: CheckReport | None = None
        begin_at_zero()
        await self.ready()
        self._looking = asyncio.create_task(self._look_ahead())
        self._tasks = [self._looking, asyncio.create_task(watch(self._ledger, expected))]
        self.__del__ = self._end  # Ray awaits it; Python, which looks at the class, does not see it
        metrics.set_ready("editor", settings.metrics_port)

    async def aclose(self) -> None:
        """Tasks first: one that is in the middle of a command would keep its connection from being closed."""
        await cancel_and_wait(self._tasks)
        self._systems.close()
        await self._ledger.aclose()

    async def _end(self) -> None:
        metrics.count_end("editor")
        await self.aclose()

    @outcome
    async def edit(
        self, request: Mapping[str, Any], author: str, idempotency_key: str | None = None
    ) -> Outcome:
        asked = EditRequest.model_validate(request)
        if not asked.measure:
            return await self._look(asked, idempotency_key)
        order = Order(author, asked.expected_version, asked.dry_run, asked.strict, idempotency_key)
        return await self._write(
            "edit", lambda: Editing(asked, self._systems, self._rewording), order, asked.wait
        )

    async def _look(self, asked: EditRequest, idempotency_key: str | None) -> Outcome:
        """What would be refused, or what the key has made already. Nobody who writes has to wait for it."""
        watch, plan = Stopwatch(), Editing(asked, self._systems)
        present = await self._writer.newest()
        written = await self._writer.made(plan, idempotency_key) if idempotency_key else None
        if written is None:
            with watch.part("editor"):
                refused = await plan.check(present, self._folder, self._room)
            written = Written(None, unmeasured(present, refused, self._room, watch))
        return await receipt(self._ledger, written, "edit", watch, self._patience)

    @outcome
    async def revert(
        self, request: Mapping[str, Any], author: str, idempotency_key: str | None = None
    ) -> Outcome:
        asked = RevertRequest.model_validate(request)
        order = Order(author, strict=asked.strict, idempotency_key=idempotency_key)
        return await self._write("revert", lambda: Reverting(asked), order, asked.wait)

    @outcome
    async def rollback(
        self, request: Mapping[str, Any], author: str, idempotency_key: str | None = None
    ) -> Outcome:
        asked = RollbackRequest.model_validate(request)
        order = Order(author, strict=asked.strict, idempotency_key=idempotency_key)
        return await self._write("rollback", lambda: RollingBack(asked), order, asked.wait)

    @outcome
    async def import_begin(
        self, order: Mapping[str, Any], author: str, idempotency_key: str | None = None
    ) -> Outcome:
        session = await self._importer.begin(ImportOrder.model_validate(order), author, idempotency_key)
        return Outcome.ok(json.dumps({"import": session.id}).encode())

    @outcome
    async def import_feed(self, id: str, data: bytes) -> Outcome:
        return Outcome.ok(json.dumps(await self._importer.feed(id, data)).encode())

    @outcome
    async def import_progress(self, id: str) -> Outcome:
        return Outcome.ok(json.dumps(self._importer.progress(id)).encode())

    @outcome
    async def import_finish(self, id: str, wait: Wait) -> Outcome:
        watch = Stopwatch()
        written = await self._made("import", lambda: self._importer.finish(id, watch))
        patience = replace(self._patience, limit_s=max(self._patience.limit_s, LINKED_S))
        return await receipt(self._ledger, written, "edit", watch, patience if wait == "all" else None)

    async def import_abandon(self, id: str) -> None:
        await self._importer.abandon(id)

    async def _write(self, kind: str, plan: Callable[[], Plan], order: Order, wait: Wait) -> Outcome:
        watch = Stopwatch()
        written = await self._made(kind, lambda: self._writer.write(plan(), order, watch))
        return await receipt(self._ledger, written, kind, watch, self._patience if wait == "all" else None)

    async def _made(self, kind: str, write: Callable[[], Awaitable[Written]]) -> Written:
        written = await counted(kind, write)
        if written.commit is not None and self._writer.present is not None:
            metrics.LEDGER_VERSION.labels("errata").set(self._writer.present.version)
            publish(
                self._writer.present, written.commit.version, written.report.get("test_status"), self._room
            )
        return written

    @outcome
    async def check(self, run: bool, superseded: bool = False) -> Outcome:
        """The fact tests: run now, or as they last ran. superseded: list those too that a later edit took over."""
        if run:
            async with self._checking:  # a second one finds most questions asked
                present = await self._writer.known()
                edits = present.active_edits()
                checked = await check(present.version, edits, present.edits, present.readings)
                damaged = await self._importer.damage(present)
                self._checked = checked.model_copy(update={"damaged_imports": damaged})
                counts = checked.edits.model_dump() if checked.edits else None
                publish(self._writer.present, present.version, counts, self._room)
        if self._checked is None:
            raise NotFound(
                "the fact tests have not been run since the start: run them with POST /admin/checks"
            )
        told = self._checked if superseded else self._checked.model_copy(update={"superseded_tests": None})
        return Outcome.ok(told)

    @outcome
    async def log(self, limit: int, before: int | None = None) -> Outcome:
        return Outcome.ok((await self._history()).log(limit, before))

    @outcome
    async def show(self, version: int) -> Outcome:
        return Outcome.ok((await self._history()).show(version))

    @outcome
    async def diff(self, a: int, b: int) -> Outcome:
        history = await self._history()
        present, versions = history.present, (history.existing(a), history.existing(b))
        older, newer = [await asyncio.to_thread(present.active_at, version) for version in versions]
        before, after = [await self._folder.at(present, version) for version in versions]
        return Outcome.ok(await diff(versions, (older, newer), (before, after), self._bystanders))

    @outcome
    async def tags(self) -> Outcome:
        return Outcome.ok(TagList(tags=[_tag_to_wire(tag) for tag in await self._tags.all()]))

    @outcome
    async def tag(self, name: str, version: int, author: str) -> Outcome:
        history = await self._history()
        named = tags.Tag(name=name, version=history.existing(version), by=author, time=time.time())
        await self._tags.put(named)
        return Outcome.ok(_tag_to_wire(named))

    @outcome
    async def untag(self, name: str) -> Outcome:
        return Outcome.ok(_tag_to_wire(await self._tags.remove(name)))

    @outcome
    async def entities(self, text: str, limit: int, version: int | None = None) -> Outcome:
        return Outcome.ok(await (await self._entities(version)).search(text, limit))

    @outcome
    async def entity(self, id: str, version: int | None = None) -> Outcome:
        return Outcome.ok(await (await self._entities(version)).state(id))

    async def _entities(self, version: int | None) -> Entities:
        if not self._systems.on_graph:
            raise UnknownModel(NO_GRAPH, models=list(self._systems.names))
        history = await self._history()
        present = history.present
        at = present.version if version is None else history.existing(version)
        view = await self._folder.graph_at(present, at)
        return Entities(present, self._folder.library, self._systems.lookup, view, at)

    @outcome
    async def memory(self) -> Outcome:
        return Outcome.ok(await (await self._history()).memory())

    @outcome
    async def replicas(self) -> Outcome:
        head = await self._ledger.head()
        return Outcome.ok(ReplicaList(head=head, replicas=await living(self._ledger, head)))

    async def _history(self) -> History:
        return History(await self._writer.known())

    async def ready(self) -> dict[str, Any]:
        """Whether it could edit now; `degraded` says why not."""
        degraded = None
        try:
            await self._writer.read()
        except ErrataError as error:
            degraded = error.code
            log.warning("not ready to edit: %s", error.detail)
        present = self._writer.present
        if present is not None:
            metrics.LEDGER_VERSION.labels("errata").set(present.version)
        return {"ready": degraded is None, "version": present and present.version, "degraded": degraded}

    async def _look_ahead(self) -> None:
        """As soon as the ledger can be read, at what the first commit would else have to wait for."""
        while (present := self._writer.present) is None:
            await asyncio.sleep(EVERY_S)
            with suppress(ErrataError):
                await self._writer.read()
        now = await standing(present.active_edits(), present.edits, present.readings)
        publish(present, present.version, now.counts(len(present.edits)).model_dump(), self._room)
        try:
            await self._bystanders.prepare(present.readings)
        except ErrataError as error:
            log.warning("the first edit will take a second longer: %s", error.detail)


def _tag_to_wire(tag: tags.Tag) -> Tag:
    return Tag.model_validate(tag.model_dump())


EditorDeployment = serve.deployment(Editor)
