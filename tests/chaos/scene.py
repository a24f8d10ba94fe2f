"""Faults and their means, what comes of one, and the check that the service is whole again after it."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random

import httpx
import redis

from tests.chaos.editor import PAUSE_S, Write
from tests.chaos.journal import Correction, Intent, Journal
from tests.chaos.life import REPLICAS, Life
from tests.chaos.recorder import Recorder

WELL_LIMIT_S = 120.0
LOOK_S = 0.1
PARTS = {
    "valkey-server": 1,
    "ServeController": 1,
    "ProxyActor": 1,
    "ServeReplica:errata:ingress": 1,
    "ServeReplica:errata:editor": 1,
    "ServeReplica:errata:nkb": REPLICAS,
}
MARK = "Which probe was the last?"


@dataclass
class Scene:
    """A scene. hold_s: how long a lasting fault lasts. unmet: expectations during a fault that were not met."""

    life: Life
    journal: Journal
    recorder: Recorder
    chance: Random
    hold_s: float
    notes: list[str] = field(default_factory=list)
    unmet: list[str] = field(default_factory=list)

    def expect(self, condition: bool, description: str) -> None:
        if not condition:
            self.unmet.append(f"{self.recorder.fault}: {description}")

    def note(self, text: str) -> None:
        self.notes.append(text)

    def hold(self, until: Callable[[], bool] = lambda: False, limit_s: float | None = None) -> bool:
        """Let the load go on for a while, or until the condition holds; return whether it held."""
        deadline = time.monotonic() + (self.hold_s if limit_s is None else limit_s)
        while time.monotonic() < deadline:
            if until():
                return True
            time.sleep(LOOK_S)
        return False

    def http(self) -> httpx.Client:
        return self.life.service.http()

    def probe(self, http: httpx.Client) -> bool:
        """Send one more commit until it is settled; return whether every replica confirmed it."""
        return self.commit(http, Correction(MARK, f"probe {len(self.journal.intents)}"))

    def commit(self, http: httpx.Client, correction: Correction, wait: str = "all") -> bool:
        """As `probe`, of this correction."""
        intent = Intent("edit", (correction,))
        self.journal.begin(intent)
        deadline = time.monotonic() + WELL_LIMIT_S
        while time.monotonic() < deadline:
            try:
                reply = http.send(Write(intent, wait).request(http))
                if Write(intent).settle(reply, self.journal, self.recorder):
                    return self._everywhere(intent)
            except httpx.HTTPError as error:
                self.recorder.record_break(error)
            time.sleep(PAUSE_S)
        return False

    def _everywhere(self, intent: Intent) -> bool:
        return any(
            commit.intent is intent and commit.everywhere for commit in self.journal.acknowledgements[-20:]
        )

    def wait_until_well(self) -> bool:
        """All parts run, it says that it is ready, and a commit is confirmed by every replica. False: not in time."""
        deadline = time.monotonic() + WELL_LIMIT_S
        with self.http() as http:
            while time.monotonic() < deadline:
                if self._whole() and _ready(http) and self.probe(http):
                    return True
                time.sleep(LOOK_S)
        return False

    def _whole(self) -> bool:
        parts = PARTS | {f"ServeReplica:errata:{self.life.second}": REPLICAS}
        return all(len(self.life.service.pids_of(title)) == count for title, count in parts.items())


def _ready(http: httpx.Client) -> bool:
    try:
        reply = http.get("/readyz")
    except httpx.HTTPError:
        return False
    return reply.status_code == httpx.codes.OK and bool(reply.json()["converged"])


@dataclass(frozen=True)
class Fault:
    """A fault. description: a text for the report. cuts: whether connections of clients may break. silences: whether
    a while may pass without an answer. missing: the reason why it cannot be done here.
    """

    name: str
    description: str
    do: Callable[[Scene], None]
    cuts: bool = False
    silences: bool = False
    missing: Callable[[Scene], str | None] = lambda scene: None


@dataclass(frozen=True)
class FaultResult:
    """What a fault did. Times are seconds since the load began.

    well_s: when the service was whole again; None when it did not become so. missing: why the fault was not done.
    """

    name: str
    description: str
    start_s: float
    end_s: float
    well_s: float | None
    silence_s: float
    answers: int
    refusals: Mapping[str, int]
    notes: tuple[str, ...]
    missing: str | None = None

    @property
    def recovery_s(self) -> float | None:
        """Return the time from the end of the damage until every replica has confirmed a commit."""
        return None if self.well_s is None else self.well_s - self.end_s


def strike(fault: Fault, scene: Scene) -> FaultResult:
    """Do a fault and wait until the service is whole."""
    recorder, start_s = scene.recorder, scene.recorder.now
    missing = fault.missing(scene)
    if missing is not None:
        return FaultResult(fault.name, fault.description, start_s, start_s, start_s, 0.0, 0, {}, (), missing)
    before, answers = recorder.refusals.copy(), len(recorder.answers)
    recorder.begin_fault(fault.name)
    scene.notes = []
    try:
        fault.do(scene)
    except (AssertionError, OSError, redis.RedisError) as error:
        scene.expect(False, f"it could not be done to its end: {error}")
    end_s = recorder.now
    well_s = recorder.now if scene.wait_until_well() else None
    until = recorder.now
    recorder.end_fault()
    return FaultResult(
        fault.name,
        fault.description,
        start_s,
        end_s,
        well_s,
        recorder.silence_s(start_s, until),
        len(recorder.answers) - answers,
        dict(recorder.refusals - before),
        tuple(scene.notes),
    )
