"""The editor: the one deployment that writes. It checks, plans, measures, commits, and says who has applied it.

One replica. Should there ever be two, the ledger's compare-and-append makes one of them start again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from time import perf_counter
from typing import Any

from errata.wire import (
    CheckReport,
    EditReceipt,
    EditRequest,
    ReplicaList,
    Report,
    RevertRequest,
    RollbackRequest,
)
from ray import serve

from models.packs.pack import WORLD
from models.system import System
from service import metrics
from service.config import Settings
from service.editing import acknowledge, facttests, reading
from service.editing.measure import Prober
from service.editing.planning import plan_edits, plan_revert, plan_rollback
from service.editing.writer import Plan, Writer, Written
from service.errors import ErrataError, LedgerUnavailable, NotFound, StaleVersion
from service.ledger.store import RedisLedger
from service.loading import load_system
from service.replicas.outcome import Outcome

log = logging.getLogger(__name__)

ATTEMPTS = 5  # when somebody else appends at the same moment
PROBED = {"nkb": WORLD}  # models whose side effects show on a pack's probes


class Editor:
    """Every method returns an Outcome; nothing it refuses changes anything."""

    async def __init__(self, settings: Settings) -> None:  # type: ignore[misc]  # Ray awaits it
        assert settings.redis_url, "the launcher names the ledger's Redis"
        self._settings = settings
        self._ledger = RedisLedger.connect(settings.redis_url)
        self._systems: dict[str, System] = {
            name: await asyncio.to_thread(load_system, settings, name) for name in settings.systems
        }
        probers = {name: Prober(system) for name, system in self._systems.items() if name in PROBED}
        self._writer = Writer(self._ledger, self._systems, probers, settings.snapshot_every)
        self._lock = asyncio.Lock()
        self._checked: CheckReport | None = None
        self._degraded: str | None = None
        await self._writer.known.catch_up()
        metrics.LEDGER_VERSION.labels("errata").set(self._writer.known.head)

    async def edit(self, request: Mapping[str, Any], author: str, key: str | None) -> Outcome:
        asked = EditRequest.model_validate(request)
        plan = lambda: plan_edits(self._writer, asked)  # noqa: E731
        if asked.dry_run:
            return await self._outcome("dry_run", lambda: self._rehearse(plan, asked.expected_version))
        return await self._outcome(
            "edit", lambda: self._commit(plan, author, key, asked.wait, asked.expected_version)
        )

    async def revert(self, request: Mapping[str, Any], author: str, key: str | None) -> Outcome:
        asked = RevertRequest.model_validate(request)
        plan = lambda: plan_revert(self._writer, asked)  # noqa: E731
        return await self._outcome("revert", lambda: self._commit(plan, author, key, asked.wait))

    async def rollback(self, request: Mapping[str, Any], author: str, key: str | None) -> Outcome:
        asked = RollbackRequest.model_validate(request)
        plan = lambda: plan_rollback(self._writer, asked)  # noqa: E731
        return await self._outcome("rollback", lambda: self._commit(plan, author, key, asked.wait))

    async def _outcome(self, kind: str, work: Callable[[], Awaitable[Outcome]]) -> Outcome:
        try:
            outcome = await work()
        except ErrataError as error:
            metrics.EDITS.labels(kind, error.code).inc()
            return Outcome.of(error, None)
        metrics.EDITS.labels(kind, "done").inc()
        return outcome

    async def _rehearse(self, plan: Callable[[], Plan], expected: int | None) -> Outcome:
        async with self._lock:
            await self._current(expected)
            _, report = await asyncio.to_thread(self._writer.measured, await asyncio.to_thread(plan))
        receipt = EditReceipt(version=None, kind="edit", report=report, replicas=[], all_applied=False)
        return Outcome.ok(receipt)

    async def _commit(
        self, plan: Callable[[], Plan], author: str, key: str | None, wait: str, expected: int | None = None
    ) -> Outcome:
        async with self._lock:
            written = await self._repeated(key) or await self._write(plan, author, key, expected)
        metrics.LEDGER_VERSION.labels("errata").set(self._writer.known.head)
        return await self._receipt(written, wait)

    async def _repeated(self, key: str | None) -> Written | None:
        """What a request with this Idempotency-Key did the first time."""
        version = None if key is None else await self._ledger.remembered(key)
        if version is None:
            return None
        await self._catch_up()
        commit = self._writer.known.commits[version - 1]
        return Written(version, commit.kind, Report.model_validate(commit.report))

    async def _write(
        self, plan: Callable[[], Plan], author: str, key: str | None, expected: int | None
    ) -> Written:
        for left in reversed(range(ATTEMPTS)):
            await self._current(expected)
            try:
                return await self._writer.append(await asyncio.to_thread(plan), author, key)
            except StaleVersion:
                if expected is not None or not left:
                    raise
        raise AssertionError("at least one attempt")

    async def _current(self, expected: int | None) -> None:
        """Catch up, and hold the caller's expectation against what is there."""
        await self._catch_up()
        if expected is not None and expected != self._writer.known.head:
            raise StaleVersion.at(current=self._writer.known.head, expected=expected)

    async def _catch_up(self) -> None:
        try:
            await self._writer.known.catch_up()
        except ErrataError as error:
            self._degraded = error.code
            metrics.REDIS_FAILURES.labels("editor").inc()
            raise
        self._degraded = None

    async def _receipt(self, written: Written, wait: str) -> Outcome:
        assert written.version is not None
        started = perf_counter()
        limit_s = self._settings.ack_timeout_s if wait == "all" else 0.0
        with metrics.timed("replicas"):
            replicas, applied = await acknowledge.all_at(self._ledger, written.version, limit_s)
        timings = written.report.timings.model_copy(update={"replicas_ms": 1e3 * (perf_counter() - started)})
        receipt = EditReceipt(
            version=written.version,
            kind=written.kind,
            report=written.report.model_copy(update={"timings": timings}),
            replicas=replicas,
            all_applied=applied,
        )
        return Outcome.ok(receipt, 201 if applied or wait == "none" else 202)

    async def check(self, run: bool) -> Outcome:
        """Run all fact tests, or say what they said when they last ran."""
        return await self._outcome("check", self._run_tests if run else self._last_tests)

    async def _last_tests(self) -> Outcome:
        if self._checked is None:
            raise NotFound(
                "the fact tests have not run since the service started: POST /admin/checks runs them"
            )
        return Outcome.ok(self._checked)

    async def _run_tests(self) -> Outcome:
        async with self._lock:
            with suppress(LedgerUnavailable):
                await self._catch_up()
            self._checked = await asyncio.to_thread(self._tested)
        return Outcome.ok(self._checked)

    def _tested(self) -> CheckReport:
        known = self._writer.known
        active = list(known.active_at(known.head).values())
        parts = []
        for model, system in self._systems.items():
            mine = [record for record in active if record.memory == system.memory]
            view = self._writer.view(model, known.images[system.memory])
            parts.append(facttests.run(system, view, mine, mine))
        return CheckReport(
            version=known.head,
            total=sum(part.total for part in parts),
            holding=sum(part.holding for part in parts),
            broken=[test for part in parts for test in part.broken],
            superseded=sum(part.superseded for part in parts),
        )

    async def log(self, limit: int, before: int | None) -> Outcome:
        return await self._read(lambda: reading.log(self._writer.known, limit, before))

    async def show(self, version: int) -> Outcome:
        return await self._read(lambda: reading.show(self._writer.known, version))

    async def diff(self, older: int, newer: int) -> Outcome:
        return await self._read(lambda: reading.diff(self._writer.known, self._systems, older, newer))

    async def memory(self) -> Outcome:
        return await self._read(lambda: reading.memory(self._writer.known))

    async def replicas(self) -> Outcome:
        return await self._outcome("replicas", self._replicas)

    async def _replicas(self) -> Outcome:
        living = await acknowledge.living(self._ledger)
        return Outcome.ok(ReplicaList(head=await self._ledger.head(), replicas=living))

    async def ready(self) -> dict[str, Any]:
        """head: the newest version this process knows. degraded: why it may be old."""
        try:
            await self._ledger.ping()
        except ErrataError as error:
            self._degraded = error.code
        else:
            self._degraded = None
        return {"head": self._writer.known.head, "degraded": self._degraded}

    async def _read(self, make: Callable[[], Any]) -> Outcome:
        """From the copy in memory, brought up to date where the ledger can be reached."""
        try:
            async with self._lock:
                with suppress(LedgerUnavailable):
                    await self._catch_up()
                return Outcome.ok(await asyncio.to_thread(make))
        except ErrataError as error:
            return Outcome.of(error, None)


EditorDeployment = serve.deployment(Editor)
