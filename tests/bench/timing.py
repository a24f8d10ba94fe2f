"""Medians of interleaved rounds: a noisy machine is noisy for both sides alike."""

import statistics
import time
from collections.abc import Callable, Mapping


def interleaved(sides: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Median seconds of each side, every round measuring all of them once. The first round is not counted."""
    taken: dict[str, list[float]] = {name: [] for name in sides}
    for count in range(rounds + 1):
        for name, run in sides.items():
            started = time.perf_counter()
            run()
            if count:
                taken[name].append(time.perf_counter() - started)
    return {name: statistics.median(seconds) for name, seconds in taken.items()}


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
