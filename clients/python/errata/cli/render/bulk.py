"""The result of a file of corrections: its commits, how its lines ended, the first to look at."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from errata.bulk.line import Status
from errata.bulk.run import FileRun
from errata.cli.render.drawing import draw_change, make_table
from errata.cli.render.escaping import escape, make_printable, one_line
from errata.cli.render.receipt import draw_receipt, draw_replication, summarize_warnings
from errata.cli.render.text import plural
from errata.wire import EditReceipt

MAX_SHOWN = 10
MAX_SIDE_EFFECTS = 3  # that a dry run names, of each commit
MEANING_OF_STATUS = {
    "no-op": "answered so already",
    "duplicate": "said by an earlier line",
    "replaced": "a later line gives another answer",
    "refused": "left out",
    "taken back": "made before, and taken back since",
    "not sent": "not there yet",
}


def draw_run(run: FileRun, verbose: bool = False) -> RenderableType:
    """Draw the commits of a run, then the lines to look at and a summary of the warnings."""
    parts: list[RenderableType] = []
    if len(run.receipts) == 1:
        receipt = make_printable(run.receipts[0])
        parts.append(draw_receipt(receipt, plural(run.count("done"), "edit"), verbose, warns=False))
        parts += _draw_earlier(run)
        parts += [_draw_statuses(run)] if run.count("done") < len(run.lines) else []
        parts += _draw_notable_lines(run, ("refused", "replaced"))
    else:
        parts += [*_draw_commits(run), _draw_statuses(run)]
        parts += _draw_notable_lines(run, ("refused", "replaced", "done", "no-op"))
    parts += summarize_warnings((line.where, warning) for line in run.lines for warning in line.warnings)
    n_tests = sum(len(line.tests) for line in run.lines if line.status == "done")
    if n_tests:
        verb = "would be kept" if run.options["dry_run"] else "kept"
        parts.append(Text(f"  {plural(n_tests, 'test')} {verb} with the edits: errata check asks them."))
    names = sorted({name for line in run.lines for name in line.unused_fields})
    if names:
        parts.append(Text(f"  Not used: {escape(', '.join(names))}.", style="dim"))
    if run.reverted_versions:
        subject = f"{_name_versions(run.reverted_versions).capitalize()} of this file had been taken back"
        parts.append(Text(f"{subject}, and that stays so: --again makes it anew.", style="yellow"))
    return Group(*parts)


def describe_progress(run: FileRun) -> str:
    """Describe, for a person who interrupted it, how far a run came; "" where nothing is made."""
    if not run.versions:
        return ""
    count = f"{run.count('done'):,} of {plural(len(run.lines), 'line')}"
    commits = f"So far {count} of {run.file} are made, in {_name_versions(run.versions)}."
    return f"{commits}\nThe same command again makes the rest. Take it back: {describe_undo(run)}"


def describe_undo(run: FileRun) -> str:
    """Return the commands that take the run back."""
    versions, ranges = run.versions, join_ranges(run.versions)
    command = f"errata revert {' '.join(ranges)}"
    if len(versions) > 1 and len(ranges) == 1 and versions[0] > max(run.reverted_versions, default=0):
        rollback = f"errata rollback --to {versions[0] - 1}"
        return f"{command}, or in one step, if nothing came after: {rollback}"
    return command


def join_ranges(versions: Sequence[int]) -> list[str]:
    """Join adjacent versions: 3, 4, 5 and 9 are 3-5 and 9."""
    ranges: list[list[int]] = []
    for version in sorted(set(versions)):
        if ranges and version == ranges[-1][-1] + 1:
            ranges[-1].append(version)
        else:
            ranges.append([version])
    return [str(span[0]) if len(span) == 1 else f"{span[0]}-{span[-1]}" for span in ranges]


def _name_versions(versions: Sequence[int]) -> str:
    return f"{'version' if len(versions) == 1 else 'versions'} {', '.join(join_ranges(versions))}"


def _draw_commits(run: FileRun) -> list[RenderableType]:
    if not run.receipts:
        return [Text("Nothing was changed: there was nothing to do.", style="bold")]
    lines = f"{plural(run.count('done'), 'line')} of {run.file}"
    if run.options["dry_run"]:
        caveat = f" Each {run.options['batch_size']:,} of them were tried without the others."
        headline = Text(f"Dry run: {lines} would be made; nothing was changed.", style="bold")
        return [Text.assemble(headline, caveat), *_draw_effects(run.receipts)]
    headline = Text(f"{_name_versions(run.versions).capitalize()}: {lines}.", style="bold green")
    headline = Text.assemble(headline, draw_replication(run.receipts[-1]))
    undo = [Text(f"Take it back: {describe_undo(run)}", style="dim")] if len(run.versions) > 1 else []
    return [headline, *undo, *_draw_earlier(run), *_draw_effects(run.receipts)]


def _draw_earlier(run: FileRun) -> list[Text]:
    if not run.earlier_versions:
        return []
    return [Text(f"{_name_versions(sorted(run.earlier_versions)).capitalize()} had been made before.")]


def _draw_effects(receipts: Iterable[EditReceipt]) -> list[Text]:
    """Draw the commits that changed more than their own questions, and where to read more of each."""
    lines: list[Text] = []
    for receipt in receipts:
        side_effects = receipt.report.side_effects
        broken = {test.edit for test in receipt.report.broken_tests}
        overwritten = {test.edit for test in receipt.report.superseded_tests if not test.follows}
        clauses = [f"{plural(len(overwritten), 'earlier edit')} was replaced unasked"] if overwritten else []
        clauses += [f"{plural(len(broken), 'earlier edit')} no longer held"] if broken else []
        clauses += [f"{plural(len(side_effects), 'other answer')} changed"] if side_effects else []
        if clauses:
            place = f"in version {receipt.version}" if receipt.version else "by one commit"
            details = f"errata show {receipt.version}"
            if not receipt.version:  # a dry run leaves nothing to be shown later, so the first few are named
                effects = (
                    f"{effect.question} {draw_change(effect.before, effect.after)}"
                    for effect in side_effects[:MAX_SIDE_EFFECTS]
                )
                n_more = len(side_effects) - MAX_SIDE_EFFECTS
                names = "; ".join(effects) + (f" and {n_more:,} more" if n_more > 0 else "")
                details = escape(one_line(names)) or "--json tells them"
            style = "red" if overwritten or broken else "yellow"
            lines.append(Text(f"  {place} {' and '.join(clauses)}: {details}", style))
    if len(lines) > MAX_SHOWN:
        rest = f"  and so in {plural(len(lines) - MAX_SHOWN, 'more version')}"
        lines[MAX_SHOWN:] = [Text(rest, "yellow")]
    return lines


def _draw_statuses(run: FileRun) -> RenderableType:
    """Draw how many lines ended in each way."""
    table = make_table("", ">", "", indent=2)
    for status in ("done", *MEANING_OF_STATUS):
        lines = [line for line in run.lines if line.status == status]
        if not lines:
            continue
        meaning = MEANING_OF_STATUS.get(status, "")
        if status == "done":
            n_failing = sum(line.holds is False for line in lines)
            n_wordings, n_follow = sum(line.wordings for line in lines), sum(line.follow for line in lines)
            meaning = f"{n_failing:,} do not hold" if n_failing else "all hold"
            meaning += f", {n_follow:,} of {n_wordings:,} other wordings follow" if n_wordings else ""
        table.add_row(status, f"{len(lines):,}", meaning)
    return table


def _draw_notable_lines(run: FileRun, statuses: Sequence[Status]) -> list[Text]:
    """Draw the first lines to look at: those of some statuses, unless all went well, then those said twice."""
    lines = [line for status in statuses for line in run.lines if line.status == status]
    lines = [line for line in lines if line.holds is not True or line.follow < line.wordings]
    lines += [line for line in run.lines if line.status == "duplicate"]
    parts: list[Text] = []
    for line in lines[:MAX_SHOWN]:
        reason = f"{line.status}: {line.detail}"
        if line.status in ("done", "no-op"):
            reason = f"{line.follow} of {plural(line.wordings, 'other wording')} follow"
        parts.append(Text(f"  {escape(one_line(f'{line.where}: {reason}'))}", style="yellow"))
    if len(lines) > MAX_SHOWN:
        rest = (
            f"  and {plural(len(lines) - MAX_SHOWN, 'more line')} to look at: --report FILE writes them all"
        )
        parts.append(Text(rest, style="dim"))
    return parts
