"""The part of a report that no edit waits for: measured after its commit, in pieces, while no edit is under way.

A commit's own report says `measuring`; the whole one is kept beside the log as soon as it is there. If the editor dies
before, the commit stands, and its report reads `missing`: measuring it again could end the next editor, too.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

from errata.wire import Report

from service.editing.draft import Build, EditorState
from service.editing.evaluation.report import Evaluator
from service.errors import ErrataError, LedgerUnavailable
from service.ledger.commit import EditRecord
from service.ledger.reports import Reports, StoredReport

MAX_WAITING = 256  # commits whose reports wait to be measured; each further one is measured before its commit
MAX_TOGETHER = 64  # commits whose reports are measured together
RETRY_S = 2.0  # seconds between two attempts to keep a report
PATIENCE_S = 25.0  # longest wait of a caller for a report
MEASURING, MISSING = "measuring", "missing"
NOT_YET = "what else it changes is being measured: errata show {} has it in a moment"
NO_REPORT = (
    "what else it changed was not measured, because the editor ended before: errata diff {} {} measures it"
)
AWAY = "what else it changed cannot be read while the ledger is away"

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class PendingReport:
    """A report to complete; `end` is set when it is there, or will not be. The build lacks its many edits."""

    version: int
    build: Build
    report: Report
    end: asyncio.Event = field(default_factory=asyncio.Event)


class DeferredReports:
    def __init__(self, evaluator: Evaluator, reports: Reports) -> None:
        self.evaluator, self._reports = evaluator, reports
        self._queue: asyncio.Queue[PendingReport] = asyncio.Queue()
        self._pending: dict[int, PendingReport] = {}
        self._edits: Mapping[str, EditRecord] = {}  # the newest version has all edits ever made

    @property
    def is_full(self) -> bool:
        """Return whether so many reports wait that a commit has to measure its own."""
        return len(self._pending) >= MAX_WAITING

    def add(self, state: EditorState, build: Build, report: Report) -> None:
        """Let the report of a commit be completed; `state` is the one that it led to."""
        self._edits = state.edits
        build = replace(build, state=replace(build.state, edits={}, active=frozenset()))
        pending = self._pending[state.version] = PendingReport(state.version, build, report)
        self._queue.put_nowait(pending)

    async def run(self) -> None:
        while True:
            reports = [await self._queue.get()]
            while not self._queue.empty() and len(reports) < MAX_TOGETHER:
                reports.append(self._queue.get_nowait())
            with suppress(Exception):  # each report asks again by itself, and its error is logged
                await self.evaluator.ask_ahead([(self._find_build(c), c.report) for c in reports])
            for pending in reports:
                await self._work_off(pending)

    def _find_build(self, pending: PendingReport) -> Build:
        """Return the build of a commit with its edits."""
        build = pending.build
        return replace(build, state=replace(build.state, edits=self._edits))

    async def _work_off(self, pending: PendingReport) -> None:
        try:
            await self._complete(pending)
        except ErrataError as error:
            log.warning("the report of version %d cannot be measured: %s", pending.version, error.detail)
        except Exception:
            log.exception("the report of version %d cannot be measured", pending.version)
        finally:
            del self._pending[pending.version]
            pending.end.set()

    async def _complete(self, pending: PendingReport) -> None:
        start = perf_counter()
        report = await self.evaluator.complete(self._find_build(pending), pending.report, pending.version)
        later_ms = round(1e3 * (perf_counter() - start), 3)
        timings = report.timings.model_copy(update={"later_ms": later_ms})
        update = {"timings": timings, "report_state": "done", "report_note": ""}
        whole_report = StoredReport(
            version=pending.version, report=report.model_copy(update=update).model_dump(mode="json")
        )
        while True:
            try:
                return await self._reports.put(whole_report)
            except LedgerUnavailable:
                await asyncio.sleep(RETRY_S)

    async def find(self, version: int, report: Mapping[str, Any], wait: bool = False) -> Mapping[str, Any]:
        """Return the report of a commit as far as it is known now.

        Args:
            wait: Whether to wait until it is measured, for PATIENCE_S at most.
        """
        if report.get("report_state") != MEASURING:
            return report
        pending = self._pending.get(version)
        if pending is not None and wait:
            with suppress(TimeoutError):
                async with asyncio.timeout(PATIENCE_S):
                    await pending.end.wait()
        if version in self._pending:
            return report
        try:
            reports = await self._reports.find(version)
        except LedgerUnavailable:
            return {**report, "report_state": MISSING, "report_note": AWAY}
        no_report = {"report_state": MISSING, "report_note": NO_REPORT.format(version - 1, version)}
        return {**report, **(reports[0].report if reports else no_report)}


def begin(report: Report, version: int) -> Report:
    """Return the report of a commit before the rest is measured."""
    return report.model_copy(update={"report_state": MEASURING, "report_note": NOT_YET.format(version)})
