"""The one loop behind every commit: catch up, fold, measure, append; and again when somebody else was faster."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from errata.wire import Capacity, EditReport, EditTimings, Report

from models.memory import Block, Image
from models.system import Material, System, View
from service import metrics
from service.editing import facttests
from service.editing.known import Known
from service.editing.measure import Prober, Subject, edit_reports
from service.errors import EditRefused, LedgerUnavailable
from service.ledger.commit import Commit, EditRecord, Kind, Write
from service.ledger.store import Ledger

TESTED = 200  # fact tests run on every commit, newest edits first; POST /admin/checks runs them all


@dataclass(frozen=True)
class Plan:
    """What a commit is to do, worked out on one version.

    unwritten: reports on edits that need no writing, because the model gives their answer already.
    """

    kind: Kind
    message: str
    records: tuple[EditRecord, ...] = ()
    materials: Mapping[str, Material] = field(default_factory=dict)
    activates: tuple[str, ...] = ()
    deactivates: tuple[str, ...] = ()
    target: int | None = None
    unwritten: tuple[EditReport, ...] = ()
    editor_s: float = 0.0


@dataclass(frozen=True)
class Written:
    """version: None for a dry run."""

    version: int | None
    kind: Kind
    report: Report


class Writer:
    """Owns what is known of the ledger; everything that changes it goes through `write`."""

    def __init__(
        self,
        ledger: Ledger,
        systems: Mapping[str, System],
        probers: Mapping[str, Prober],
        snapshot_every: int,
    ) -> None:
        self.known = Known(ledger, systems)
        self.systems = systems
        self._ledger, self._probers, self._snapshot_every = ledger, probers, snapshot_every
        self._compiled: dict[str, tuple[str, View]] = {}

    def view(self, model: str, image: Image) -> View:
        """The compiled view of an image; the last one of each model is kept."""
        kept = self._compiled.get(model)
        if kept is None or kept[0] != image.checksum:
            kept = self._compiled[model] = image.checksum, self.systems[model].view(image)
        return kept[1]

    async def append(self, plan: Plan, author: str, key: str | None) -> Written:
        """Measure and commit a plan made on the version that is known. StaleVersion when the ledger has moved."""
        images, report = await asyncio.to_thread(self.measured, plan)
        commit = self._commit(plan, images, report, author)
        with metrics.timed("commit"):
            started = time.perf_counter()
            version = await self._ledger.append(commit, self._blocks(plan, images), key)
            commit_ms = 1e3 * (time.perf_counter() - started)
        self.known.materials.update(plan.materials)
        self.known.take([commit], images)
        await self._keep_image(version)
        timings = report.timings.model_copy(update={"commit_ms": commit_ms})
        return Written(version, plan.kind, report.model_copy(update={"timings": timings}))

    def measured(self, plan: Plan) -> tuple[dict[str, Image], Report]:
        """The memories as the plan would leave them, and what it would change. Stores nothing."""
        started = time.perf_counter()
        active = self._active_after(plan)
        images = self.known.folded(active, plan.materials)
        records = {**self.known.edits, **{record.id: record for record in plan.records}}
        subjects = [Subject(records[edit], True) for edit in plan.activates]
        subjects += [Subject(records[edit], False) for edit in plan.deactivates]
        parts = [self._measure_one(model, images, subjects, active) for model in self.systems]
        _refuse_what_does_not_hold(plan, [report for part in parts for report in part.edits])
        seconds = time.perf_counter() - started
        metrics.COMMIT_PARTS.labels("report").observe(seconds)
        metrics.COMMIT_PARTS.labels("editor").observe(plan.editor_s)
        return images, _joined(parts, plan, seconds)

    def _measure_one(
        self,
        model: str,
        images: Mapping[str, Image],
        subjects: Sequence[Subject],
        active: Sequence[EditRecord],
    ) -> Report:
        system, memory = self.systems[model], self.systems[model].memory
        old, new = self.known.images[memory], images[memory]
        before, after = self.view(model, old), system.view(new)
        mine = [subject for subject in subjects if subject.record.memory == memory]
        asked = {subject.record.question for subject in mine}
        tests = [record for record in active if record.memory == memory]
        fresh = {subject.record.id for subject in mine}
        chosen = [record for record in reversed(tests) if record.id not in fresh][:TESTED]
        tested = facttests.run(system, after, tests, chosen)
        prober = self._probers.get(model)
        changed = prober.changed((old.checksum, before), (new.checksum, after), asked) if prober else []
        capacity = system.capacity(new)
        return Report(
            edits=edit_reports(system, before, after, mine),
            probes=len(prober.questions) if prober else 0,
            changed=changed,
            broken_tests=list(tested.broken),
            capacity=Capacity(slots_used=capacity.slots_used, slots_reserved=capacity.slots_reserved),
            timings=EditTimings(editor_ms=0, report_ms=0, commit_ms=0, replicas_ms=0),
        )

    def _active_after(self, plan: Plan) -> list[EditRecord]:
        now = self.known.active_at(self.known.head)
        wanted = {**self.known.edits, **{record.id: record for record in plan.records}}
        ids = (set(now) - set(plan.deactivates)) | set(plan.activates)
        return sorted((wanted[edit] for edit in ids), key=lambda record: record.order)

    def _commit(self, plan: Plan, images: Mapping[str, Image], report: Report, author: str) -> Commit:
        return Commit(
            version=self.known.head + 1,
            kind=plan.kind,
            author=author,
            time=time.time(),
            message=plan.message,
            edits=plan.records,
            activates=plan.activates,
            deactivates=plan.deactivates,
            target=plan.target,
            writes={m: w for m, image in images.items() if (w := _write(self.known.images[m], image))},
            report=report.model_dump(mode="json"),
            previous=self.known.previous,
        )

    def _blocks(self, plan: Plan, images: Mapping[str, Image]) -> list[Block]:
        puts = [block for m, image in images.items() for block in self.known.images[m].delta_to(image).puts]
        return [*puts, *(material.block for material in plan.materials.values())]

    async def _keep_image(self, version: int) -> None:
        """Now and then, so that a new replica need not read the whole log. The commit stands without it."""
        if version % self._snapshot_every == 0:
            try:
                await self._ledger.put_image(version, self.known.images)
            except LedgerUnavailable:
                metrics.REDIS_FAILURES.labels("editor").inc()


def _write(old: Image, new: Image) -> Write | None:
    delta = old.delta_to(new)
    if not delta:
        return None
    puts = tuple((block.key, block.order, block.digest) for block in delta.puts)
    return Write(new.checksum, puts, delta.removes)


def _refuse_what_does_not_hold(plan: Plan, reports: Sequence[EditReport]) -> None:
    """A new edit must come out in its own words. An old one that comes back may have a later one over it."""
    fresh = {record.id for record in plan.records}
    for report in reports:
        if report.id in fresh and not report.holds:
            raise EditRefused(
                f"{report.question!r} would be answered {report.after!r} and not {report.answer!r} after this edit: "
                "nothing was changed; try method 'gated', or edits of one question in one request only",
                reason="does_not_hold",
            )


def _joined(parts: Sequence[Report], plan: Plan, report_s: float) -> Report:
    """One report over all memories."""
    return Report(
        edits=[*(report for part in parts for report in part.edits), *plan.unwritten],
        probes=sum(part.probes for part in parts),
        changed=[change for part in parts for change in part.changed],
        broken_tests=[test for part in parts for test in part.broken_tests],
        capacity=Capacity(
            slots_used=sum(part.capacity.slots_used for part in parts),
            slots_reserved=sum(part.capacity.slots_reserved for part in parts),
        ),
        timings=EditTimings(
            editor_ms=1e3 * plan.editor_s, report_ms=1e3 * report_s, commit_ms=0, replicas_ms=0
        ),
    )
