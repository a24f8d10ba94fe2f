"""Work that waits for a person: the worklist, edits to look at again, and proposals."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from errata import wire
from errata.cli.render.drawing import draw_lines, make_table
from errata.cli.render.escaping import one_line
from errata.cli.render.graph import describe_change
from errata.cli.render.receipt import draw_receipt
from errata.cli.render.text import age, plural, shorten

KINDS = {"declined": "no answer", "uncovered": "no fact covers it", "near": "an edit is near"}
MAX_MEMBERS = 5  # things of a group that are named
MAX_SUBJECT_LETTERS = 48


def draw_gaps(page: wire.GapPage) -> RenderableType:
    if not page.days:
        return Text(
            "The service keeps no questions. Start it with --gaps-days 7 to keep each for seven days."
        )
    if not page.gaps:
        return Text("Every question was answered.")
    rows = [
        (
            str(gap.line),
            f"{gap.count:,}",
            age(gap.last),
            gap.model,
            KINDS.get(gap.kind, gap.kind),
            one_line(gap.question),
        )
        for gap in page.gaps
    ]
    is_whole = page.total <= len(page.gaps)
    hints = [
        f'Answer one by its line: errata edit {page.gaps[0].line} "ANSWER"',
        "Take out those that are answered by now: errata gaps --again",
        f"These are {len(page.gaps):,} of {plural(page.total, 'line')}: --limit shows more.",
    ]
    return Group(
        *draw_groups("Missing of several things", page.facts),
        *draw_groups("Missing of one thing", page.things),
        make_table(">line", ">asked", "last", "model", "why:dim", "question", rows=rows),
        Text(),
        *(Text(hint, style="dim") for hint in hints[: 2 if is_whole else 3]),
    )


def draw_groups(title: str, groups: Sequence[wire.GapGroup]) -> list[RenderableType]:
    """Draw the groups that take several lines together; a single line says as much as its group."""
    rows = [
        (f"{group.count:,}", one_line(group.name), _name_members(group))
        for group in groups
        if group.n_members > 1
    ]
    table = make_table(">asked", title.lower(), "", rows=rows, indent=2)
    return [Text(title, style="bold"), table, Text()] if rows else []


def _name_members(group: wire.GapGroup) -> str:
    n_more = group.n_members - MAX_MEMBERS
    rest = f" and {n_more:,} more" if n_more > 0 else ""
    return one_line(", ".join(group.members[:MAX_MEMBERS])) + rest


def draw_gap_check(check: wire.GapCheck) -> RenderableType:
    if not check.count:
        return Text("There was no line to ask.")
    count = f"{len(check.gaps):,} of {plural(check.count, 'line')}"
    lines = [Text(f"  {gap.line}  {one_line(gap.question)}") for gap in check.gaps]
    return Group(Text(f"{count} answered now and taken out{':' if lines else '.'}"), *lines)


def draw_dropped_gap(gap: wire.Gap) -> RenderableType:
    return Text(f"Line {gap.line} is taken out: {one_line(gap.question)}")


def describe_hits(hits: wire.Hits | None) -> str:
    """Return the number of answers and the age of the last one, "" where they are not known."""
    if hits is None:
        return ""
    if hits.last is None:
        return "no answer yet"
    return f"{plural(hits.count, 'answer')}, the last {age(hits.last)}"


def draw_reviews(page: wire.ReviewList) -> RenderableType:
    """Draw the edits that are to be looked at again, with a command for the first."""
    if not page.edits:
        later = plural(page.total - page.due, "edit")
        rest = f" {later} will be: errata reviews --all" if page.total > page.due else ""
        return Text(f"No edit is to be looked at again today.{rest}")
    table = make_table("day", "edit", "what", "answer", "who", "gave")
    for detail in page.edits:
        edit = detail.edit
        texts = edit.question or describe_change(edit.notes), edit.answer
        words = (shorten(one_line(text), MAX_SUBJECT_LETTERS) for text in texts)
        table.add_row(str(edit.review), edit.id, *words, detail.author, describe_hits(edit.hits))
    first, count = page.edits[0].edit.id, plural(len(page.edits), "edit")
    hint = f"Still right: errata review {first} DAY    wrong: errata revert {first}\n"
    hint += f"{count} of {page.total:,} with a day; the day of {page.due:,} has come."
    return Group(table, Text(), Text(hint, style="dim"))


def draw_review(detail: wire.EditDetail) -> RenderableType:
    edit = detail.edit
    subject = one_line(edit.question or describe_change(edit.notes))
    day = "on no day" if edit.review is None else f"on {edit.review}"
    return Text(f"Edit {edit.id} is looked at again {day}: {subject}")


def draw_proposals(page: wire.ProposalList) -> RenderableType:
    if not page.proposals:
        return Text("No proposal waits.")
    table = make_table(">proposal", "made", "by", "state", "what")
    for item in page.proposals:
        state = f"version {item.version}" if item.version else item.state
        rivals = f" (conflicts with {_list_conflicts(item)})" if item.conflicts else ""
        table.add_row(str(item.number), age(item.time), item.author, state, describe_edits(item) + rivals)
    if page.left_out:
        table.caption = f"{page.left_out:,} more that ended before are not listed"
    return table


def draw_proposal(item: wire.Proposal) -> RenderableType:
    refusal, rivals = item.refusal or {}, _list_conflicts(item)
    lines = draw_lines(
        (f"Proposal {item.number} by {item.author}, {item.state}: {describe_edits(item)}", ""),
        (f"Looked at again on {item.review}" if item.review else "", ""),
        (rivals and f"Open proposals about the same: {rivals}", "yellow"),
        (f"It is refused now: {refusal.get('detail', '')}" if refusal else "", "red"),
    )
    if item.report is None:
        return Group(*lines)
    receipt = wire.EditReceipt(version=None, kind="edit", report=item.report, replicas=[], all_applied=True)
    effect = draw_receipt(receipt, summary=plural(len(item.edits), "edit"), verbose=False)
    return Group(*lines, effect, Text(f"Another key approves it: errata approve {item.number}", style="dim"))


def _list_conflicts(item: wire.Proposal) -> str:
    return ", ".join(map(str, item.conflicts))


def draw_decision(item: wire.Proposal) -> RenderableType:
    reason = f": {item.reason}" if item.reason else ""
    outcome = f"is {item.state}{reason}"
    if item.version is not None:
        outcome = f"is live: version {item.version}, by {item.decided_by}"
    return Text(f"Proposal {item.number} by {item.author} {outcome}.")


def describe_edits(item: wire.Proposal) -> str:
    """Return the first edit of a proposal in one line of words, and the number of the others."""
    first, n_more = item.edits[0], len(item.edits) - 1
    names = [name for name in ("subject", "relation", "object", "define", "memory") if name in first]
    words = " ".join(str(first[name]) for name in names)
    if "question" in first:
        words = f"{first['question']} → {first.get('answer', '')}"
    return one_line(f"{words} and {n_more:,} more" if n_more else words)
