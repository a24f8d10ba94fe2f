"""Whether Ray Serve can put its actors so that one of them finds no place, in whatever order, wherever the others are.

Its scheduler spreads actors over the machines and does not look ahead. What a machine has and what an actor takes is
reckoned by Ray's own code, `max_replicas_per_node` included; each order and each place that fits is tried.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from ray.serve._private.common import DeploymentID
from ray.serve._private.deployment_scheduler import (
    AvailableNodeResources,
    DeploymentSchedulingInfo,
    RequestedResources,
    SpreadDeploymentSchedulingPolicy,
)

from service.config import Settings

Machine = tuple[int, ...]  # number of actors of each part on a machine
RESOURCES = {"num_cpus": "CPU", "num_gpus": "GPU"}


@dataclass(frozen=True)
class Part:
    """A deployment. count: largest number of its actors."""

    name: str
    count: int
    resources: Mapping[str, float]
    max_per_machine: int | None

    @staticmethod
    def read(deployment: Mapping[str, Any], settings: Settings) -> Part:
        """Read an entry under `deployments` in deploy/serve."""
        name = deployment["name"]
        count = deployment.get("num_replicas", settings.replica_limit if name in settings.systems else 1)
        options = deployment["ray_actor_options"]
        resources = {RESOURCES[option]: amount for option, amount in options.items()}
        return Part(name, count, resources, deployment.get("max_replicas_per_node"))

    def required(self) -> RequestedResources:
        return DeploymentSchedulingInfo(
            DeploymentID(self.name, "errata"),
            SpreadDeploymentSchedulingPolicy(),
            actor_resources=RequestedResources(self.resources),
            max_replicas_per_node=self.max_per_machine,
        ).required_resources

    def on(self, machines: int) -> int:
        """Return how many of its actors this many machines may have."""
        return min(self.count, machines * (self.max_per_machine or self.count))


def can_get_stuck(parts: Sequence[Part], machine: Mapping[str, float], machines: int) -> bool:
    """Return whether some actor may find no place on so many equal machines."""
    required = [part.required() for part in parts]

    def fits(load: Machine, index: int) -> bool:
        free = AvailableNodeResources(machine)
        for part, count in enumerate(load):
            for _ in range(count):
                free = free - required[part]
        return bool(free.can_fit(required[index]))

    @cache
    def search(state: tuple[Machine, ...], pending: Machine) -> bool:
        return any(count and place(state, pending, index) for index, count in enumerate(pending))

    def place(state: tuple[Machine, ...], pending: Machine, index: int) -> bool:
        places = {load for load in state if fits(load, index)}
        rest = change(pending, index, -1)
        return not places or any(search(put(state, load, index), rest) for load in places)

    return search(((0,) * len(parts),) * machines, tuple(part.on(machines) for part in parts))


def put(state: tuple[Machine, ...], load: Machine, index: int) -> tuple[Machine, ...]:
    """Sorted, since machines are alike."""
    rest = [*state]
    rest.remove(load)
    return tuple(sorted([*rest, change(load, index, 1)]))


def change(counts: Machine, index: int, by: int) -> Machine:
    return (*counts[:index], counts[index] + by, *counts[index + 1 :])
