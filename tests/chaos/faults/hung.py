"""The ledger's server answers late, or not at all."""

from __future__ import annotations

import signal

from tests.chaos.faults.fault import Fault
from tests.chaos.faults.slow_line import slow_line
from tests.chaos.scene import Scene
from tests.cluster.running import kill

DELAY_S = 0.05  # each way; a commit asks several times
FROZEN_S = 30.0


def _frozen(scene: Scene) -> None:
    (pid,) = scene.life.service.pids_of("valkey-server")
    start_s, before = scene.recorder.now, len(scene.recorder.answers)
    kill(pid, signal.SIGSTOP)
    try:
        scene.hold(limit_s=FROZEN_S)
    finally:
        kill(pid, signal.SIGCONT)
    answers = [answer for answer in scene.recorder.answers[before:] if answer.sent_s > start_s]
    scene.expect(bool(answers), "answers go on without the ledger")
    scene.expect(
        any(answer.degraded == "ledger_unavailable" for answer in answers), "answers say that they may be old"
    )
    scene.note(f"{len(answers)} answers came within {FROZEN_S:g} s of a frozen ledger")


def _slow(scene: Scene) -> None:
    before = len(scene.journal.acknowledgements)
    with slow_line(scene.life, DELAY_S):
        scene.hold()
        n_commits = len(scene.journal.acknowledgements) - before
    scene.expect(n_commits > 0, "commits are made over a slow line")
    scene.note(f"{n_commits} commits were acknowledged over a line of {2e3 * DELAY_S:g} ms there and back")


FROZEN = Fault("frozen", f"SIGSTOP of Valkey for {FROZEN_S:g} s", _frozen)
SLOW = Fault("slow", f"every reply of Valkey {2e3 * DELAY_S:g} ms late, by a proxy in between", _slow)
