"""Medians of interleaved rounds: a noisy machine is noisy for both sides alike."""

import math
import statistics
import time
from collections.abc import Callable, Mapping


def interleaved(sides: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Median seconds of each side, every round measuring all of them once. The first round is not counted."""
    taken: dict[str, list[float]] = {name: [] for name in sides}
    for count in range(rounds + 1):
        for name, run in sides.items():
            seconds = _seconds(run)
            if count:
                taken[name].append(seconds)
    return {name: statistics.median(seconds) for name, seconds in taken.items()}


def cost(sides: Mapping[str, Callable[[], object]], rounds: int) -> float:
    """By how many per cent the first side takes longer: median of the rounds' own ratios, each side first in turn.

    What disturbs a round disturbs both sides of it, so small costs need many short rounds and not long ones.
    """
    (one, first), (other, second) = sides.items()
    ratios = []
    for count in range(rounds + 1):
        taken = {name: _seconds(run) for name, run in _turned([(one, first), (other, second)], count)}
        if count:
            ratios.append(taken[one] / taken[other])
    return 100 * (statistics.median(ratios) - 1)


def _turned(
    sides: list[tuple[str, Callable[[], object]]], count: int
) -> list[tuple[str, Callable[[], object]]]:
    return sides if count % 2 else sides[::-1]


def _seconds(run: Callable[[], object]) -> float:
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def percentile(values: list[float], share: float) -> float:
    """By nearest rank: the smallest value that this share of all does not exceed."""
    return sorted(values)[math.ceil(share * len(values)) - 1]
