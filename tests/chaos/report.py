"""A run in words: a table of what was counted, and one of what each fault did."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.chaos.judging import connections, grown, window
from tests.chaos.run import Run
from tests.chaos.struck import Struck
from tests.chaos.verdict import MOST_GROWTH, Check
from tests.chaos.watching import MEGABYTE

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
    yield from _heard(run)
    yield from _growth(run)


def _what_it_was(run: Run) -> Iterator[str]:
    options = run.options
    command = f"python -m tests.chaos --minutes {options.minutes:g} --seed {options.seed}"
    yield f"By `{command}` on {time.strftime('%Y-%m-%d')}: {os.cpu_count()} shared cores, {platform.machine()},"
    yield f"Python {platform.python_version()}. {options.clients} clients and {options.editors} editors for"
    yield f"{run.took_s:.0f} s: {len(run.ears.answers):,} answers, {len(run.commits):,} commits,"
    yield f"{len(run.struck)} faults.\n"


def _promises(checks: Sequence[Check]) -> Iterator[str]:
    yield "| what | found | may be | held |"
    yield "|---|---|---|---|"
    for check in checks:
        form = SHARE if check.most == MOST_GROWTH else COUNT
        held = "yes" if check.held else "**NO**"
        yield f"| {check.what} | {form.format(check.count)} | {form.format(check.most)} | {held} |"
    for check in checks:
        if not check.held:
            yield f"\n{check.what}:\n"
            yield from (f"- {example}" for example in check.examples)
    yield ""


def _faults(run: Run) -> Iterator[str]:
    yield "Whole: all processes there, ready, and a commit made afterwards confirmed by every replica, counted from"
    yield "the end of the damage. Silence: the longest time without any answer to any client. Where every process was"
    yield "killed, the start is part of the damage, and the silence tells how long it took.\n"
    yield "| fault | whole after | silence | answers meanwhile | refusals meanwhile |"
    yield "|---|---|---|---|---|"
    yield from map(_row, run.struck)
    yield ""
    yield from (f"- {note}" for one in run.struck for note in one.notes)
    if run.left_out:
        yield f"\nNo time was left for: {', '.join(fault.name for fault in run.left_out)}."
    yield ""


def _row(one: Struck) -> str:
    if one.missing is not None:
        return f"| {one.what} | left out: {one.missing} | | | |"
    whole = "**never**" if one.recovery_s is None else f"{one.recovery_s:.1f} s"
    refused = ", ".join(f"{count} {what}" for what, count in sorted(one.refusals.items())) or "none"
    return f"| {one.what} | {whole} | {one.silence_s:.1f} s | {one.answers:,} | {refused} |"


def _heard(run: Run) -> Iterator[str]:
    refused = ", ".join(f"{count:,} x {what}" for what, count in run.ears.refusals.most_common()) or "none"
    broken = ", ".join(f"{count:,} x {what}" for what, count in run.ears.cut.most_common()) or "none"
    yield f"Refusals: {refused}.\n"
    yield f"Connections that broke: {broken}.\n"


def _growth(run: Run) -> Iterator[str]:
    span, files = window(run), {one.role: one for one in grown(run, "files")}
    yield f"Growth between {span.begin:.0f} and {span.end:.0f} s, of processes seen for {span.least_s:.0f} s or longer"
    yield f"after they were {span.warm_s:.0f} s old, each with itself, the first third of that time with the last:\n"
    yield "| role | processes | memory, MB | files |"
    yield "|---|---|---|---|"
    for one in grown(run, "rss"):
        memory = f"{one.before / MEGABYTE:.1f} to {one.after / MEGABYTE:.1f} ({one.share:+.1%})"
        yield f"| {one.role} | {one.processes} | {memory} | {files[one.role].before} to {files[one.role].after} |"
    early, late = connections(run, span)
    yield f"\nConnections to Redis: usually {early} in the first third of that time, {late} in the last."
