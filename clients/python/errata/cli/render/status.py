"""Tables of how things stand: fact tests, replicas, models, memories, the key."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from errata.cli.render.effects import draw_broken, draw_superseded
from errata.cli.render.text import plural, short
from errata.wire import (
    CheckReport,
    EditCounts,
    MemoryState,
    ModelCard,
    ModelList,
    ReplicaList,
    ReplicaState,
    Whoami,
)


def draw_check(check: CheckReport) -> RenderableType:
    parts = [_tests(check)]
    if check.superseded_tests:
        parts += [Text("A later edit answers instead:"), draw_superseded(check.superseded_tests)]
    if check.edits is not None and (check.edits.active or check.edits.reverted):
        parts.append(Text(f"Of all edits {_counts(check.edits)}.", style="dim"))
    return Group(*parts, *(Text(f"Damaged: {one}.", style="red") for one in check.damaged_imports))


def _tests(check: CheckReport) -> RenderableType:
    """Those that a later edit answers anew are left aside: nobody wants them to hold."""
    total = check.total - check.superseded
    aside = f" ({check.superseded:,} superseded: a later edit answers instead)" if check.superseded else ""
    if not check.total:
        return Text(f"There is nothing to test at version {check.version}: no edit in force has a question.")
    if not check.broken:
        hold = "The only fact test holds" if total == 1 else f"All {total:,} fact tests hold"
        return Text(f"{hold} at version {check.version}{aside}.", style="green")
    count = f"{check.holding:,} of {plural(total, 'fact test')} hold at version {check.version}{aside}."
    return Group(Text(count, style="red"), draw_broken(check.broken))


def _counts(edits: EditCounts) -> str:
    states = {
        ("holds", "hold"): edits.holding,
        ("is broken", "are broken"): edits.broken,
        ("is superseded", "are superseded"): edits.superseded,
        ("is taken back", "are taken back"): edits.reverted,
    }
    return ", ".join(
        f"{count:,} {one if count == 1 else many}" for (one, many), count in states.items() if count
    )


def draw_replicas(listed: ReplicaList) -> RenderableType:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for title in ("replica", "model", "version", "behind", "health", "checksums", "process", "seen"):
        table.add_column(title, justify="right" if title in ("version", "behind") else "left")
    for one in listed.replicas:
        table.add_row(*_replica(one))
    if not listed.replicas:
        return Text("No replica has reported yet.", style="yellow")
    return Group(table, *_disagreements(listed.replicas))


def _replica(one: ReplicaState) -> list[str | Text]:
    why = f"unwell: {one.degraded}" if one.degraded else "unwell"
    health = Text("well", style="green") if one.healthy else Text(why, style="red")
    behind = Text(str(one.lag), style="yellow" if one.lag else "")
    sums = ", ".join(f"{memory} {short(digest)}" for memory, digest in sorted(one.checksums.items()))
    seen = f"{one.seen_s_ago:.1f} s ago"
    return [one.replica, one.model, str(one.version), behind, health, sums, _process(one), seen]


def _process(one: ReplicaState) -> str:
    """What to stop, and where."""
    known = [str(word) for word in (one.pid, one.host) if word is not None]
    return " on ".join(known) or "-"


def _disagreements(replicas: list[ReplicaState]) -> list[Text]:
    """Replicas at one version must hold the same bits; if two do not, that is the news."""
    found: dict[tuple[str, int], set[str]] = {}
    for one in replicas:
        for memory, digest in one.checksums.items():
            found.setdefault((memory, one.version), set()).add(digest)
    return [
        Text(f"warning: replicas disagree on {memory} at version {version}", style="bold red")
        for (memory, version), digests in found.items()
        if len(digests) > 1
    ]


def draw_models(listed: ModelList) -> RenderableType:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for title in ("model", "memory", "edits by", "replicas", "state"):
        table.add_column(title)
    for one in listed.data:
        state = Text("ready", style="green") if one.ready else Text("not ready", style="yellow")
        table.add_row(
            one.id,
            ", ".join(memory.name for memory in one.memories),
            ", ".join(one.methods),
            str(one.replicas),
            state,
        )
    details = [
        part for one in listed.data if one.details for part in (Text(f"\n{one.id}", "bold"), _details(one))
    ]
    return Group(table, *details)


def _details(model: ModelCard) -> Table:
    """What a model says of itself, as far as it fits on a line."""
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 2))
    for name, value in model.details.items():
        if isinstance(value, str | int | float):
            table.add_row(Text(name, style="dim"), f"{value:,}" if type(value) is int else str(value))
    return table


def draw_memory(memory: MemoryState) -> RenderableType:
    counts = memory.edits
    broken = [Text(f"  {plural(counts.broken, 'edit')} broken: errata check names them", "red")]
    aside = f"{counts.reverted:,} taken back, {counts.superseded:,} superseded"
    lines = [Text(f"Version {memory.version}: {plural(counts.active, 'active edit')}, {aside}")]
    lines += broken if counts.broken else []
    lines += [
        Text.assemble(f"  {name}  ", (digest, "dim")) for name, digest in sorted(memory.checksums.items())
    ]
    return Group(*lines)


def draw_whoami(caller: Whoami) -> RenderableType:
    return Text(f"{caller.name}: may {', '.join(caller.scopes) or 'nothing'}")
