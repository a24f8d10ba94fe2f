"""The result of a file of corrections: its commits, how its lines ended, the first to look at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from errata.bulk.line import Line, Status
from errata.bulk.run import FileRun
from errata.cli.render.drawing import draw_change, draw_lines, make_table
from errata.cli.render.escaping import escape, make_printable, one_line
from errata.cli.render.outcomes import count_edits
from errata.cli.render.receipt import draw_receipt, draw_replication, summarize_warnings
from errata.cli.render.text import plural
from errata.wire import EditReceipt, Outcome

MAX_SHOWN = 10
MAX_SIDE_EFFECTS = 3  # that a dry run names, of each commit
MEANING_OF_STATUS: dict[Status, str] = {
    "no-op": "answered so already",
    "duplicate": "said by an earlier line",
    "replaced": "a later line gives another answer",
    "refused": "left out",
    "taken back": "made before, and taken back since",
    "not sent": "not there yet",
}


def draw_run(run: FileRun, verbose: bool = False) -> RenderableType:
    """Draw the commits of a run, then the lines to look at and a summary of the warnings."""
    statuses: Sequence[Status] = ("refused", "replaced", "done", "no-op")
    parts: list[RenderableType] = []
    if len(run.receipts) == 1:
        receipt, statuses = make_printable(run.receipts[0]), statuses[:2]
        parts += [draw_receipt(receipt, plural(run.count("done"), "edit"), verbose, warns=False)]
        parts += _draw_earlier(run)
        parts += [_draw_statuses(run)] if run.count("done") < len(run.lines) else []
    else:
        parts += [*_draw_commits(run), _draw_statuses(run)]
    n_tests = sum(len(line.tests) for line in run.lines if line.status == "done")
    verb = "would be kept" if run.options["dry_run"] else "kept"
    tests = f"  {plural(n_tests, 'test')} {verb} with the edits: errata check asks them."
    names = sorted({name for line in run.lines for name in line.unused_fields})
    versions = _name_versions(run.reverted_versions).capitalize()
    again = f"{versions} of this file had been taken back, and that stays so: --again makes it anew."
    return Group(
        *parts,
        *_draw_notable_lines(run, statuses),
        *summarize_warnings((line.where, warning) for line in run.lines for warning in line.warnings),
        *draw_lines(
            (tests if n_tests else "", ""),
            (f"  Not used: {escape(', '.join(names))}." if names else "", "dim"),
            (again if run.reverted_versions else "", "yellow"),
        ),
    )


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
        report = receipt.report
        overwritten = [test for test in report.superseded_tests if not test.follows]
        counts = {
            "was replaced unasked": count_edits(overwritten) if overwritten else "",
            "no longer held": count_edits(report.broken_tests) if report.broken_tests else "",
            "changed": plural(len(report.side_effects), "other answer") if report.side_effects else "",
        }
        clauses = [f"{count} {verb}" for verb, count in counts.items() if count]
        if clauses:
            place, details = f"in version {receipt.version}", f"errata show {receipt.version}"
            if not receipt.version:  # a dry run leaves nothing to be shown later, so the first few are named
                place, details = "by one commit", name_effects(report.side_effects)
            style = "red" if overwritten or report.broken_tests else "yellow"
            lines.append(Text(f"  {place} {' and '.join(clauses)}: {details}", style))
    n_more = len(lines) - MAX_SHOWN
    rest = f"  and so in {plural(n_more, 'more version')}" if n_more > 0 else ""
    return [*lines[:MAX_SHOWN], *draw_lines((rest, "yellow"))]


def name_effects(effects: Sequence[Outcome]) -> str:
    names = [f"{effect.question} {draw_change(effect.before, effect.after)}" for effect in effects]
    n_more = len(names) - MAX_SIDE_EFFECTS
    rest = f" and {n_more:,} more" if n_more > 0 else ""
    return escape(one_line("; ".join(names[:MAX_SIDE_EFFECTS]) + rest)) or "--json tells them"


def _draw_statuses(run: FileRun) -> RenderableType:
    """Draw how many lines ended in each way."""
    meanings: dict[Status, str] = {"done": describe_success(run), **MEANING_OF_STATUS}
    counts = Counter(line.status for line in run.lines)
    rows = [(status, f"{counts[status]:,}", text) for status, text in meanings.items() if counts[status]]
    return make_table("", ">", "", rows=rows, indent=2)


def describe_success(run: FileRun) -> str:
    lines = [line for line in run.lines if line.status == "done"]
    n_failing = sum(line.holds is False for line in lines)
    n_wordings, n_follow = sum(line.wordings for line in lines), sum(line.follow for line in lines)
    wordings = f", {n_follow:,} of {n_wordings:,} other wordings follow" if n_wordings else ""
    return f"{n_failing:,} do not hold{wordings}" if n_failing else f"all hold{wordings}"


def _draw_notable_lines(run: FileRun, statuses: Sequence[Status]) -> list[Text]:
    """Draw the first lines to look at: those of some statuses, unless all went well, then those said twice."""
    lines = [line for status in statuses for line in run.lines if line.status == status]
    lines = [line for line in lines if line.holds is not True or line.follow < line.wordings]
    lines += [line for line in run.lines if line.status == "duplicate"]
    n_more = len(lines) - MAX_SHOWN
    rest = f"  and {plural(n_more, 'more line')} to look at: --report FILE writes them all"
    notes = [f"  {escape(one_line(f'{line.where}: {give_reason(line)}'))}" for line in lines[:MAX_SHOWN]]
    return draw_lines(*((note, "yellow") for note in notes), (rest if n_more > 0 else "", "dim"))


def give_reason(line: Line) -> str:
    if line.status in ("done", "no-op"):
        return f"{line.follow} of {plural(line.wordings, 'other wording')} follow"
    return f"{line.status}: {line.detail}"
