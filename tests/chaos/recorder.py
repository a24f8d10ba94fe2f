"""Records the clients' results: every answer with the promises made for it, and every refusal with its code."""

import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx

from tests.chaos.journal import Journal

EXPECTED_CODES = {
    httpx.codes.SERVICE_UNAVAILABLE: ("not_ready", "version_ahead", "ledger_unavailable", "ledger_corrupt"),
    httpx.codes.TOO_MANY_REQUESTS: ("too_many",),
}
PROBLEM = "application/problem+json"
OK = 400
LATE_S = 10.0  # after a fault, during which requests sent in the fault may still be refused


@dataclass(frozen=True)
class Promise:
    """A request's promises. floor: least version, by min_version or confirmed by every replica. pin: exact version."""

    floor: int
    pin: int | None = None


@dataclass(frozen=True)
class ObservedAnswer:
    """One answer. Times are seconds since the load began. away: systems that it says it lacks."""

    sent_s: float
    received_s: float
    question: str
    promise: Promise
    version: int
    answer: str | None
    edits: tuple[str, ...]
    degraded: str | None
    away: tuple[str, ...]


@dataclass
class Recorder:
    """Everything that came back.

    broken_connections: by the fault under way. unexplained_refusals: those that nothing is a reason for. start_s: when
    the load began, by the monotonic clock. end_s: when the last fault ended, since then. facts: imported ones that were
    answered or declined. admitted_strangers: what was not refused to somebody without a key. mixed_batches: those whose
    answers are of several versions.
    """

    journal: Journal
    start_s: float = field(default_factory=time.monotonic)
    answers: list[ObservedAnswer] = field(default_factory=list)
    refusals: Counter[str] = field(default_factory=Counter)
    unexplained_refusals: list[str] = field(default_factory=list)
    broken_connections: Counter[str] = field(default_factory=Counter)
    facts: Counter[str] = field(default_factory=Counter)
    wrong_facts: list[str] = field(default_factory=list)
    admitted_strangers: list[str] = field(default_factory=list)
    mixed_batches: list[str] = field(default_factory=list)
    fault: str = ""
    end_s: float = float("-inf")

    def begin_fault(self, fault: str) -> None:
        self.fault = fault

    def end_fault(self) -> None:
        self.fault, self.end_s = "", self.now

    @property
    def now(self) -> float:
        return time.monotonic() - self.start_s

    def promise_for(self, request: Mapping[str, Any]) -> Promise:
        """Return the promises for a request that is sent now."""
        if (pin := request.get("version")) is not None:
            return Promise(0, pin)
        return Promise(max(self.journal.everywhere, request.get("min_version", 0)))

    def record_answer(
        self, sent_s: float, request: Mapping[str, Any], promise: Promise, answer: Mapping[str, Any]
    ) -> None:
        self.answers.append(
            ObservedAnswer(
                sent_s,
                self.now,
                request["question"],
                promise,
                answer["version"],
                answer["answer"],
                tuple(answer["edits"]),
                answer["degraded"],
                tuple(answer.get("away", ())),
            )
        )

    def record_batch(
        self, batch: Sequence[Mapping[str, Any]], answers: Sequence[Mapping[str, Any] | None]
    ) -> None:
        """Record the versions of the answers to questions that name none."""
        pairs = zip(batch, answers, strict=True)
        versions = {answer["version"] for question, answer in pairs if answer and "version" not in question}
        if len(versions) > 1:
            self.mixed_batches.append(
                f"versions {sorted(versions)} at {self.now:.1f} s during {self.fault or 'no fault'}"
            )

    def record_refusal(self, status: int, code: str, detail: str) -> None:
        """Record a problem document. A fault that is under way, or ended just now, explains its expected codes."""
        self.refusals[f"{status} {code}"] += 1
        is_faulty = bool(self.fault) or self.now - self.end_s < LATE_S
        if not is_faulty or code not in EXPECTED_CODES.get(status, ()):
            self.unexplained_refusals.append(
                f"{status} {code} at {self.now:.1f} s during {self.fault or 'no fault'}: {detail}"
            )

    def record_unreadable(self, reply: httpx.Response) -> None:
        """Record a refusal that is not a problem document."""
        self.refusals[f"{reply.status_code} no problem document"] += 1
        self.unexplained_refusals.append(
            f"{reply.status_code} at {self.now:.1f} s during {self.fault or 'no fault'}: {reply.text[:200]!r}"
        )

    def record_fact(self, subject: str, relation: str, answer: str | None, expected: str) -> None:
        self.facts["declined" if answer is None else "answered"] += 1
        if answer not in (None, expected):
            self.wrong_facts.append(f"{relation} of {subject}: {answer!r} at {self.now:.1f} s")

    def record_stranger(self, request: str, status: int) -> None:
        self.admitted_strangers.append(
            f"{status} to {request} at {self.now:.1f} s during {self.fault or 'no fault'}"
        )

    def record_break(self, error: httpx.HTTPError) -> None:
        self.broken_connections[f"{self.fault or 'no fault'}: {type(error).__name__}"] += 1

    def silence_s(self, since: float, until: float) -> float:
        """Return the longest time between two answers that overlaps the span."""
        times = sorted(answer.received_s for answer in self.answers)
        inner = [t for t in times if since <= t <= until]
        before = max((t for t in times if t < since), default=since)
        after = min((t for t in times if t > until), default=until)
        marks = [before, *inner, after]
        return max(later - earlier for earlier, later in pairwise(marks))

    def write(self, path: Path) -> None:
        with path.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(asdict(answer)) + "\n" for answer in self.answers)


def problem(reply: httpx.Response) -> Mapping[str, Any] | None:
    """Return the problem document of a refusal; None for any other reply."""
    if not reply.headers.get("content-type", "").startswith(PROBLEM):
        return None
    body: Mapping[str, Any] = reply.json()
    return body if "code" in body else None
