"""The report of a run: a table of its counts, and one of the effect of each fault."""

import os
import platform
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.chaos.client import N_SUBJECTS
from tests.chaos.run import Run
from tests.chaos.scene import FaultResult
from tests.chaos.verdict import Check, count_connections, measure_growth, window
from tests.chaos.watch import MEGABYTE

COUNT, SHARE = "{:,.0f}", "{:.1%}"


def show(run: Run, checks: Sequence[Check]) -> None:
    print("\n".join(_lines(run, checks)))


def write(path: Path, run: Run, checks: Sequence[Check]) -> None:
    path.write_text("\n".join(_lines(run, checks)) + "\n", encoding="utf-8")


def _lines(run: Run, checks: Sequence[Check]) -> Iterator[str]:
    yield "# Load and faults\n"
    yield from _what_it_was(run)
    yield from _promises(checks)
    yield from _faults(run)
    yield from _refusals(run)
    yield from _growth(run)


def _what_it_was(run: Run) -> Iterator[str]:
    options = run.options
    wide = " --wide" if options.wide else ""
    command = f"python -m tests.chaos{wide} --minutes {options.minutes:g} --seed {options.seed}"
    yield f"By `{command}` on {time.strftime('%Y-%m-%d')}: {os.cpu_count()} shared cores, {platform.machine()},"
    yield f"Python {platform.python_version()}. {options.clients} clients and {options.editors} editors for"
    yield f"{run.took_s:.0f} s: {len(run.recorder.answers):,} answers, {len(run.commits):,} commits,"
    yield f"{len(run.results)} faults.\n"
    if options.wide:
        yield f"Reachable from outside, with keys and limits, beside {options.strangers} strangers; `kbert` reads an"
        yield f"imported graph of {2 * N_SUBJECTS:,} triples: {_list_counts(run.recorder.facts)}.\n"


def _promises(checks: Sequence[Check]) -> Iterator[str]:
    yield "| what | found | may be | held |"
    yield "|---|---|---|---|"
    for check in checks:
        form = SHARE if 0 < check.limit < 1 else COUNT
        answer = "yes" if check.is_kept else "**NO**"
        yield f"| {check.description} | {form.format(check.count)} | {form.format(check.limit)} | {answer} |"
    for check in checks:
        if not check.is_kept:
            yield f"\n{check.description}:\n"
            yield from (f"- {example}" for example in check.examples)
    yield ""


def _faults(run: Run) -> Iterator[str]:
    yield "Whole: all processes there, ready, and a commit made afterwards confirmed by every replica, counted from"
    yield "the end of the damage. Silence: the longest time without any answer to any client. If every process was"
    yield "killed, the damage includes the new start, whose time the silence shows.\n"
    yield "| fault | whole after | silence | answers meanwhile | refusals meanwhile |"
    yield "|---|---|---|---|---|"
    yield from map(_row, run.results)
    yield ""
    yield from (f"- {note}" for result in run.results for note in result.notes)
    if run.skipped:
        yield f"\nNo time was left for: {', '.join(fault.name for fault in run.skipped)}."
    yield ""


def _row(result: FaultResult) -> str:
    if result.missing is not None:
        return f"| {result.description} | left out: {result.missing} | | | |"
    whole = "**never**" if result.recovery_s is None else f"{result.recovery_s:.1f} s"
    refused = ", ".join(f"{count} {cause}" for cause, count in sorted(result.refusals.items())) or "none"
    return f"| {result.description} | {whole} | {result.silence_s:.1f} s | {result.answers:,} | {refused} |"


def _refusals(run: Run) -> Iterator[str]:
    recorder = run.recorder
    yield f"Refusals: {_list_counts(recorder.refusals)}.\n"
    yield f"Connections that broke: {_list_counts(recorder.broken_connections)}.\n"


def _list_counts(counts: Counter[str]) -> str:
    return ", ".join(f"{count:,} x {cause}" for cause, count in counts.most_common()) or "none"


def _growth(run: Run) -> Iterator[str]:
    span, files = window(run), {part.role: part for part in measure_growth(run, "files")}
    yield f"Growth between {span.begin:.0f} and {span.end:.0f} s, of processes seen for {span.least_s:.0f} s or longer"
    yield f"after they were {span.warm_s:.0f} s old, each with itself, the first third of that time with the last:\n"
    yield "| role | processes | memory, MB | files |"
    yield "|---|---|---|---|"
    for part in measure_growth(run, "rss"):
        memory = f"{part.before / MEGABYTE:.1f} to {part.after / MEGABYTE:.1f} ({part.share:+.1%})"
        yield f"| {part.role} | {part.processes} | {memory} | {files[part.role].before} to {files[part.role].after} |"
    early, late = count_connections(run, span)
    yield f"\nConnections to Redis: usually {early} in the first third of that time, {late} in the last."
