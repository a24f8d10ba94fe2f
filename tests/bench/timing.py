"""Medians of interleaved rounds: a noisy machine is noisy for both sides alike."""

import math
import statistics
import time
from collections.abc import Callable, Mapping


def measure_interleaved(sides: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Return the median seconds of each side; every round measures each side once. The first round is not counted."""
    seconds_by_side: dict[str, list[float]] = {name: [] for name in sides}
    for number in range(rounds + 1):
        for name, run in sides.items():
            seconds = _time(run)
            if number:
                seconds_by_side[name].append(seconds)
    return {name: statistics.median(seconds) for name, seconds in seconds_by_side.items()}


def measure_cost(sides: Mapping[str, Callable[[], object]], rounds: int) -> float:
    """Return by how many per cent the first side takes longer: the median ratio of rounds, each side first in turn.

    What disturbs a round disturbs both sides of it, so small costs need many short rounds and not long ones.
    """
    (first_name, first), (second_name, second) = sides.items()
    ratios = []
    for number in range(rounds + 1):
        seconds = {
            name: _time(run) for name, run in _alternate([(first_name, first), (second_name, second)], number)
        }
        if number:
            ratios.append(seconds[first_name] / seconds[second_name])
    return 100 * (statistics.median(ratios) - 1)


def _alternate(
    sides: list[tuple[str, Callable[[], object]]], number: int
) -> list[tuple[str, Callable[[], object]]]:
    return sides if number % 2 else sides[::-1]


def _time(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def percentile(values: list[float], share: float) -> float:
    """Return a percentile by nearest rank: the smallest value that this share of all does not exceed."""
    return sorted(values)[math.ceil(share * len(values)) - 1]
