"""The one writer, which takes a commit through these stages; each returns one frozen value.

    plan.build       Build        the draft on the newest version, every memory folded with it
    evaluate         Report       the report: expectations, fact tests, capacity; with `strict` all of it
    check            -            refuses an edit that does not hold or fit, or (strict) breaks a test
    append           Commit       compare-and-append in the ledger; all again when another writer was faster

The caller's request then waits for the replicas (replication.py) and gets the receipt. The rest of the report is
measured afterwards (later.py).
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Protocol

from errata.wire import Report

from models.blocks import Block, Image
from service.curation.reviews import Review, Reviews, check_day
from service.editing.deferred_reports import MEASURING, DeferredReports, begin
from service.editing.draft import Build, EditorState
from service.editing.evaluation.fact_tests import note_present_answers
from service.editing.evaluation.lineage import mark_superseded
from service.editing.evaluation.near import check_names
from service.editing.evaluation.report import check_expectations, check_other_answers, check_tests
from service.editing.figures import Timings
from service.editing.state_builder import StateBuilder
from service.errors import InvalidInput, LedgerUnavailable, NotReady, StaleVersion
from service.ledger.commit import Commit, Kind, Write
from service.ledger.startup import Server
from service.ledger.store import RedisLedger
from service.refreshing import Refreshing
from service.scheduling.commit_priority import CommitPriority

log = logging.getLogger(__name__)

MAX_ATTEMPTS = 10  # largest number of attempts while other writers are faster; each attempt measures again
REPLICAS_S = 0.05  # seconds after a commit that are left to its replicas and to the next one
REQUEST = "request"  # name of the request's digest in the report that is written


class Plan(Protocol):
    """A request for a commit; the digest `request` tells a repetition from another use of its key."""

    kind: Kind
    message: str
    request: str

    async def build(self, state: EditorState, builder: StateBuilder, timings: Timings) -> Build:
        """Return the draft on `state`, folded; raise NothingToDo where the state is already as it should be."""


@dataclass(frozen=True)
class WriteOptions:
    author: str
    expected_version: int | None = None
    dry_run: bool = False
    strict: bool = False  # refuse a commit with effects that are not meant
    idempotency_key: str | None = None
    review: date | None = None  # the day on which a person looks at its edits again
    key_owner: str | None = None  # whose key it is; None is the author

    @property
    def owner(self) -> str:
        return self.author if self.key_owner is None else self.key_owner


@dataclass(frozen=True)
class Result:
    commit: Commit | None  # the commit; None for a dry run
    report: Mapping[str, Any]  # the report as it is written, in JSON values
    extra: Mapping[str, Any] = field(default_factory=dict)  # further fields of the receipt
    is_repeated: bool = False  # whether an earlier request with the same key made the commit


class Pipeline:
    """Writes commits one after the other. `state` is the ledger's last known state; None until it was read once.

    Args:
        check_server: Checks, before the first read, that the server can hold the ledger.
        snapshot_every: Commits between two manifests, which let replicas start quickly.
    """

    def __init__(
        self,
        ledger: RedisLedger,
        check_server: Callable[[], Awaitable[Server]],
        builder: StateBuilder,
        later: DeferredReports,
        reviews: Reviews,
        priority: CommitPriority,
        snapshot_every: int,
    ) -> None:
        self._ledger, self._check_server, self._builder = ledger, check_server, builder
        self._later, self._evaluator, self._reviews = later, later.evaluator, reviews
        self._snapshot_every, self._priority = snapshot_every, priority
        self._writing, self._trying, self._reading = asyncio.Lock(), asyncio.Lock(), asyncio.Lock()
        self._shared_read = Refreshing(self.newest)
        self._manifest_version = 0  # version of the last manifest; an earlier process's are not looked up
        self._manifest_task: asyncio.Task[None] | None = None
        self.state: EditorState | None = None

    async def newest(self) -> EditorState:
        async with self._reading:
            with self._priority.hold():  # a commit may wait for it
                if self.state is None:
                    await self._ledger.head()  # fails fast if the ledger is away
                    server = await self._check_server()
                    for warning in server.warnings:
                        log.warning("%s %s: %s", server.name, server.version, warning)
                return self._learn(await self._builder.caught_up(self.state))

    async def read(self) -> EditorState:
        """Return the newest state by one read for all callers, so that none queues up while the ledger hangs."""
        return await self._shared_read.get()

    async def at_hand(self) -> EditorState:
        """Return the state for readers: the last known one while the ledger is away or a commit is being made."""
        if self.state is not None and self._writing.locked():
            return self.state
        try:
            return await self.read()
        except LedgerUnavailable:
            if self.state is None:
                raise
            return self.state

    async def write(self, plan: Plan, options: WriteOptions, timings: Timings) -> Result:
        """Make one commit, or report what it would do.

        A dry run holds up no commit: it is measured on the version at hand, one at a time.
        """
        if options.dry_run:
            async with self._trying:
                return await self._attempt(plan, options, timings)
        async with self._writing:
            with self._priority.hold(REPLICAS_S):
                for _ in range(MAX_ATTEMPTS):
                    try:
                        return await self._attempt(plan, options, timings)
                    except StaleVersion as stale:
                        if options.expected_version is not None:
                            raise
                        log.info("another writer was faster: %s", stale.detail)
        raise NotReady(f"other writers were faster {MAX_ATTEMPTS} times: try again when they have finished")

    async def newest_restored(self) -> EditorState:
        """Return the newest state; raise NotReady where a restore is not complete."""
        state = await self.newest()
        await self._ledger.check_restored(state.version)
        return state

    async def remembers(self, author: str, idempotency_key: str) -> bool:
        return await self._ledger.find_version(author, idempotency_key) is not None

    async def first_result(self, plan: Plan, owner: str, idempotency_key: str) -> Result | None:
        """Return the result of the owner's first request with this key; None if there was none."""
        version = await self._ledger.find_version(owner, idempotency_key)
        return None if version is None else await self._result_at(version, plan)

    async def _attempt(self, plan: Plan, options: WriteOptions, timings: Timings) -> Result:
        state = await self.newest()
        if options.idempotency_key is not None and not options.dry_run:
            first_result = await self.first_result(plan, options.owner, options.idempotency_key)
            if first_result is not None:
                return first_result
        check_day(options.review)  # the receipt of a request that is repeated after its day comes first
        if options.expected_version is not None and options.expected_version != state.version:
            raise StaleVersion.at(current=state.version, expected=options.expected_version)
        draft = await plan.build(state, self._builder, timings)
        build, report = await self._evaluate(draft, options, timings)
        if options.dry_run:
            return Result(None, report.model_dump(mode="json"))
        check_expectations(build.draft, report)
        if build.draft.records:  # a revert is never refused for lack of slots
            self._evaluator.budget.check(build.memories.values())
        if options.strict:
            check_tests(report)
            check_other_answers(build.draft, report)
            check_names(report)
        return await self._append(plan, options, build, report, timings)

    async def _evaluate(self, build: Build, options: WriteOptions, timings: Timings) -> tuple[Build, Report]:
        """Note what a draft replaces, and measure it: all if that may refuse the commit, or if there will be none."""
        version = build.state.version + 1
        with timings.part("report"):
            build = await note_present_answers(await mark_superseded(build))
            report = await self._evaluator.evaluate(build)
            if options.dry_run or options.strict or self._later.is_full:
                report = await self._evaluator.complete(build, report, None if options.dry_run else version)
            else:
                report = begin(report, version)
        return build, report.model_copy(update={"timings": timings.to_wire()})

    async def _append(
        self, plan: Plan, options: WriteOptions, build: Build, report: Report, timings: Timings
    ) -> Result:
        """Compare and append; a commit that an earlier request with the same key made counts as this one."""
        commit, blocks = _commit(plan, options, build, report)
        key = options.idempotency_key
        with timings.part("commit"):
            if options.review is not None:
                await self._reviews.put(
                    [Review(edit=record.id, on=options.review) for record in build.draft.records]
                )
            try:
                try:
                    version = await self._ledger.append(commit, blocks, key, options.key_owner)
                except LedgerUnavailable:  # perhaps only the reply was lost
                    version = await self._ledger.append(commit, blocks, key, options.key_owner)
                is_own = key is None or await self._is_own(version, commit)
            except LedgerUnavailable as error:
                raise LedgerUnavailable(
                    f"{error.detail}; whether the commit was made is not known: "
                    "look at the log before you send it again",
                    in_doubt=True,
                    idempotency_key=key,
                ) from error
        if not is_own:
            return await self._result_at(version, plan)
        self._builder.materials.add(build.draft.materials)
        state = self._builder.followed_by(build.state, [commit], build.memories, build.models)
        self._store_manifest(self._learn(state))
        if report.report_state == MEASURING:
            self._later.add(state, build, report)
        return Result(commit, commit.report)

    async def _is_own(self, version: int, commit: Commit) -> bool:
        """Return whether `version` is this very commit; as a rule it is the newest one, which need not be read."""
        if version != commit.version or await self._ledger.end() == (version, commit.digest):
            return version == commit.version
        return (await self._ledger.get(version)).digest == commit.digest

    async def _result_at(self, version: int, plan: Plan) -> Result:
        commit = await self._ledger.get(version)
        if commit.report.get(REQUEST) != plan.request:
            raise InvalidInput(
                f"this Idempotency-Key made version {version} out of another request: choose a new key",
                field="Idempotency-Key",
                version=version,
            )
        return Result(commit, commit.report, is_repeated=True)

    def _learn(self, fresh: EditorState) -> EditorState:
        if self.state is None or fresh.version > self.state.version:
            self.state = fresh
        return self.state

    def _store_manifest(self, state: EditorState) -> None:
        """Store a manifest every so many commits, in the background; after a failure the next commit tries again."""
        is_due = state.version - self._manifest_version >= self._snapshot_every
        if is_due and (self._manifest_task is None or self._manifest_task.done()):
            images = {name: memory.image for name, memory in state.memories.items()}
            self._manifest_task = asyncio.create_task(self._put_manifest(state.version, images))

    async def _put_manifest(self, version: int, images: Mapping[str, Image]) -> None:
        try:
            await self._ledger.put_manifest(version, images)
            self._manifest_version = version
        except LedgerUnavailable as error:
            log.warning("the manifest of version %d has to wait: %s", version, error.detail)


def _commit(plan: Plan, options: WriteOptions, build: Build, report: Report) -> tuple[Commit, list[Block]]:
    """Return the commit, and every block that it names."""
    state, draft = build.state, build.draft
    writes: dict[str, Write] = {}
    blocks = [material.block for material in draft.materials]
    for name, memory in build.memories.items():
        delta = state.memories[name].image.delta_to(memory.image)
        if delta:
            puts = tuple((block.key, block.order, block.digest) for block in delta.puts)
            writes[name] = Write(memory.image.checksum, puts, delta.removes)
            blocks += delta.puts
    commit = Commit(
        version=state.version + 1,
        kind=plan.kind,
        author=options.author,
        time=time.time(),
        message=plan.message,
        edits=draft.records,
        activates=draft.change.activates,
        deactivates=draft.change.deactivates,
        target=draft.target,
        writes=writes,
        report={**report.model_dump(mode="json"), REQUEST: plan.request},
        previous=state.digest,
    )
    return commit, blocks
