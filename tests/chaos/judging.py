"""All promises of a run, judged."""

from __future__ import annotations

from collections.abc import Sequence

from tests.chaos.faults.all import FAULTS, LAST
from tests.chaos.run import Run
from tests.chaos.struck import Struck
from tests.chaos.truth import Truth
from tests.chaos.verdict import MOST_GROWTH, Check, counted, of_answers, of_commits
from tests.chaos.watching import Growth, Window, early_and_late, growth, together

MORE_CONNECTIONS = 12  # a burst after a fault opens more of a pool, and they stay: 24 in a process at most
WARM_SHARE = 0.2  # of the run: its first minute, of five


def judged(run: Run) -> list[Check]:
    truth = Truth(run.commits)
    return [
        *of_answers(run.ears, truth),
        *of_commits(run.journal, run.commits),
        counted("replicas that hold other rows than the ledger says", run.wrong_sums),
        counted("connections that broke where nothing on their way was killed", _cut(run)),
        counted("faults after which the service did not become whole", _lasting(run.struck)),
        counted("what was expected during a fault and was not so", run.unmet),
        *_flat(run),
    ]


def _cut(run: Run) -> list[str]:
    explained = {fault.name for fault in (*FAULTS, *LAST) if fault.cuts}
    return [
        f"{count} x {what}" for what, count in run.ears.cut.items() if what.partition(":")[0] not in explained
    ]


def _lasting(struck: Sequence[Struck]) -> list[str]:
    return [one.name for one in struck if one.well is None]


def _flat(run: Run) -> list[Check]:
    memory, files = grown(run, "rss"), grown(run, "files")
    early, late = connections(run)
    further = max(0, late - early)
    return [
        Check("growth of memory", together(memory).share, MOST_GROWTH),
        Check("growth of open files", together(files).share, MOST_GROWTH),
        Check("connections to Redis that came to stay", further, MORE_CONNECTIONS),
    ]


def grown(run: Run, what: str) -> list[Growth]:
    return growth(run.watch.samples, window(run), what)


def window(run: Run) -> Window:
    """From the end of the warm-up to the first fault that ends every process, or to the end."""
    warm_s = WARM_SHARE * 60 * run.options.minutes
    ends = [one.begun for one in run.struck if one.name in {fault.name for fault in LAST}]
    return Window(warm_s, min([*ends, run.took_s]), warm_s, warm_s)


def connections(run: Run) -> tuple[int, int]:
    """Of all processes together, early and late in the window."""
    span = window(run)
    seen = [count for at, count in run.watch.connections if span.begin <= at <= span.end]
    return early_and_late(seen) if seen else (0, 0)
