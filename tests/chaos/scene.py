"""The means of a fault, and the check that the service is whole again after it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

import httpx

from tests.chaos.journal import Correction, Intent, Journal
from tests.chaos.life import REPLICAS, Life
from tests.chaos.recorder import Recorder
from tests.chaos.write import PAUSE_S, Write

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
