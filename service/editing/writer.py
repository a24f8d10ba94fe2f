"""The one writer: draft on the newest version, fold, measure, append; again when another writer was faster."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from models.memory import Block
from service.editing.folding import Folder
from service.editing.manifests import Manifests
from service.editing.succession import succeeding
from service.errors import InvalidInput, LedgerUnavailable, NotReady, StaleVersion
from service.ledger.check import Server
from service.ledger.commit import Commit, Write
from service.ledger.store import Ledger
from service.measuring.draft import Draft, Plan
from service.measuring.present import Present
from service.measuring.reading import Reading
from service.measuring.report import Reporter, refuse_what_breaks, refuse_what_does_not_hold
from service.measuring.stopwatch import Stopwatch

log = logging.getLogger(__name__)

ATTEMPTS = 10  # when others write too; each attempt measures again


@dataclass(frozen=True)
class Order:
    """Who wants it, and under which conditions. strict: not if a fact test of an earlier edit breaks."""

    author: str
    expected_version: int | None = None
    dry_run: bool = False
    strict: bool = False
    idempotency_key: str | None = None


@dataclass(frozen=True)
class Written:
    """commit: None for a dry run. more: further fields of the receipt."""

    commit: Commit | None
    report: Mapping[str, Any]
    more: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Measured:
    """A draft with what it would do to the version it was made on."""

    present: Present
    draft: Draft
    after: Mapping[str, Reading]
    report: Mapping[str, Any]


class Writer:
    """Serialises what it writes. `present` is what it knows of the ledger; None until it was read once.

    look: whether the server can hold the ledger, asked until it was read.
    """

    def __init__(
        self,
        ledger: Ledger,
        look: Callable[[], Awaitable[Server]],
        folder: Folder,
        reporter: Reporter,
        snapshot_every: int,
    ) -> None:
        self._ledger, self._look, self._folder, self._reporter = ledger, look, folder, reporter
        self._manifests = Manifests(ledger, snapshot_every)
        self._writing = asyncio.Lock()
        self._reading = asyncio.Lock()
        self._shared: asyncio.Task[Present] | None = None
        self.present: Present | None = None

    async def newest(self) -> Present:
        """The present, with all that others have written. Raises what is wrong with the ledger."""
        async with self._reading:
            if self.present is None:
                await self._look_at_the_server()
            return self._learn(await self._folder.caught_up(self.present))

    async def undisturbed(self) -> Present:
        """As `newest`. NotReady while a restore is not at its end."""
        present = await self.newest()
        await self._ledger.check_restored(present.version)
        return present

    async def _look_at_the_server(self) -> None:
        """Before anything of it is read."""
        await self._ledger.head()  # one that is away is known sooner by this
        server = await self._look()
        for warning in server.warnings:
            log.warning("%s %s: %s", server.name, server.version, warning)

    async def read(self) -> Present:
        """As `newest`, by one reading for all who ask meanwhile: with the ledger hung they do not wait in a row."""
        if self._shared is None or self._shared.done():
            self._shared = asyncio.create_task(self.newest())
        return await asyncio.shield(self._shared)

    async def known(self) -> Present:
        """The present for readers: the copy at hand when the ledger is away or a commit is being made."""
        if self.present is not None and self._writing.locked():
            return self.present
        try:
            return await self.read()
        except LedgerUnavailable:
            if self.present is None:
                raise
            return self.present

    def _learn(self, fresh: Present) -> Present:
        if self.present is None or fresh.version > self.present.version:
            self.present = fresh
        return self.present

    async def write(self, plan: Plan, order: Order, watch: Stopwatch) -> Written:
        """One commit, or what it would be. Raises what is wrong with the plan or with the ledger."""
        async with self._writing:
            for _ in range(ATTEMPTS):
                try:
                    return await self._attempt(plan, order, watch)
                except StaleVersion as stale:
                    if order.expected_version is not None:
                        raise
                    log.info("another writer was faster: %s", stale.detail)
            raise NotReady(f"other writers were faster {ATTEMPTS} times: try again when they have finished")

    async def remembers(self, idempotency_key: str) -> bool:
        """Whether a commit was made with this key."""
        return await self._ledger.remembered(idempotency_key) is not None

    async def made(self, plan: Plan, idempotency_key: str) -> Written | None:
        """What the first request with this key made, if there was one."""
        version = await self._ledger.remembered(idempotency_key)
        return None if version is None else await self._repeated(plan, version)

    async def _attempt(self, plan: Plan, order: Order, watch: Stopwatch) -> Written:
        present = await self.newest()
        if order.idempotency_key is not None and not order.dry_run:
            made = await self.made(plan, order.idempotency_key)
            if made is not None:
                return made
        if order.expected_version is not None and order.expected_version != present.version:
            raise StaleVersion.at(current=present.version, expected=order.expected_version)
        measured = await self._measured(present, plan, watch, order.dry_run)
        if order.dry_run:
            return Written(None, measured.report)
        refuse_what_does_not_hold(measured.draft, measured.report)
        if measured.draft.records:
            self._reporter.room.take(measured.after.values())
        if order.strict:
            refuse_what_breaks(measured.report)
        return await self._commit(plan, order, measured, watch)

    async def _measured(self, present: Present, plan: Plan, watch: Stopwatch, dry_run: bool) -> Measured:
        draft, after = await self._drafted(present, plan, watch)
        with watch.part("report"):
            draft = await succeeding(present, draft, after)
        version = None if dry_run else present.version + 1
        report = await self._reporter.report(present, draft, after, watch, version)
        return Measured(present, draft, after, report)

    async def _drafted(
        self, present: Present, plan: Plan, watch: Stopwatch
    ) -> tuple[Draft, dict[str, Reading]]:
        """A draft that stands, and every model with it."""
        while True:
            draft = await plan.draft(present, watch)
            with watch.part("editor"):
                after = await self._folder.with_draft(present, draft)
            with watch.part("report"):
                if await plan.stands(draft, after):
                    return draft, after

    async def _commit(self, plan: Plan, order: Order, measured: Measured, watch: Stopwatch) -> Written:
        commit, blocks = _made(plan, order, measured)
        with watch.part("commit"), _doubtful():
            version = await self._append(commit, blocks, order.idempotency_key)
            ours = order.idempotency_key is None or await self._is_at(version, commit)
        if not ours:
            return await self._repeated(plan, version)
        self._folder.library.add(measured.draft.materials)
        self._manifests.after(self._learn(measured.present.followed_by([commit], measured.after)))
        return Written(commit, measured.report)

    async def _repeated(self, plan: Plan, version: int) -> Written:
        """What the first request with this key made. InvalidInput when it asked for something else."""
        commit = await self._ledger.get(version)
        if commit.report.get("request") != plan.request:
            detail = f"this Idempotency-Key made version {version} out of another request: choose a new key"
            raise InvalidInput(detail, field="Idempotency-Key", version=version)
        return Written(commit, commit.report)

    async def _append(self, commit: Commit, blocks: list[Block], key: str | None) -> int:
        """The version that the commit has now, or the one its idempotency key made before."""
        try:
            return await self._ledger.append(commit, blocks, key)
        except LedgerUnavailable:  # the reply may be all that was lost
            return await self._ledger.append(commit, blocks, key)

    async def _is_at(self, version: int, commit: Commit) -> bool:
        return version == commit.version and (await self._ledger.get(version)).digest == commit.digest


@contextmanager
def _doubtful() -> Iterator[None]:
    try:
        yield
    except LedgerUnavailable as error:
        doubt = "whether the commit was made is not known: look at the log before you send it again"
        raise LedgerUnavailable(f"{error.detail}; {doubt}", in_doubt=True) from error


def _made(plan: Plan, order: Order, measured: Measured) -> tuple[Commit, list[Block]]:
    """The commit, and every block that it names."""
    present, draft = measured.present, measured.draft
    writes: dict[str, Write] = {}
    blocks = [material.block for material in draft.materials]
    for model, reading in measured.after.items():
        delta = present.readings[model].image.delta_to(reading.image)
        if delta:
            puts = tuple((block.key, block.order, block.digest) for block in delta.puts)
            writes[reading.system.memory] = Write(reading.image.checksum, puts, delta.removes)
            blocks += delta.puts
    commit = Commit(
        version=present.version + 1,
        kind=plan.kind,
        author=order.author,
        time=time.time(),
        message=plan.message,
        edits=draft.records,
        activates=draft.change.activates,
        deactivates=draft.change.deactivates,
        target=draft.target,
        writes=writes,
        report={**measured.report, "request": plan.request},
        previous=present.digest,
    )
    return commit, blocks
