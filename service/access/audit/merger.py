"""Equal calls that changed nothing become one entry of the audit with a count, so no number of them fills Redis.

The first of a kind is written at once, beside the call; the number of repetitions follows after the window. A source
has a few kinds, so that a noisy one does not keep others out; further kinds are one entry of that source. Strangers
share their room, and beyond it one entry. A known caller always has room, and its entry lists the calls.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from contextvars import Context
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from service.access.audit.calls import READ_METHODS, Call
from service.access.caller import source_of
from service.concurrency import cancel_and_wait
from service.errors import LedgerUnavailable

WINDOW_S = 600.0
RETRY_S = 10.0  # pause between two attempts while Redis is away
KINDS_PER_SOURCE = 5
MAX_KINDS = 100  # Kinds of all strangers
MAX_LISTED = 20  # Paths and summaries of a known caller that the entry of several kinds lists
MAX_CHARS = 90  # Characters of a path or a summary
SINGLE = frozenset({"/admin/keys", "/admin/audit"})  # Paths that a known caller never reads unnamed
FURTHER_KINDS, FURTHER_CALLERS = "calls of several kinds", "calls of many callers"


log = logging.getLogger(__name__)


Source: TypeAlias = tuple[str, str, str]
"""Stream, name, and the network of the address of a stranger."""
Kind: TypeAlias = tuple[Source, str, str, str, str, int, str | None]
"""Source, network, method, path, summary, status and code."""


@dataclass
class Group:
    """Calls of one kind: the last call, and those that are not written yet, counted."""

    call: Call
    due_at: float  # monotonic time in seconds
    count: int = 0
    first_at: float = 0.0  # Unix time in seconds, like `last_at`
    last_at: float = 0.0
    labels: Counter[str] = field(default_factory=Counter)  # calls of several kinds by path and summary

    @property
    def entry(self) -> Call:
        """The entry of the calls that are not written yet."""
        further = ", ".join(f"{label} ({n})" for label, n in self.labels.items())
        update: dict[str, Any] = {"count": self.count, "last_at": self.last_at}
        update |= {"first_at": self.first_at} if self.count > 1 else {}
        update |= {"summary": f"{self.call.summary}: {further}"} if further else {}
        return self.call.model_copy(update=update)


class CallMerger:
    """Merges calls and writes their entries.

    Args:
        append: Writes an entry; raises LedgerUnavailable, and then the calls are written later.
    """

    def __init__(
        self,
        append: Callable[[Call], Awaitable[None]],
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self._append, self._clock, self._wall_clock = append, clock, wall_clock
        self._groups: dict[Kind, Group] = {}
        self._kinds: Counter[Source] = Counter()
        self._n_strange = 0  # Kinds of strangers
        self._writing, self._new = asyncio.Lock(), asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def add(self, call: Call) -> None:
        """Count a call, without writing anything."""
        kind, entry = self._choose(call)
        if kind not in self._groups:
            self._groups[kind] = Group(entry, self._clock())
            self._kinds[kind[0]] += 1
            self._n_strange += not kind[0][1]
            self._new.set()
        group = self._groups[kind]
        group.last_at = round(self._wall_clock(), 3)
        group.first_at = group.first_at if group.count else group.last_at
        group.call, group.count = entry, group.count + 1
        label = f"{call.path} {call.summary}".rstrip()[:MAX_CHARS]
        is_listed = entry.summary == FURTHER_KINDS and call.by is not None
        if is_listed and (label in group.labels or len(group.labels) < MAX_LISTED):
            group.labels[label] += 1
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run(), context=Context())  # the task belongs to no request

    def pending(self) -> list[Call]:
        """Return the entries of calls that are counted and not written yet, those with the latest calls last."""
        groups = [group for group in self._groups.values() if group.count]
        return [group.entry for group in sorted(groups, key=lambda group: group.last_at)]

    async def write_due(self) -> None:
        """Write the entries that are due, in the order of their calls; raise LedgerUnavailable."""
        async with self._writing:
            now = self._clock()
            for kind, group in list(self._groups.items()):
                if group.due_at > now:
                    continue
                if not group.count:
                    del self._groups[kind]
                    self._kinds[kind[0]] -= 1
                    self._n_strange -= not kind[0][1]
                    if not self._kinds[kind[0]]:
                        del self._kinds[kind[0]]
                    continue
                await self._write(group)
                group.due_at = now + WINDOW_S

    async def aclose(self) -> int:
        """Write all remaining entries, due or not, and return the number of calls that could not be written."""
        if self._task is not None:
            await cancel_and_wait([self._task])
        for group in self._groups.values():
            group.due_at = self._clock()
        with suppress(LedgerUnavailable):
            await self.write_due()
        return sum(group.count for group in self._groups.values())

    def _choose(self, call: Call) -> tuple[Kind, Call]:
        """Return the kind under which a call is counted, and the call as its entry shows it."""
        call = call.model_copy(update={"path": call.path[:MAX_CHARS], "summary": call.summary[:MAX_CHARS]})
        network = source_of(call.address)
        source = (call.stream, call.name, "" if call.by else network)
        kind: Kind = (source, network, call.method, call.path, call.summary, call.status, call.code)
        is_single = call.by is not None and call.method in READ_METHODS and call.path in SINGLE
        if kind in self._groups or is_single or self._has_room(source, KINDS_PER_SOURCE):
            return kind, call
        summary = call.model_copy(update={"path": "", "summary": FURTHER_KINDS, "request": None})
        kind = (source, "", "", "", "", 0, None)
        if kind in self._groups or self._has_room(source, KINDS_PER_SOURCE + 1):
            return kind, summary
        anonymous = {"name": "", "address": "", "summary": FURTHER_CALLERS}
        return ((call.stream, "", ""), "", "", "", "", 0, None), summary.model_copy(update=anonymous)

    def _has_room(self, source: Source, n_kinds: int) -> bool:
        return self._kinds[source] < n_kinds and (bool(source[1]) or self._n_strange < MAX_KINDS)

    async def _write(self, group: Group) -> None:
        entry, count, labels, first_at = group.entry, group.count, group.labels, group.first_at
        group.count, group.labels = 0, Counter()
        try:
            await self._append(entry)
        except BaseException:
            group.count, group.labels, group.first_at = group.count + count, group.labels + labels, first_at
            raise

    async def _run(self) -> None:
        """Write each kind when it is due, until there are no more."""
        while self._groups:
            self._new.clear()
            wait_s = RETRY_S
            try:
                await self.write_due()
            except LedgerUnavailable as error:
                log.warning("calls that changed nothing wait for the audit: %s", error.detail)
            else:
                due_at = min((group.due_at for group in self._groups.values()), default=0.0)
                wait_s = max(0.0, due_at - self._clock())
            with suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await self._new.wait()
