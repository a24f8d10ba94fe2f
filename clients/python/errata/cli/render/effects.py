"""The effects of a change besides its purpose: edits replaced or broken, other answers, near wordings, warnings."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import zip_longest

from rich.console import RenderableType
from rich.padding import Padding
from rich.style import Style
from rich.table import Table
from rich.text import Text

from errata import wire
from errata.cli.render.text import (
    FLAGS,
    draw_answer,
    draw_change,
    escape,
    make_grid,
    make_table,
    one_line,
    percent,
    plural,
)
from errata.wire.wording import name_fields, normalize_question

PACK = "the facts that Errata came with"
PACK_AND_EDITS = "the facts that Errata came with, and of edits,"
NEAR_FOLLOWS, NEAR_STAYS = "near, follows too", "near, stays"
FOLLOWS, DOES_NOT_FOLLOW = "tried, follows", "tried, does not"
MAX_PLACES = 3
# Quotations and shares, which differ between warnings of one kind
PARTICULARS = re.compile(r"(?<!\w)(?:'[^']*'|\"[^\"]*\")(?!\w)|\b\d+ %")


def draw_report(report: wire.Report, kind: wire.Kind = "edit") -> list[RenderableType]:
    """Draw the replaced and broken edits, then the side effects."""
    return [*draw_replaced(report, kind), *draw_side_effects(report)]


def draw_replaced(report: wire.Report, kind: wire.Kind = "edit") -> list[RenderableType]:
    """Draw the earlier edits that were replaced by mistake, those that broke, then those replaced on purpose.

    Edits of other questions that were named to be replaced stand in front of those that broke.
    """
    parts = _draw_overwritten(report, kind)
    wordings = {edit.question for edit in report.edits}
    wordings |= {other.question for edit in report.edits for other in edit.paraphrases}
    keys = set(map(normalize_question, wordings))
    on_purpose = [test for test in report.superseded_tests if test.on_purpose]
    named_tests = [
        test for test in on_purpose if kind == "edit" and normalize_question(test.question) not in keys
    ]
    same_tests = [test for test in on_purpose if test not in named_tests]
    if named_tests:
        edits = plural(len({test.edit for test in named_tests}), "earlier edit")
        count = f"This takes the place of {edits} with other questions, as it was told to; they get another answer now:"
        parts += [Text(count, style="yellow"), draw_superseded(named_tests)]
    if report.broken_tests:
        count = f"{_count_edits(report.broken_tests, 'no longer holds', 'no longer hold')}:"
        parts += [Text(count, style="red"), draw_broken(report.broken_tests)]
    if same_tests:
        count = _count_edits(same_tests, "is replaced", "are replaced")
        consequence = f"{count}, and will be back if this is taken back:"
        parts += [Text(consequence, style="yellow"), draw_superseded(same_tests)]
    if report.edits_left_out:
        count = f"{plural(report.edits_left_out, 'older edit')} of this commit are not listed here"
        parts.append(Text(f"{count}: errata diff compares the versions.", style="yellow"))
    return parts


def _draw_overwritten(report: wire.Report, kind: wire.Kind = "edit") -> list[RenderableType]:
    tests = [test for test in report.superseded_tests if not test.on_purpose]
    if not tests:
        return []
    edits = len({test.edit for test in tests})
    count = f"This takes the place of {plural(edits, 'earlier edit')} that it was not told to replace:"
    versions = sorted({test.version for test in tests})
    if kind != "edit" or any("subject" in edit.notes for edit in report.edits):
        earlier = f"take back the earlier: errata revert {' '.join(map(str, versions))}"
        advice = f"If that is right, {earlier}; if not, take this version back."
    else:
        options = " ".join(f"--replaces {version}" for version in versions)
        counterexample = f'--not "{one_line(tests[0].question)}"'
        advice = f"Take it back and repeat it with {options} if that is right, else with {counterexample}."
    return [Text(count, style="red"), draw_superseded(tests), Text(advice, style="dim")]


def _count_edits(tests: Sequence[wire.BrokenTest], predicate: str, plural_predicate: str) -> str:
    edits = len({test.edit for test in tests})
    return f"{plural(edits, 'earlier edit')} {predicate if edits == 1 else plural_predicate}"


def draw_side_effects(report: wire.Report) -> list[RenderableType]:
    """Draw the questions of the pack whose answers changed, or a line saying that none changed or is known to."""
    if report.report_note:
        note = f"{report.report_note[:1].upper()}{report.report_note[1:]}."
        return [Text(note, style="yellow" if report.report_state == "missing" else "dim")]
    return draw_other_answers(PACK, report.side_effects, report.probes, report.unmeasured_probes)


def draw_other_answers(
    owner: str, side_effects: Sequence[wire.SideEffect], n_compared: int, n_left_out: int
) -> list[RenderableType]:
    """Draw the changed answers to questions that no edit is about, or a line saying that none changed."""
    count_text = f"{plural(n_compared, 'question')} compared"
    if n_left_out:
        total = plural(n_compared + n_left_out, "question")
        count_text = f"{n_compared:,} of {total} compared, those likeliest to change"
    if not side_effects:
        return [Text(f"No other answer of {owner} changed: {count_text}.")] if n_compared else []
    count = f"{plural(len(side_effects), 'other answer')} of {owner} changed too ({count_text}):"
    return [Text(count, style="yellow"), draw_changed(side_effects)]


def draw_changed(side_effects: Sequence[wire.SideEffect]) -> Table:
    """Draw questions with their answers before and after, which are links where the service shows them answered."""
    table = make_grid(indent=2)
    for effect in side_effects:
        before, after = draw_answer(effect.before), draw_answer(effect.after)
        if effect.link:
            before.stylize(Style(link=effect.link.before))
            after.stylize(Style(link=effect.link.after) if effect.link.after else "")
        table.add_row(effect.question, before, Text("→", "dim"), after)
    return table


def draw_superseded(tests: Sequence[wire.SupersededTest]) -> Table:
    """Draw the questions of edits that later edits answer."""
    return _draw_tests(tests, "was", "since version", [str(test.by_version) for test in tests])


def draw_broken(tests: Sequence[wire.BrokenTest]) -> Table:
    """Draw the questions of edits that get other answers than theirs."""
    return _draw_tests(tests)


def draw_failing(tests: Sequence[wire.FailingTest]) -> Table:
    """Draw the tests that came with edits and fail, and which edit answers their questions."""
    sources = ["no edit" if test.by_version is None else f"version {test.by_version}" for test in tests]
    return _draw_tests(tests, "should be", "answered by", sources)


def _draw_tests(
    tests: Sequence[wire.BrokenTest],
    expectation: str = "should be",
    source: str = "",
    sources: Sequence[str] = (),
) -> Table:
    titles = ["version", "question", expectation, "is", *([source] if source else [])]
    table = make_table(*titles, indent=2)
    for test, origin in zip_longest(tests, sources):
        answers = draw_answer(test.expected), draw_answer(test.actual)
        table.add_row(str(test.version), test.question, *answers, *([origin] if source else []))
    return table


def draw_replication(receipt: wire.EditReceipt) -> Text:
    """Return which replicas have the version."""
    replicas = receipt.replicas
    if receipt.version is None:
        return Text()
    if receipt.all_applied:
        return Text(" Every replica has it.")
    if not replicas:
        return Text(" The replicas were not waited for.", style="yellow")
    late = [replica for replica in replicas if replica.version < receipt.version]
    if not late:
        return Text(" Not every replica is running now; each that starts will have it.", style="yellow")
    count = f"{len(late)} of {plural(len(replicas), 'replica')}"
    names = ", ".join(f"{replica.replica} (at version {replica.version})" for replica in late)
    return Text(f" {count} did not confirm it in time: {names}.", style="yellow")


def draw_surroundings(edit: wire.EditReport, verbose: bool = False) -> list[Padding]:
    """Draw the near questions of an edit, then the wordings that the service tried."""
    near = [(near, _describe_near(near, verbose)) for near in edit.near_questions]
    rows = [
        *((NEAR_FOLLOWS, other.question, details) for other, details in near if other.follows),
        *((NEAR_STAYS, other.question, details) for other, details in near if not other.follows),
    ]
    return _draw_rows([*rows, *_list_tried(edit.generated_paraphrases)])


def draw_tried(wordings: Iterable[wire.ParaphraseReport]) -> list[Padding]:
    """Draw wordings that the service tried, each once: those that follow, then the others."""
    return _draw_rows(_list_tried({wording.question: wording for wording in wordings}.values()))


def _list_tried(wordings: Iterable[wire.ParaphraseReport]) -> list[tuple[str, str, Text]]:
    wordings = list(wordings)
    return [
        *((FOLLOWS, wording.question, Text()) for wording in wordings if wording.follows),
        *(
            (DOES_NOT_FOLLOW, wording.question, draw_change(wording.before, wording.after))
            for wording in wordings
            if not wording.follows
        ),
    ]


def _describe_near(near: wire.NearQuestion, verbose: bool) -> Text:
    clauses = [] if near.version is None else [f"{near.answer}, by version {near.version}"]
    clauses += [f"{percent(near.probability)} likely the same"] if verbose else []
    return Text("; ".join(clauses), style="dim")


def _draw_rows(rows: Sequence[tuple[str, str, Text]]) -> list[Padding]:
    """Draw a table whose labels stand at the first of their rows alone."""
    if not rows:
        return []
    table = make_grid()
    previous = ""
    for label, question, details in rows:
        style = "yellow" if label in (NEAR_FOLLOWS, DOES_NOT_FOLLOW) else "dim"
        table.add_row(Text("" if label == previous else label, style), one_line(question), details)
        previous = label
    return [Padding.indent(table, 4)]


def summarize_warnings(warnings: Iterable[tuple[str, str]]) -> list[Text]:
    """Return a line for each kind of warning, each with its place, the most frequent first; a file may have a thousand.

    Without places the first MAX_PLACES of a kind have a line each. Quotations and shares make no other kind.
    """
    kinds: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for place, warning in dict.fromkeys(warnings):
        kinds[PARTICULARS.sub("...", warning)].append((place, warning))
    lines: list[Text] = []
    for kind, members in sorted(kinds.items(), key=lambda pair: -len(pair[1])):
        n_more = len(members) - MAX_PLACES
        places = ", ".join(place for place, _ in members[:MAX_PLACES] if place)
        if len(members) > 1 and places:
            rest = f" and {n_more:,} more" if n_more > 0 else ""
            texts = [f"warning, {plural(len(members), 'time')} ({places}{rest}): {kind}"]
        else:
            texts = [f"warning{places and f' ({places})'}: {text}" for _, text in members[:MAX_PLACES]]
            texts += [f"warning: {n_more:,} more of this kind"] if n_more > 0 else []
        lines += [Text(f"  {escape(one_line(name_fields(text, FLAGS)))}", style="yellow") for text in texts]
    return lines
