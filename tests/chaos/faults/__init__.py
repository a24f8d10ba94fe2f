"""The faults in the order in which they are done: kills first, so that the processes after them live longest."""

from tests.chaos.faults import clock, damage, disk, hung, kills, limits
from tests.chaos.scene import Fault

FAULTS: tuple[Fault, ...] = (
    kills.REPLICA,
    kills.REPLICAS,
    kills.EDITOR,
    kills.INGRESS,
    kills.PROXY,
    kills.CONTROLLER,
    kills.VALKEY,
    hung.FROZEN,
    hung.SLOW,
    disk.FULL,
    damage.MANIFEST,
    damage.ROWS,
    limits.BODY,
    limits.VALUE,
)
LAST: tuple[Fault, ...] = (kills.ALL_PROCESSES, clock.CLOCK)
"""Those that end every process."""
