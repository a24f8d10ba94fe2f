"""The ledger's server is there and answers late, or not at all."""

from __future__ import annotations

import signal

from tests.chaos.faults.fault import Fault
from tests.chaos.faults.slow_line import slow_line
from tests.chaos.scene import Scene
from tests.cluster.running import kill

DELAY_S = 0.05  # each way: a commit asks several times
FROZEN_S = 30.0


def _frozen(scene: Scene) -> None:
    (pid,) = scene.life.service.pids_of("valkey-server")
    begun, before = scene.ears.now, len(scene.ears.answers)
    kill(pid, signal.SIGSTOP)
    try:
        scene.hold(limit_s=FROZEN_S)
    finally:
        kill(pid, signal.SIGCONT)
    heard = [one for one in scene.ears.answers[before:] if one.sent > begun]
    scene.expect(bool(heard), "answers go on without the ledger")
    scene.expect(
        any(one.degraded == "ledger_unavailable" for one in heard), "answers say that they may be old"
    )
    scene.note(f"{len(heard)} answers came within {FROZEN_S:g} s of a frozen ledger")


def _slow(scene: Scene) -> None:
    before = len(scene.journal.acknowledged)
    with slow_line(scene.life, DELAY_S):
        scene.hold()
        made = len(scene.journal.acknowledged) - before
    scene.expect(made > 0, "commits are made over a slow line")
    scene.note(f"{made} commits were acknowledged over a line of {2e3 * DELAY_S:g} ms there and back")


FROZEN = Fault("frozen", f"SIGSTOP of Valkey for {FROZEN_S:g} s", _frozen)
SLOW = Fault("slow", f"every reply of Valkey {2e3 * DELAY_S:g} ms late, by a proxy in between", _slow)
