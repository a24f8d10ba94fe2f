"""The receipt of a change: its version, what else it changed, how to take it back, and each question's answers."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from errata import wire
from errata.cli.render.drawing import FLAGS, draw_lines, make_table
from errata.cli.render.escaping import escape, one_line
from errata.cli.render.graph import describe_act, describe_change, draw_triples, group_facts, is_fact
from errata.cli.render.outcomes import (
    Row,
    count_edits,
    draw_outcomes,
    draw_section,
    draw_tests,
    list_edit,
    list_fact,
    list_undone,
)
from errata.cli.render.text import milliseconds, plural, seconds
from errata.wire import EditReceipt, EditReport, Outcome
from errata.wire.wording import name_fields, normalize_question

MAX_SHOWN = 10  # edits, or questions, shown one by one; of more, those that went well are only counted
MAX_PLACES = 3
MAX_REJECTED_LINES = 20
PACK = "the facts that Errata came with"
PACK_AND_EDITS = "the facts that Errata came with, and of edits,"
# Quotations and shares, which differ between warnings of one kind
PARTICULARS = re.compile(r"(?<!\w)(?:'[^']*'|\"[^\"]*\")(?!\w)|\b\d+ %")


def draw_receipt(
    receipt: EditReceipt, summary: str, verbose: bool = False, warns: bool = True
) -> RenderableType:
    """Draw the receipt of one change, whose `summary` says what the command did, e.g. `version 3 is taken back`."""
    report = receipt.report
    names_places = len(group_facts(report.edits)) > 1
    warnings = [
        (names_places * (edit.question or describe_change(edit.notes)), warning)
        for edit in report.edits
        for warning in edit.warnings
        if warns
    ]
    capacity = report.capacity
    costs = [f"all edits take {plural(capacity.slots_used, 'slot')} of {capacity.slots_reserved:,}"]
    costs += [f"{name.removesuffix('_ms')} {milliseconds(ms)}" for name, ms in report.timings]
    return Group(
        *draw_head(receipt, summary),
        *(draw_edits(report.edits, verbose) if receipt.kind == "edit" else draw_undone(report.edits)),
        *draw_details(report, receipt.kind),
        *summarize_warnings([*warnings, *(("", warning) for warning in capacity.warnings)]),
        *draw_lines((" · ".join(costs) if verbose else "", "dim")),
    )


def draw_head(receipt: EditReceipt, summary: str) -> list[RenderableType]:
    """Draw two lines: the version, which replicas have it and how to take it back; then what else it changed."""
    edits = receipt.report.edits
    if receipt.version is not None:
        head = Text(f"Version {receipt.version}: {summary}.", style="bold green")
    elif edits and not any(edit.id for edit in edits):
        head = Text("Dry run: all of it is answered so already, and would be refused.", style="bold")
    else:
        head = Text(f"Dry run: {summary} would do this; nothing was changed.", style="bold")
    head = Text.assemble(head, draw_replication(receipt))
    undo = f" Take it back: errata revert {receipt.version}" if receipt.version is not None else ""
    return [head.append(undo, style="dim"), *draw_effects(receipt.report)]


def draw_replication(receipt: EditReceipt) -> Text:
    """Return which replicas have the version."""
    replicas, version = receipt.replicas, receipt.version or 0
    if not version or receipt.all_applied:
        return Text(" Every replica has it." if version else "")
    late = [replica for replica in replicas if replica.version < version]
    names = ", ".join(f"{replica.replica} (at version {replica.version})" for replica in late)
    state = "Not every replica is running now; each that starts will have it."
    if not replicas:
        state = "Did not wait for replicas."
    elif late:
        state = f"{len(late)} of {plural(len(replicas), 'replica')} did not confirm it in time: {names}."
    return Text(f" {state}", style="yellow")


def draw_effects(report: wire.Report) -> list[Text]:
    """Return one line on other answers and earlier edits, of which the receipt says more below its own."""
    if report.report_note:
        note = f"{report.report_note[:1].upper()}{report.report_note[1:]}."
        return [Text(note, style="yellow" if report.report_state == "missing" else "dim")]
    effects, extent = report.side_effects, _count_compared(report)
    counts = {
        "replaced": [test for test in report.superseded_tests if test.follows],
        "replaced unasked": [test for test in report.superseded_tests if not test.follows],
        "broken": report.broken_tests,
    }
    clauses = [f"{count_edits(tests)} {word}" for word, tests in counts.items() if tests]
    if not effects and not clauses:
        return [Text(f"No other answer of {PACK} changed: {extent}.")] if report.probes else []
    count = plural(len(effects), "other answer") if effects else "no other answer"
    clauses = [f"{count} changed ({extent})"] * bool(report.probes or effects) + clauses
    return [Text(f"Besides: {', '.join(clauses)}.", style="yellow")]


def _count_compared(effects: wire.ProbeEffects) -> str:
    if not effects.unmeasured_probes:
        return f"{plural(effects.probes, 'question')} compared"
    total = plural(effects.probes + effects.unmeasured_probes, "question")
    return f"{effects.probes:,} of {total} compared, those likeliest to change"


def draw_other_answers(owner: str, effects: wire.ProbeEffects) -> list[RenderableType]:
    """Draw the changed answers to questions that no edit is about, or a line saying that none changed."""
    extent = _count_compared(effects)
    if not effects.side_effects:
        return [Text(f"No other answer of {owner} changed: {extent}.")] if effects.probes else []
    count = f"{plural(len(effects.side_effects), 'other answer')} of {owner} changed too ({extent}):"
    return draw_section(count, "yellow", map(Row, effects.side_effects))


def draw_details(report: wire.Report, kind: wire.Kind = "edit") -> list[RenderableType]:
    """Draw the earlier edits that were replaced by mistake, those that broke, those replaced on purpose, other answers.

    Edits of other questions that were named to be replaced stand in front of those that broke.
    """
    wordings = {edit.question for edit in report.edits}
    wordings |= {other.question for edit in report.edits for other in edit.paraphrases}
    keys = set(map(normalize_question, wordings))
    intruders = [test for test in report.superseded_tests if not test.follows]
    successions = [
        test
        for test in report.superseded_tests
        if test.follows and kind == "edit" and normalize_question(test.question) not in keys
    ]
    same = [test for test in report.superseded_tests if test.follows and test not in successions]
    takes, broken = "This takes the place of", "Broken: {}, with another answer now:"
    count = f"{plural(report.edits_left_out, 'older edit')} of this commit are not listed here"
    omission = f"{count}: errata diff compares the versions."
    return [
        *draw_tests(f"{takes} {{}} that it was not told to replace:", "red", intruders),
        *draw_lines((_advise(report, kind, intruders) if intruders else "", "dim")),
        *draw_tests(f"{takes} {{}} with other questions, as it was told to:", "yellow", successions),
        *draw_tests(broken, "red", report.broken_tests),
        *draw_tests("Replaced: {}; to be back if this is taken back:", "yellow", same),
        *draw_lines((omission if report.edits_left_out else "", "yellow")),
        *(draw_other_answers(PACK, report) if report.side_effects else []),
    ]


def _advise(report: wire.Report, kind: wire.Kind, tests: Sequence[Outcome]) -> str:
    versions = sorted({test.version or 0 for test in tests})
    if kind != "edit" or any("subject" in edit.notes for edit in report.edits):
        earlier = f"take back the earlier: errata revert {' '.join(map(str, versions))}"
        return f"If that is right, {earlier}; if not, take this version back."
    options = " ".join(f"--replaces {version}" for version in versions)
    counterexample = f'--not "{one_line(tests[0].question)}"'
    return f"Take it back and repeat it with {options} if that is right, else with {counterexample}."


def draw_edits(edits: Sequence[EditReport], verbose: bool = False) -> list[RenderableType]:
    """Draw what each question answered before and answers now; of many edits only those that fail."""
    if len(edits) <= MAX_SHOWN:
        return _draw_groups(edits, verbose)
    failing = [e for e in edits if not e.holds or not all(other.follows for other in e.paraphrases)]
    count = f"  {len(edits) - len(failing):,} of {plural(len(edits), 'edit')} hold, in all wordings given"
    by_memory = Counter(edit.memory for edit in edits)
    if len(by_memory) > 1:  # a fact is an edit of each memory
        count += ": " + ", ".join(f"{n:,} of {memory}" for memory, n in by_memory.items())
    n_more = len(failing) - MAX_SHOWN
    rest = f"  and {n_more:,} more that do not: --json lists them" if n_more > 0 else ""
    return [Text(f"{count}."), *_draw_groups(failing[:MAX_SHOWN], verbose), *draw_lines((rest, "dim"))]


def _draw_groups(edits: Sequence[EditReport], verbose: bool) -> list[RenderableType]:
    """Draw facts below their triples; questions without one in a common table."""
    lines: list[RenderableType] = []
    rows: list[Row] = []
    for group in group_facts(edits):
        edit, notes = group[0], group[0].notes
        if is_fact(notes) or "summary" in notes:
            memory = "" if is_fact(notes) else f"{edit.memory}: "
            object_id = f"  ({notes['object_id']})" if notes.get("object_id") else ""
            title = f"  {memory}{describe_change(notes)}"
            title_line = Text.assemble(title, (object_id, "cyan"), (describe_act(notes), "dim"))
            lines, rows = [*lines, *draw_outcomes(rows), title_line], []
        rows += list_fact(group, verbose) if is_fact(notes) else list_edit(edit, verbose)
    return [*lines, *draw_outcomes(rows)]


def draw_undone(edits: Sequence[EditReport]) -> list[RenderableType]:
    """Draw what a revert or a rollback did to each question; of many, only those that are not as wanted."""
    rows = list_undone(edits)
    if len(rows) <= MAX_SHOWN:
        return draw_outcomes(rows)
    n_changes = sum(row.outcome.before != row.outcome.after for row in rows)
    count = f"  {n_changes:,} of {plural(len(rows), 'question')} have another answer now."
    return [Text(count), *draw_outcomes(row for row in rows if row.good is False)]


def summarize_warnings(warnings: Iterable[tuple[str, str]]) -> list[Text]:
    """Return a line for each kind of warning, each with its place, the most frequent first; a file may have a thousand.

    Without places the first MAX_PLACES of a kind have a line each. Quotations and shares make no other kind.
    """
    kinds: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for place, warning in dict.fromkeys(warnings):
        kinds[PARTICULARS.sub("...", warning)].append((place, warning))
    texts: list[str] = []
    for kind, members in sorted(kinds.items(), key=lambda pair: -len(pair[1])):
        n_more = len(members) - MAX_PLACES
        places = ", ".join(place for place, _ in members[:MAX_PLACES] if place)
        if len(members) > 1 and places:
            rest = f" and {n_more:,} more" if n_more > 0 else ""
            texts.append(f"warning, {plural(len(members), 'time')} ({places}{rest}): {kind}")
        else:
            texts += [f"warning{places and f' ({places})'}: {text}" for _, text in members[:MAX_PLACES]]
            texts += [f"warning: {n_more:,} more of this kind"] if n_more > 0 else []
    return [Text(f"  {escape(one_line(name_fields(text, FLAGS)))}", style="yellow") for text in texts]


def draw_import(receipt: wire.ImportReceipt, verbose: bool = False) -> RenderableType:
    """Draw what an import replaced, how much the graph has grown, and which lines could not be used."""
    counts = receipt.counts
    triples = plural(counts.triples, "triple")
    rate = f", {counts.triples / counts.seconds:,.0f} triples per s" if counts.seconds > 0 else ""
    rows = {
        "triples": f"{counts.triples:,} from {plural(counts.lines, 'line')} of {counts.format}",
        "entities": f"{counts.entities:,}, of which {counts.new_entities:,} are new",
        "left out": _join_reasons(counts.skipped),
        "time": f"{seconds(counts.seconds)}{rate}" if verbose else "",
    }
    cells = [(Text(name, "dim"), text) for name, text in rows.items() if text]
    warnings = (("", warning) for edit in receipt.report.edits for warning in edit.warnings)
    return Group(
        *draw_head(receipt, f"{triples} imported" if receipt.version else f"an import of {triples}"),
        make_table(rows=cells, indent=2),
        *draw_triples(counts.rows, counts.triples),
        *(_draw_rejected(counts) if counts.rejected else []),
        *draw_details(receipt.report),
        *summarize_warnings(warnings),
    )


def _draw_rejected(counts: wire.ImportCounts) -> list[RenderableType]:
    verb = "was" if counts.rejected == 1 else "were"
    reasons = f": {_join_reasons(counts.rejected_by)}" if counts.rejected_by else ""
    lines, n_listed = counts.rejected_lines[:MAX_REJECTED_LINES], len(counts.rejected_lines)
    rows = [(f"{line.line:,}", one_line(line.reason or line.code)) for line in lines]
    n_more = counts.rejected - len(lines)
    advice = f"; --rejected FILE writes the first {n_listed:,}" if n_listed > MAX_REJECTED_LINES else ""
    return [
        Text(f"{plural(counts.rejected, 'line')} {verb} rejected{reasons}", style="yellow"),
        *([make_table(">line", "why it was rejected", rows=rows, indent=2)] if rows else []),
        *draw_lines((f"  and {n_more:,} more{advice}" if n_more > 0 else "", "dim")),
    ]


def _join_reasons(reasons: Mapping[str, int]) -> str:
    """Join the reasons, the most frequent first."""
    pairs = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{one_line(reason).replace('_', ' ')} {count:,}" for reason, count in pairs)
