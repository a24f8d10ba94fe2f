"""The effect of one fault on the service: the time until it was whole again, and messages meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import redis

from tests.chaos.faults.fault import Fault
from tests.chaos.scene import Scene


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
