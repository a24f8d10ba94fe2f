"""What the clients heard: every answer with what was promised for it, and every refusal with its code."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx

from tests.chaos.journal import Journal

DOCUMENTED = {
    httpx.codes.SERVICE_UNAVAILABLE: ("not_ready", "version_ahead", "ledger_unavailable", "ledger_corrupt"),
    httpx.codes.TOO_MANY_REQUESTS: ("too_many",),
}
PROBLEM = "application/problem+json"
OK = 400
LATE_S = 10.0  # after a fault: what was sent during it may still be refused
GIVEN_UP = 0  # in place of a status: the client's own limit ended it


@dataclass(frozen=True)
class Promise:
    """floor: the answer may not be older; by min_version, or because every replica had confirmed it. pin: exactly."""

    floor: int
    pin: int | None = None


@dataclass(frozen=True)
class Heard:
    """One answer. sent, came: seconds since the load began."""

    sent: float
    came: float
    question: str
    promise: Promise
    version: int
    answer: str | None
    edits: tuple[str, ...]
    degraded: str | None


@dataclass
class Ears:
    """Everything that came back. cut: connections that broke, by the fault under way. over: when the last one was."""

    journal: Journal
    begun: float = field(default_factory=time.monotonic)
    answers: list[Heard] = field(default_factory=list)
    refusals: Counter[str] = field(default_factory=Counter)
    strange: list[str] = field(default_factory=list)
    cut: Counter[str] = field(default_factory=Counter)
    fault: str = ""
    over: float = float("-inf")

    def begin(self, fault: str) -> None:
        self.fault = fault

    def end(self) -> None:
        self.fault, self.over = "", self.now

    @property
    def now(self) -> float:
        return time.monotonic() - self.begun

    def promised(self, asked: Mapping[str, Any]) -> Promise:
        """Of a request that leaves now."""
        if (pin := asked.get("version")) is not None:
            return Promise(0, pin)
        return Promise(max(self.journal.everywhere, asked.get("min_version", 0)))

    def answered(
        self, sent: float, asked: Mapping[str, Any], promise: Promise, said: Mapping[str, Any]
    ) -> None:
        self.answers.append(
            Heard(
                sent,
                self.now,
                asked["question"],
                promise,
                said["version"],
                said["answer"],
                tuple(said["edits"]),
                said["degraded"],
            )
        )

    def refused(self, status: int, code: str, whole: str) -> None:
        """A problem document. Any that the situation does not explain is strange: without harm there is no reason."""
        self.refusals[f"{status} {code}"] += 1
        harmed = bool(self.fault) or self.now - self.over < LATE_S
        if not harmed or code not in DOCUMENTED.get(status, ()):
            self.strange.append(
                f"{status} {code} at {self.now:.1f} s during {self.fault or 'no fault'}: {whole}"
            )

    def odd(self, reply: httpx.Response) -> None:
        """What is no problem document at all."""
        self.refusals[f"{reply.status_code} no problem document"] += 1
        self.strange.append(
            f"{reply.status_code} at {self.now:.1f} s during {self.fault or 'no fault'}: {reply.text[:200]!r}"
        )

    def broke(self, error: httpx.HTTPError) -> None:
        self.cut[f"{self.fault or 'no fault'}: {type(error).__name__}"] += 1

    def silence_s(self, since: float, until: float) -> float:
        """The longest time between two answers that overlaps the span."""
        came = sorted(one.came for one in self.answers)
        inner = [t for t in came if since <= t <= until]
        before = max((t for t in came if t < since), default=since)
        after = min((t for t in came if t > until), default=until)
        marks = [before, *inner, after]
        return max(later - earlier for earlier, later in pairwise(marks))

    def write(self, path: Path) -> None:
        with path.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(asdict(one)) + "\n" for one in self.answers)


def problem(reply: httpx.Response) -> Mapping[str, Any] | None:
    """The problem document of a refusal; None for anything else."""
    if not reply.headers.get("content-type", "").startswith(PROBLEM):
        return None
    found: Mapping[str, Any] = reply.json()
    return found if "code" in found else None
