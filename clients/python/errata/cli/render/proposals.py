"""Proposals as a person reads them."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from errata.cli.render.receipt import draw_receipt
from errata.cli.render.text import age, make_table, one_line, plural, utc_now
from errata.wire import EditReceipt, Proposal, ProposalList
from errata.wire.base import Details


def draw_proposals(page: ProposalList) -> RenderableType:
    if not page.proposals:
        return Text("No proposal waits.")
    now = utc_now()
    table = make_table(">proposal", "made", "by", "state", "what")
    for item in page.proposals:
        state = f"version {item.version}" if item.version else item.state
        words = describe_edits(item)
        if item.conflicts:
            words += f"  (conflicts with {', '.join(map(str, item.conflicts))})"
        table.add_row(str(item.number), age(item.time, now), item.author, state, one_line(words))
    return table


def draw_proposal(item: Proposal) -> RenderableType:
    lines = [Text(f"Proposal {item.number} by {item.author}, {item.state}: {one_line(describe_edits(item))}")]
    if item.review is not None:
        lines.append(Text(f"Looked at again on {item.review}"))
    if item.conflicts:
        numbers = ", ".join(map(str, item.conflicts))
        lines.append(Text(f"Open proposals about the same: {numbers}", style="yellow"))
    if item.refusal is not None:
        lines.append(Text(f"It is refused now: {item.refusal.get('detail', '')}", style="red"))
    if item.report is None:
        return Group(*lines)
    receipt = EditReceipt(version=None, kind="edit", report=item.report, replicas=[], all_applied=True)
    effect = draw_receipt(receipt, summary=plural(len(item.edits), "edit"), verbose=False)
    return Group(*lines, effect, Text(f"Another key approves it: errata approve {item.number}", style="dim"))


def draw_decision(item: Proposal) -> RenderableType:
    if item.version is not None:
        return Text(
            f"Proposal {item.number} by {item.author} is live: version {item.version}, by {item.decided_by}."
        )
    reason = f": {item.reason}" if item.reason else ""
    return Text(f"Proposal {item.number} by {item.author} is {item.state}{reason}.")


def describe_edits(item: Proposal) -> str:
    """Return the first edit of a proposal in words, and the number of the others."""
    first, *rest = map(_describe, item.edits)
    return f"{first} and {len(rest):,} more" if rest else first


def _describe(edit: Details) -> str:
    if "question" in edit:
        return f"{edit['question']} → {edit.get('answer', '')}"
    return " ".join(
        str(edit[name]) for name in ("subject", "relation", "object", "define", "memory") if name in edit
    )
