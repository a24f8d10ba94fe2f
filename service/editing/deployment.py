"""The editor's deployment, which serves the admin routes. It has one replica, since there is one writer.

Every method returns an Outcome, so no exception crosses the handle. The class is plain; the last line deploys it on
Ray.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial, wraps
from typing import Any, ParamSpec

from errata.wire import (
    Answer,
    CheckReport,
    EditRequest,
    ImportOrder,
    ReplicaList,
    RevertRequest,
    ReviewRequest,
    RollbackRequest,
    SideEffect,
    SupersededTest,
    TableQuery,
    Tag,
    TagList,
    Wait,
)
from ray import serve

from models.documents.memory import DOCUMENTS
from models.memory import View
from service.concurrency import cancel_and_wait
from service.config import Settings
from service.editing.draft import EditorState
from service.editing.evaluation.capacity import SlotBudget
from service.editing.evaluation.diff import diff_versions
from service.editing.evaluation.fact_test_status import current_status, run_tests
from service.editing.evaluation.fact_tests import TestKey
from service.editing.evaluation.paraphrases import ParaphraseGenerator
from service.editing.evaluation.replaced_facts import find_replaced_facts
from service.editing.evaluation.report import Evaluator, preview_report
from service.editing.evaluation.side_effects import SideEffectProbe, find_unmeant
from service.editing.figures import Timings, count_write, create_series, publish
from service.editing.later import LaterReports
from service.editing.models import Models
from service.editing.notes import read_note
from service.editing.pipeline import Order, Pipeline, Result
from service.editing.plans.edit import EditPlan
from service.editing.plans.import_ import Importer
from service.editing.plans.revert import UndoPlan
from service.editing.queries.documents import NO_READER, Documents
from service.editing.queries.entities import Entities
from service.editing.queries.items import Items
from service.editing.queries.senses import show_senses
from service.editing.queries.table import list_relations, make_table
from service.editing.queries.upkeep import Upkeep
from service.editing.queries.versions import Versions
from service.editing.queries.why import examine_scope, explain_answer
from service.editing.replication import Patience, live_replicas, receipt, watch_replicas
from service.editing.state_builder import StateBuilder
from service.errors import ErrataError, Internal, LedgerCorrupt, LedgerUnavailable, NotFound, UnknownModel
from service.graph.imports.store import ImportStore
from service.graph.lookup import Lookup, find_informer
from service.ledger import tags
from service.ledger.reports import Reports
from service.ledger.startup import check_address
from service.ledger.store import RedisLedger
from service.ledger.suspects import SUSPECT, Suspects
from service.loading import load_system
from service.metrics import metrics
from service.outcome import Outcome
from service.upkeep.reviews import check_day

log = logging.getLogger(__name__)

LINK_S = 60.0  # seconds that replicas have at least to link the names of an import
RETRY_S = 2.0  # seconds between two attempts to reach the ledger

P = ParamSpec("P")


def outcome(method: Callable[P, Awaitable[Outcome]]) -> Callable[P, Awaitable[Outcome]]:
    """Turn the error that a method raises into its outcome; an unexpected error is logged with its traceback.

    Each method also takes `suspect`, the id of a request that was in an editor when that died.
    """

    @wraps(method)
    async def call(*args: P.args, **kwargs: P.kwargs) -> Outcome:
        token = SUSPECT.set(str(kwargs.pop("suspect", SUSPECT.get())))
        try:
            return await method(*args, **kwargs)
        except ErrataError as error:
            return Outcome.of(error, None)
        except Exception as error:
            log.exception("%s failed", method.__name__)
            detail = f"the editor failed in a way it should not ({type(error).__name__}); the log says more"
            return Outcome.of(Internal(detail), None)
        finally:
            SUSPECT.reset(token)

    return call


class Editor:
    """The editor. It starts even while the ledger is away, and reads it as soon as it is there."""

    _last_check: CheckReport | None = None

    async def __init__(self, settings: Settings) -> None:  # type: ignore[misc]  # Ray awaits it
        assert settings.redis_url, "the launcher names the ledger's Redis"
        metrics.count_start("editor")
        thread = ThreadPoolExecutor(1, thread_name_prefix="editor")
        run = asyncio.get_running_loop().run_in_executor
        bundles = {name: await run(thread, load_system, settings, name) for name in settings.systems}
        self._ledger = RedisLedger.connect(settings.redis_url, settings.redis_timeout_s)
        connection = self._ledger.connection
        self._upkeep, self._tags = Upkeep.over(connection), tags.Tags(connection)
        lookup = find_informer((bundle.system for bundle in bundles.values()), connection)
        count = metrics.CRASHING.labels("editor").inc
        suspects = Suspects(connection, "editor", "nothing was changed", count)
        self._models = Models(bundles, lookup, thread, settings.model_to_correct, suspects)
        self._builder = StateBuilder(self._ledger, self._models)
        self._budget = SlotBudget(settings.bank_slots, settings.auto_grow_bank)
        probes = await asyncio.to_thread(lambda: self._models.probes)
        self._side_effects = SideEffectProbe(self._models, probes)
        paraphrases = {name: ParaphraseGenerator(probe.templates) for name, probe in probes.items()}
        evaluator = Evaluator(self._models, self._side_effects, paraphrases, self._budget)
        self._later = LaterReports(evaluator, Reports(connection))
        self._pipeline = Pipeline(
            self._ledger,
            partial(check_address, settings.redis_url),
            self._builder,
            self._later,
            self._upkeep.reviews,
            self._models.priority,
            settings.snapshot_every,
        )
        self._patience = Patience(settings.ack_timeout_s, dict.fromkeys(bundles, settings.min_replicas))
        self._check_lock = asyncio.Lock()
        self._importer = Importer(
            self._pipeline, self._models, ImportStore(connection), settings.import_limits
        )
        create_series()
        await self.ready()
        self._warm_up_task = asyncio.create_task(self._warm_up())
        self._tasks = [self._warm_up_task, *map(asyncio.create_task, self._watches(lookup))]
        self.__del__ = self._end  # Ray awaits it; Python, which looks at the class, does not see it
        metrics.set_ready("editor", settings.metrics_port)

    def _watches(self, lookup: Lookup | None) -> list[Coroutine[Any, Any, None]]:
        """Return what runs as long as the editor."""
        return [
            watch_replicas(self._ledger, self._patience.expected),
            self._later.run(),
            self._importer.watch(),
            self._upkeep.watch(lambda: self._pipeline.state),
            *([] if lookup is None else [lookup.watch_damage(lambda: self._newest_view(lookup.memory))]),
        ]

    def _newest_view(self, memory: str) -> View | None:
        state = self._pipeline.state
        return None if state is None else state.memories[memory].view

    async def aclose(self) -> None:
        """Stop the tasks first: one in the middle of a command would keep its connection from being closed."""
        await cancel_and_wait(self._tasks)
        self._models.close()
        await self._ledger.aclose()

    async def _end(self) -> None:
        metrics.count_end("editor")
        await self.aclose()

    @outcome
    async def edit(
        self, request: Mapping[str, Any], author: str, idempotency_key: str | None = None
    ) -> Outcome:
        edits = EditRequest.model_validate(request)
        if edits.measure:
            order = Order(
                author, edits.expected_version, edits.dry_run, edits.strict, idempotency_key, edits.review
            )

            async def write(timings: Timings) -> Result:
                plan = EditPlan(edits, self._models)  # a refusal here is counted, too
                return await self._pipeline.write(plan, order, timings)

            return await self._write("edit", write, edits.wait, edits.wait_report)
        # The refusals, or the result of an earlier request with this key: no writer has to wait for them.
        timings, plan = Timings(), EditPlan(edits, self._models)
        state = await self._pipeline.newest()
        result = await self._pipeline.first_result(plan, author, idempotency_key) if idempotency_key else None
        if result is None:
            check_day(edits.review)
            with timings.part("editor"):
                refused = await plan.preview(state, self._builder, self._budget)
            report = preview_report(state, refused, self._budget, timings)
            result = Result(None, report.model_dump(mode="json"))
        patience = self._patience if edits.wait == "all" else None
        return await receipt(self._ledger, result, "edit", timings, patience, self._later.find)

    @outcome
    async def edit_document(
        self, request: Mapping[str, Any], author: str, idempotency_key: str | None = None
    ) -> Outcome:
        """Edit as `edit` does, or answer 404 `unknown_model` if no model reads documents."""
        if DOCUMENTS not in self._models.memories:
            return Outcome.of(self._no_documents(), None)
        return await self.edit(request, author, idempotency_key)

    @outcome
    async def revert(
        self, request: Mapping[str, Any], author: str, idempotency_key: str | None = None
    ) -> Outcome:
        return await self._undo("revert", RevertRequest.model_validate(request), author, idempotency_key)

    @outcome
    async def rollback(
        self, request: Mapping[str, Any], author: str, idempotency_key: str | None = None
    ) -> Outcome:
        return await self._undo("rollback", RollbackRequest.model_validate(request), author, idempotency_key)

    async def _undo(
        self, kind: str, request: RevertRequest | RollbackRequest, author: str, idempotency_key: str | None
    ) -> Outcome:
        order = Order(author, dry_run=request.dry_run, strict=request.strict, idempotency_key=idempotency_key)
        write = partial(self._pipeline.write, UndoPlan(request), order)
        return await self._write(kind, write, request.wait, request.wait_report)

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
    async def import_finish(self, id: str, wait: Wait, wait_report: bool = False) -> Outcome:
        return await self._write("import", partial(self._importer.finish, id), wait, wait_report, LINK_S)

    async def import_abandon(self, id: str) -> None:
        await self._importer.abandon(id)

    async def _write(
        self,
        kind: str,
        write: Callable[[Timings], Awaitable[Result]],
        wait: Wait,
        wait_report: bool = False,
        least_s: float = 0.0,
    ) -> Outcome:
        """Make a write, count and publish it, and wait for the replicas.

        Args:
            kind: The kind that is counted: edit, revert, rollback or import.
            write: Makes the commit.
            wait: Whether the receipt waits for all replicas.
            wait_report: Whether the receipt waits for the whole report.
            least_s: The shortest limit of the wait for replicas, in seconds.
        """
        timings = Timings()
        result = await count_write(kind, lambda: write(timings))
        state = self._pipeline.state
        if result.commit is not None and state is not None:
            metrics.LEDGER_VERSION.labels("errata").set(state.version)
            publish(state, result.commit.version, result.report.get("test_status"), self._budget)
        patience = replace(self._patience, limit_s=max(self._patience.limit_s, least_s))
        name = "edit" if kind == "import" else kind
        find_report = partial(self._later.find, wait=wait_report)
        return await receipt(
            self._ledger, result, name, timings, patience if wait == "all" else None, find_report
        )

    @outcome
    async def check(self, run: bool, superseded: bool = False) -> Outcome:
        """Run the fact tests, or return their last report.

        Args:
            run: Whether to run them now.
            superseded: Whether to list superseded tests, too.
        """
        if run:
            async with self._check_lock:  # a second run finds most answers cached
                state = await self._pipeline.at_hand()
                edits, facts = state.active_records, await self._find_replaced_facts(state)
                report = await run_tests(state.version, edits, state.models, facts)
                other_answers, n_unmeasured = await self._find_other_answers(state)
                update = {
                    "damaged_imports": await self._importer.find_damage(state),
                    "other_answers": other_answers,
                    "unmeasured_probes": n_unmeasured,
                }
                self._last_check = report.model_copy(update=update)
                counts = report.edits.model_dump() if report.edits else None
                publish(self._pipeline.state, state.version, counts, self._budget)
        if self._last_check is None:
            raise NotFound(
                "the fact tests have not been run since the start: run them with POST /admin/checks"
            )
        check = self._last_check
        return Outcome.ok(check if superseded else check.model_copy(update={"superseded_tests": None}))

    async def _find_replaced_facts(self, state: EditorState) -> Mapping[TestKey, SupersededTest]:
        """Return the facts of edits that the graph does not say any more; none if its rows cannot be read."""
        memory = self._models.fact_memory
        if not memory:
            return {}
        try:
            view = state.memories[memory].view
            return await find_replaced_facts(state.active_records, view, self._models.lookup)
        except (LedgerUnavailable, LedgerCorrupt):
            return {}

    async def _find_other_answers(self, state: EditorState) -> tuple[list[SideEffect], int]:
        """Return the questions of the pack that corrections wrongly answer, and the number of those not asked."""
        active = state.active_records.in_order
        memories = {edit.memory for edit in active if edit.question and read_note(edit) is None}
        edits = [edit for edit in active if edit.memory in memories]
        if not edits:
            return [], 0
        base = await self._builder.at(state, 0)
        effects = await self._side_effects.measure(edits, base, state.models, (0, state.version))
        return find_unmeant(effects.changed, edits), effects.n_unmeasured

    @outcome
    async def log(
        self,
        limit: int,
        before: int | None = None,
        grep: str | None = None,
        author: str | None = None,
        since: float | None = None,
        by_day: int = 0,
    ) -> Outcome:
        return Outcome.ok((await self._versions()).log(limit, before, grep, author, since, by_day))

    @outcome
    async def show(self, version: int, wait_report: bool = False) -> Outcome:
        detail = (await self._versions()).show(version)
        report = await self._later.find(version, detail.report, wait_report)
        edits = await self._upkeep.note(detail.edits)
        return Outcome.ok(detail.model_copy(update={"report": dict(report), "edits": edits}))

    @outcome
    async def show_edit(self, id: str) -> Outcome:
        [detail] = await self._upkeep.note_details([(await self._versions()).show_edit(id)])
        return Outcome.ok(detail)

    @outcome
    async def reviews(self, due: bool, limit: int) -> Outcome:
        return Outcome.ok(await self._upkeep.list_reviews(await self._versions(), due, limit))

    @outcome
    async def hits(self, limit: int) -> Outcome:
        return Outcome.ok(await self._upkeep.list_hits(await self._versions(), limit))

    @outcome
    async def review(self, id: str, request: Mapping[str, Any]) -> Outcome:
        on = ReviewRequest.model_validate(request).on
        return Outcome.ok(await self._upkeep.review(await self._versions(), id, on))

    @outcome
    async def active_edits(self) -> Outcome:
        state, memory = (await self._versions()).state, self._models.fact_memory
        view = await self._builder.view_at(state, state.version, memory) if memory else None
        lookup = self._models.lookup if memory else None
        return Outcome.ok(
            await Items(state, self._models.memories, self._builder.materials, lookup, view).collect()
        )

    @outcome
    async def scope(self, question: str, model: str | None = None, version: int | None = None) -> Outcome:
        return Outcome.ok(await examine_scope(await self._state_at(version), question, model))

    @outcome
    async def why(self, question: str, answer: Mapping[str, Any], version: int | None = None) -> Outcome:
        state, reply = await self._state_at(version), Answer.model_validate(answer)
        report = await explain_answer(question, reply, state, self._builder, self._models)
        causes = await self._upkeep.note_details(report.causes)
        return Outcome.ok(report.model_copy(update={"causes": causes}))

    async def _state_at(self, version: int | None) -> EditorState:
        """Return the state at an existing version, None for the newest."""
        versions = await self._versions()
        if version is None:
            return versions.state
        return await self._builder.state_at(versions.state, versions.check_exists(version))

    @outcome
    async def senses(self, query: dict[str, Any]) -> Outcome:
        versions, version = await self._versions(), query["version"]
        state = versions.state
        if version is None:
            return Outcome.ok(await show_senses(state.models, state.version, query))
        models = await self._builder.at(state, versions.check_exists(version))
        return Outcome.ok(await show_senses(models, version, query))

    @outcome
    async def diff(self, a: int, b: int) -> Outcome:
        versions = await self._versions()
        state, pair = versions.state, (versions.check_exists(a), versions.check_exists(b))
        older, newer = [await asyncio.to_thread(state.active_at, version) for version in pair]
        before, after = [await self._builder.at(state, version) for version in pair]
        sides = (older, newer), (before, after)
        return Outcome.ok(await diff_versions(pair, *sides, self._side_effects, self._models))

    @outcome
    async def tags(self) -> Outcome:
        return Outcome.ok(TagList(tags=[_tag_to_wire(tag) for tag in await self._tags.all()]))

    @outcome
    async def tag(self, name: str, version: int, author: str) -> Outcome:
        existing = (await self._versions()).check_exists(version)
        tag = tags.Tag(name=name, version=existing, by=author, time=time.time())
        await self._tags.put(tag)
        return Outcome.ok(_tag_to_wire(tag))

    @outcome
    async def untag(self, name: str) -> Outcome:
        return Outcome.ok(_tag_to_wire(await self._tags.remove(name)))

    @outcome
    async def entities(self, text: str, limit: int, version: int | None = None) -> Outcome:
        return Outcome.ok(await (await self._entities(version)).search(text, limit))

    @outcome
    async def entity(self, id: str, version: int | None = None) -> Outcome:
        return Outcome.ok(await (await self._entities(version)).state(id))

    @outcome
    async def relations(self, version: int | None = None) -> Outcome:
        entities = await self._entities(version)
        return Outcome.ok(list_relations(entities.view, entities.version))

    @outcome
    async def table(self, query: dict[str, Any]) -> Outcome:
        order = TableQuery.model_validate(query)
        entities = await self._entities(order.version)
        return Outcome.ok(await make_table(entities.view, entities.version, self._models.lookup, order))

    async def _entities(self, version: int | None) -> Entities:
        self._models.check_takes_facts()
        versions = await self._versions()
        state = versions.state
        at = state.version if version is None else versions.check_exists(version)
        view = await self._builder.view_at(state, at, self._models.fact_memory)
        return Entities(state, self._builder.materials, self._models.lookup, view, at)

    @outcome
    async def documents(self, limit: int, after: str | None = None, version: int | None = None) -> Outcome:
        return Outcome.ok((await self._documents(version)).list_heads(limit, after))

    @outcome
    async def document(self, id: str, version: int | None = None) -> Outcome:
        return Outcome.ok((await self._documents(version)).state(id))

    async def _documents(self, version: int | None) -> Documents:
        if DOCUMENTS not in self._models.memories:
            raise self._no_documents()
        versions = await self._versions()
        at = versions.state.version if version is None else versions.check_exists(version)
        return Documents(await self._builder.view_at(versions.state, at, DOCUMENTS), at)

    def _no_documents(self) -> UnknownModel:
        return UnknownModel(NO_READER, models=list(self._models.names))

    @outcome
    async def memory(self) -> Outcome:
        return Outcome.ok(await (await self._versions()).memory(self._budget))

    @outcome
    async def replicas(self) -> Outcome:
        head = await self._ledger.head()
        return Outcome.ok(ReplicaList(head=head, replicas=await live_replicas(self._ledger, head)))

    async def _versions(self) -> Versions:
        return Versions(await self._pipeline.at_hand())

    async def ready(self) -> dict[str, Any]:
        """Return whether an edit is possible now; `degraded` says why not."""
        degraded = None
        try:
            await self._pipeline.read()
            self._ledger.connection.check_room()
        except ErrataError as error:
            degraded = error.code
            log.warning("not ready to edit: %s", error.detail)
        state = self._pipeline.state
        if state is not None:
            metrics.LEDGER_VERSION.labels("errata").set(state.version)
        return {"ready": degraded is None, "version": state and state.version, "degraded": degraded}

    async def _warm_up(self) -> None:
        """Prepare data for the first commit, as soon as the ledger can be read, so that it need not wait."""
        while (state := self._pipeline.state) is None:
            await asyncio.sleep(RETRY_S)
            with suppress(ErrataError):
                await self._pipeline.read()
        status = await current_status(state.active_records, state.models)
        publish(state, state.version, status.counts(len(state.edits)).model_dump(), self._budget)
        try:
            await self._side_effects.prepare(state.models)
        except ErrataError as error:
            log.warning("the first edit will take a second longer: %s", error.detail)


def _tag_to_wire(tag: tags.Tag) -> Tag:
    return Tag.model_validate(tag.model_dump())


EditorDeployment = serve.deployment(Editor)
