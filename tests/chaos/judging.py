"""All promises of a run, judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tests.chaos.faults.all import FAULTS, LAST
from tests.chaos.run import Run
from tests.chaos.struck import Struck
from tests.chaos.truth import Truth
from tests.chaos.verdict import MOST_GROWTH, Check, counted, of_answers, of_commits
from tests.chaos.watching import ROLES, Growth, Window, early_and_late, growth, together

MORE_CONNECTIONS = 12  # a burst after a fault opens more of a pool, and they stay: 24 in a process at most
MORE_WHILE_CALM = 2
CALM_S = 120.0  # how long a calm stretch has to be
SETTLED_S = 30.0  # after the last fault it begins
WARM_SHARE = 0.2  # of the run: its first minute, of five
MOST_SILENCE_S = 5.0
KEEPING = ("editor", "valkey")  # these have every commit, and grow by it
BYTES_OF_A_COMMIT = 16_384
ALL = (*FAULTS, *LAST)


def judged(run: Run) -> list[Check]:
    truth = Truth(run.commits)
    return [
        *of_answers(run.ears, truth),
        *of_commits(run.journal, run.commits),
        counted("replicas that hold other rows than the ledger says", run.wrong_sums),
        counted("connections that broke where nothing on their way was killed", _cut(run)),
        counted("faults that were not done", _not_done(run)),
        counted("faults after which the service did not become whole", _lasting(run.struck)),
        counted(
            f"faults that left somebody to answer, and {MOST_SILENCE_S:g} s without an answer",
            _silent(run.struck),
        ),
        counted("what was expected during a fault and was not so", run.unmet),
        *_flat(run),
    ]


def _not_done(run: Run) -> list[str]:
    missing = [f"{one.name}: {one.missing}" for one in run.struck if one.missing is not None]
    return [*missing, *(f"{fault.name}: there was no time" for fault in run.left_out)]


def _silent(struck: Sequence[Struck]) -> list[str]:
    silencing = {fault.name for fault in ALL if fault.silences}
    return [
        f"{one.name}: {one.silence_s:.1f} s"
        for one in struck
        if one.silence_s > MOST_SILENCE_S and one.name not in silencing
    ]


def _cut(run: Run) -> list[str]:
    explained = {fault.name for fault in ALL if fault.cuts}
    return [
        f"{count} x {what}" for what, count in run.ears.cut.items() if what.partition(":")[0] not in explained
    ]


def _lasting(struck: Sequence[Struck]) -> list[str]:
    return [one.name for one in struck if one.well is None]


def _flat(run: Run) -> list[Check]:
    memory, files = grown(run, "rss"), grown(run, "files")
    early, late = connections(run, window(run))
    return [
        Check("growth of memory", together(memory).share, MOST_GROWTH),
        _most_grown(run, memory),
        Check("growth of open files", together(files).share, MOST_GROWTH),
        counted("parts of which no process lived long enough to be compared", _unseen(memory)),
        Check("connections to Redis that came to stay", max(0, late - early), MORE_CONNECTIONS),
        *_calm(run),
    ]


def _most_grown(run: Run, memory: Sequence[Growth]) -> Check:
    """From the middle of the first third to that of the last, two thirds of the commits came."""
    span = window(run)
    made = sum(span.begin <= one.at <= span.end for one in run.journal.acknowledged) * 2 / 3
    room = dict.fromkeys(KEEPING, made * BYTES_OF_A_COMMIT)
    shares = {one.role: one.share_above(room.get(one.role, 0.0)) for one in memory}
    role = max(shares, key=lambda one: shares[one], default="none")
    return Check("growth of memory of the part that grew most", shares.get(role, 0.0), MOST_GROWTH, (role,))


def _unseen(memory: Sequence[Growth]) -> list[str]:
    return sorted(set(ROLES.values()) - {one.role for one in memory})


def _calm(run: Run) -> list[Check]:
    """After the last fault but those that end every process, where a run is long enough for that."""
    lasting = {fault.name for fault in LAST}
    over = max((one.well or one.over for one in run.struck if one.name not in lasting), default=0.0)
    span = window(run)
    if span.end - over - SETTLED_S < CALM_S:
        return []
    early, late = connections(run, replace(span, begin=over + SETTLED_S))
    return [
        Check(
            "connections to Redis that came while nothing was harmed", max(0, late - early), MORE_WHILE_CALM
        )
    ]


def grown(run: Run, what: str) -> list[Growth]:
    return growth(run.watch.samples, window(run), what)


def window(run: Run) -> Window:
    """From the end of the warm-up to the first fault that ends every process, or to the end."""
    warm_s = WARM_SHARE * 60 * run.options.minutes
    ends = [one.begun for one in run.struck if one.name in {fault.name for fault in LAST}]
    return Window(warm_s, min([*ends, run.took_s]), warm_s, warm_s)


def connections(run: Run, span: Window) -> tuple[int, int]:
    """Of all processes together, early and late in the window."""
    seen = [count for at, count in run.watch.connections if span.begin <= at <= span.end]
    return early_and_late(seen) if seen else (0, 0)
