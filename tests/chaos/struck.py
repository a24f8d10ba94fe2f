"""What became of the service by one fault: how long until it was whole again, and what was heard meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import redis

from tests.chaos.faults.fault import Fault
from tests.chaos.scene import Scene


@dataclass(frozen=True)
class Struck:
    """Seconds since the load began. well: None when it did not become whole. missing: why it was not done."""

    name: str
    what: str
    begun: float
    over: float
    well: float | None
    silence_s: float
    answers: int
    refusals: Mapping[str, int]
    notes: tuple[str, ...]
    missing: str | None = None

    @property
    def recovery_s(self) -> float | None:
        """From the end of the damage until every replica has confirmed a commit."""
        return None if self.well is None else self.well - self.over


def strike(fault: Fault, scene: Scene) -> Struck:
    """Does it and waits until the service is whole."""
    ears, begun = scene.ears, scene.ears.now
    missing = fault.missing(scene)
    if missing is not None:
        return Struck(fault.name, fault.what, begun, begun, begun, 0.0, 0, {}, (), missing)
    before, answers = ears.refusals.copy(), len(ears.answers)
    ears.begin(fault.name)
    scene.notes = []
    try:
        fault.do(scene)
    except (AssertionError, OSError, redis.RedisError) as error:
        scene.expect(False, f"it could not be done to its end: {error}")
    over = ears.now
    well = ears.now if scene.wait_until_well() else None
    until = ears.now
    ears.end()
    return Struck(
        fault.name,
        fault.what,
        begun,
        over,
        well,
        ears.silence_s(begun, until),
        len(ears.answers) - answers,
        dict(ears.refusals - before),
        tuple(scene.notes),
    )
