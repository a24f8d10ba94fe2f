"""What a curator reads after a change: which version it made, what it did, and whether everybody has it."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from errata.cli.effects import draw_report
from errata.cli.outcomes import draw_edits
from errata.cli.undone import draw_undone
from errata.cli.words import milliseconds, plural
from errata.wire import EditReceipt, ReplicaState, Report


def draw_receipt(receipt: EditReceipt, done: str) -> RenderableType:
    """done: what the command did, e.g. `version 3 is taken back`."""
    report = receipt.report
    parts: list[RenderableType] = [draw_effects(receipt, done)]
    parts += [Text(f"warning: {one}", style="yellow") for one in report.capacity.warnings]
    parts.append(_costs(report))
    if receipt.version is not None:
        parts.append(Text(f"Take it back: errata revert {receipt.version}", style="dim"))
    return Group(*parts)


def draw_effects(receipt: EditReceipt, done: str) -> Group:
    """What was done and to what, without what it cost."""
    edits = receipt.report.edits
    told = draw_edits(edits) if receipt.kind == "edit" else draw_undone(edits)
    return Group(draw_headline(receipt, done), *told, *draw_report(receipt.report))


def draw_headline(receipt: EditReceipt, done: str) -> Text:
    """In one line: what was done, and who has it."""
    return Text.assemble(_headline(receipt, done), reach(receipt))


def _headline(receipt: EditReceipt, done: str) -> Text:
    edits = receipt.report.edits
    if receipt.version is None and edits and not any(edit.id for edit in edits):
        return Text("Dry run: all of it is answered so already, and would be refused.", style="bold")
    if receipt.version is None:
        return Text(f"Dry run: {done} would do this; nothing was changed.", style="bold")
    return Text(f"Version {receipt.version}: {done}.", style="bold green")


def reach(receipt: EditReceipt) -> Text:
    """Who has it already."""
    replicas = receipt.replicas
    if receipt.version is None:
        return Text()
    if receipt.all_applied:
        return Text(f" {_everyone(len(replicas))} it.")
    if not replicas:
        return Text(" The replicas were not waited for.", style="yellow")
    late = [one for one in replicas if one.version < receipt.version]
    if not late:
        return Text(" Not every replica is running now; each that starts will have it.", style="yellow")
    count = f"{len(late)} of {plural(len(replicas), 'replica')}"
    return Text(f" {count} did not confirm it in time: {_names(late)}.", style="yellow")


def _everyone(replicas: int) -> str:
    known = {1: "The replica has", 2: "Both replicas have"}
    return known.get(replicas, f"All {replicas:,} replicas have")


def _names(replicas: list[ReplicaState]) -> str:
    return ", ".join(f"{one.replica} (at version {one.version})" for one in replicas)


def _costs(report: Report) -> Text:
    spent, room = report.timings, report.capacity
    parts = [f"all edits take {plural(room.slots_used, 'slot')} of {room.slots_reserved:,}"]
    if room.rows_per_slot is not None:
        parts.append(f"{room.rows_per_slot:.2f} rows per slot")
    if room.margin is not None:
        parts.append(f"margin {room.margin:.2f}")
    parts += [
        f"editor {milliseconds(spent.editor_ms)}",
        f"report {milliseconds(spent.report_ms)}",
        f"commit {milliseconds(spent.commit_ms)}",
        f"replicas {milliseconds(spent.replicas_ms)}",
    ]
    return Text(" · ".join(parts), style="dim")
