"""What a file of corrections came to: its commits, how its lines ended, the first to look at; and its report file."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from errata.bulk.line import Line
from errata.bulk.run import FileRun
from errata.cli.render.receipt import draw_receipt, reach
from errata.cli.render.text import became, one_line, plural, printable, visible
from errata.wire import EditReceipt, SideEffect

MOST_SHOWN = 10
MOST_NAMED = 3  # questions that a dry run changed, of each commit
ENDINGS = ("done", "no-op", "duplicate", "superseded", "refused", "taken back", "not sent")
MEANING = {
    "no-op": "answered so already",
    "duplicate": "said by an earlier line",
    "superseded": "a later line answers anew",
    "refused": "left out",
    "taken back": "made before, and not in force",
    "not sent": "not there yet",
}


def draw_run(run: FileRun) -> RenderableType:
    """Of one commit as of any other; what is worth a word of its lines comes behind."""
    parts: list[RenderableType] = []
    if len(run.receipts) == 1:
        receipt = printable(run.receipts[0])
        parts.append(draw_receipt(receipt, plural(len(receipt.report.edits), "edit")))
        parts += _endings(run) if run.count("done") < len(run.lines) else []
        parts += _notable(run, MOST_SHOWN, warned=False)
    else:
        parts += [*_commits(run), *_endings(run), *_notable(run, MOST_SHOWN, warned=True)]
    parts += [*_held_back(run), *_unused(run), *_taken_back(run)]
    if len(run.versions) > 1:
        parts.append(Text(f"Take it back: {take_back(run)}", style="dim"))
    return Group(*parts)


def so_far(run: FileRun) -> str:
    """For whoever was interrupted; "" where nothing is made."""
    if not run.versions:
        return ""
    done = f"{run.count('done'):,} of {plural(len(run.lines), 'line')}"
    made = f"So far {done} of {run.file} are made, in {_named(run.versions)}."
    return f"{made}\nThe same command again makes the rest. Take it back: {take_back(run)}"


def take_back(run: FileRun) -> str:
    made = run.versions
    one_by_one = f"errata revert {' '.join(ranges(made))}"
    if len(made) > 1 and len(ranges(made)) == 1 and made[0] > max(run.taken_back, default=0):
        return f"{one_by_one} (or in one step, while nothing else has been changed: errata rollback --to {made[0] - 1})"
    return one_by_one


def ranges(versions: Sequence[int]) -> list[str]:
    """[3, 4, 5, 9] as 3-5 and 9."""
    runs: list[list[int]] = []
    for version in sorted(set(versions)):
        if runs and version == runs[-1][-1] + 1:
            runs[-1].append(version)
        else:
            runs.append([version])
    return [str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs]


def _named(versions: Sequence[int]) -> str:
    return f"{'version' if len(versions) == 1 else 'versions'} {', '.join(ranges(versions))}"


def _commits(run: FileRun) -> list[RenderableType]:
    if not run.receipts:
        return [Text("Nothing was changed: there was nothing to do.", style="bold")]
    lines = f"{plural(run.count('done'), 'line')} of {run.file}"
    if run.options.dry_run:
        each = f"Each {run.options.together:,} of them were tried without the others."
        head = Text(f"Dry run: {lines} would be made; nothing was changed.", style="bold")
        return [Text.assemble(head, f" {each}"), *_besides(run.receipts)]
    head = Text(f"{_named(run.versions).capitalize()}: {lines}.", style="bold green")
    earlier = (
        [Text(f"{_named(sorted(run.earlier)).capitalize()} had been made before.")] if run.earlier else []
    )
    return [Text.assemble(head, reach(run.receipts[-1])), *earlier, *_besides(run.receipts)]


def _besides(receipts: Iterable[EditReceipt]) -> list[Text]:
    """What changed that nobody asked for, and where to read more of it."""
    lines = []
    for one in receipts:
        changed, broken = one.report.side_effects, {test.edit for test in one.report.broken_tests}
        told = [f"{plural(len(changed), 'other question')} changed"] if changed else []
        told += [f"{plural(len(broken), 'earlier edit')} no longer held"] if broken else []
        if told:
            where = f"in version {one.version}" if one.version else "by one commit"
            shown = f"errata show {one.version}" if one.version else _first(changed)
            lines.append(Text(f"  {where} {' and '.join(told)}: {shown}", "yellow"))
    more = [Text(f"  and so in {plural(len(lines) - MOST_SHOWN, 'more version')}", "yellow")]
    return [*lines[:MOST_SHOWN], *(more if len(lines) > MOST_SHOWN else [])]


def _first(changed: Sequence[SideEffect]) -> str:
    """A dry run leaves nothing to be shown later, so the first few are named."""
    named = [f"{one.question} {became(one.before, one.after)}" for one in changed[:MOST_NAMED]]
    more = f" and {len(changed) - MOST_NAMED:,} more" if len(changed) > MOST_NAMED else ""
    return visible(one_line("; ".join(named) + more)) or "--json tells them"


def _endings(run: FileRun) -> list[RenderableType]:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 2))
    table.add_column()
    table.add_column(justify="right")
    table.add_column()
    for ending in ENDINGS:
        lines = [line for line in run.lines if line.status == ending]
        if lines:
            table.add_row(ending, f"{len(lines):,}", _carried(lines) if ending == "done" else MEANING[ending])
    return [table]


def _carried(lines: Sequence[Line]) -> str:
    failing = sum(line.holds is False for line in lines)
    given, follow = sum(line.wordings for line in lines), sum(line.follow for line in lines)
    said = [f"{failing:,} do not hold" if failing else "all hold"]
    return ", ".join([*said, *([f"{follow:,} of {given:,} other wordings follow"] if given else [])])


def _held_back(run: FileRun) -> list[Text]:
    asked, out = sum(line.asked for line in run.lines), sum(line.came_out for line in run.lines)
    held = sum(len(line.rephrased) for line in run.lines)
    if asked:
        return [
            Text(
                f"  {out:,} of {asked:,} rephrased prompts follow; they were held back, and asked at the end."
            )
        ]
    return [Text(f"  {plural(held, 'rephrased prompt')} held back, and not asked.")] if held else []


def _unused(run: FileRun) -> list[Text]:
    names = sorted({name for line in run.lines for name in line.unused})
    return [Text(f"  Not used: {visible(', '.join(names))}.", style="dim")] if names else []


def _notable(run: FileRun, most: int, warned: bool) -> list[Text]:
    """Refused lines first, then those that a later one answers anew, that are warned of, that an earlier one said."""
    lines = [line for status in ("refused", "superseded") for line in run.lines if line.status == status]
    lines += [line for line in run.lines if warned and line.status in ("done", "no-op") and _troubled(line)]
    lines += [line for line in run.lines if line.status == "duplicate"]
    shown = [
        Text(f"  {visible(one_line(f'{one.where}: {_why(one)}'))}", style="yellow") for one in lines[:most]
    ]
    left = len(lines) - most
    more = Text(f"  and {plural(left, 'more line')} to look at: --report FILE writes them all", style="dim")
    return [*shown, *([more] if left > 0 else [])]


def _troubled(line: Line) -> bool:
    return bool(line.warnings) or line.holds is False or line.follow < line.wordings


def _why(line: Line) -> str:
    if line.status in ("refused", "superseded", "duplicate"):
        return f"{line.status}: {line.detail}"
    return "; ".join(line.warnings) or f"{line.follow} of {plural(line.wordings, 'other wording')} follow"


def _taken_back(run: FileRun) -> list[Text]:
    if not run.taken_back:
        return []
    were = f"{_named(run.taken_back).capitalize()} of this file had been taken back"
    return [Text(f"{were}, and that stays so: --again makes it anew.", style="yellow")]


CSV, JSONL = ".csv", ".jsonl"
REPORT_SUFFIXES = (JSONL, CSV)


def format_report(lines: Sequence[Line], kind: str) -> str:
    """kind: how the name of the report ends."""
    rows = [line.told() for line in lines]
    if kind == JSONL:
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    out = io.StringIO(newline="")
    table = csv.DictWriter(out, list(rows[0]) if rows else [], lineterminator="\n")
    table.writeheader()
    table.writerows({name: _cell(value) for name, value in row.items()} for row in rows)
    return out.getvalue()


def _cell(value: object) -> object:
    if isinstance(value, list):
        return " | ".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else value
