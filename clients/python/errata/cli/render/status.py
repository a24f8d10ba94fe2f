"""Tables of the present state: fact tests, replicas, models, memories, keys, and the audit."""

from __future__ import annotations

from datetime import datetime

from rich.console import Group, RenderableType
from rich.text import Text

from errata import wire
from errata.cli.render.outcomes import Row, draw_outcomes, list_tests
from errata.cli.render.receipt import PACK
from errata.cli.render.text import age, figure, make_grid, make_table, percent, plural, short_digest, utc_now

UNSURE_BELOW = "unsure_below"  # detail of a model: the probability below which it declines


def draw_check(check: wire.CheckReport) -> RenderableType:
    """Draw how many questions of edits get their answers, and each that gets another one."""
    n_replaced = check.superseded - len(check.overwritten)
    total = check.total - n_replaced  # without those that a later edit was to answer
    aside = f" ({n_replaced:,} replaced by later edits)" if n_replaced else ""
    parts: list[RenderableType] = []
    if not check.total:
        reason = "no edit that is in use has a question"
        parts.append(Text(f"There is nothing to check at version {check.version}: {reason}."))
    elif not check.broken and not check.overwritten:
        hold = "The only question or fact of an edit holds"
        hold = hold if total == 1 else f"All {total:,} questions and facts of edits hold"
        parts.append(Text(f"{hold} at version {check.version}{aside}.", style="green"))
    else:
        hold = f"{check.holding:,} of {total:,} questions and facts of edits hold"
        parts.append(Text(f"{hold} at version {check.version}{aside}.", style="red"))
        if check.overwritten:
            heading = "Another edit took the place of these without having been told to:"
            parts += [Text(heading, style="red"), *draw_outcomes(list_tests(check.overwritten), 2)]
        if check.broken:
            parts += [
                Text("These get another answer:", style="red"),
                *draw_outcomes(list_tests(check.broken), 2),
            ]
    parts += _draw_given_tests(check)
    if check.other_answers:
        count = plural(len(check.other_answers), "question")
        heading = f"Corrections answer {count} of {PACK}, though they are about something else:"
        parts += [Text(heading, style="red"), *draw_outcomes(map(Row, check.other_answers), 2)]
    if check.unmeasured_probes:
        rest = f"{plural(check.unmeasured_probes, 'further question')} of {PACK}"
        parts.append(Text(f"Not asked: {rest}, which a correction may answer, too.", style="dim"))
    if check.superseded_tests:
        rows = list_tests(test for test in check.superseded_tests if test.follows)
        parts += [Text("Replaced by later edits:"), *draw_outcomes(rows, 2)] if rows else []
    edits = check.edits
    if edits is not None and (edits.active or edits.reverted):
        states = {
            ("is broken", "are broken"): edits.broken,
            ("is replaced", "are replaced"): edits.superseded,
            ("is taken back", "are taken back"): edits.reverted,
        }
        counts = [f"{n:,} {form if n == 1 else forms}" for (form, forms), n in states.items() if n]
        parts += [Text(f"Of all edits {', '.join(counts)}.", style="dim")] if counts else []
    return Group(*parts, *(Text(f"Damaged: {fault}.", style="red") for fault in check.damaged_imports))


def _draw_given_tests(check: wire.CheckReport) -> list[RenderableType]:
    """Draw whether the tests hold that came with edits, and those that fail."""
    if check.failing_tests:
        count = f"{len(check.failing_tests):,} of {plural(check.tests, 'test')} that came with edits"
        verb = "fails" if len(check.failing_tests) == 1 else "fail"
        heading = Text(f"{count} {verb}:", style="red")
        return [heading, *draw_outcomes(list_tests(check.failing_tests), 2)]
    if not check.tests:
        return []
    tests = "The only test" if check.tests == 1 else f"All {check.tests:,} tests"
    verb = "holds" if check.tests == 1 else "hold"
    return [Text(f"{tests} that came with edits {verb}.", style="green")]


def draw_replicas(page: wire.ReplicaList) -> RenderableType:
    if not page.replicas:
        return Text("No replica has reported yet.", style="yellow")
    table = make_table("replica", "model", ">version", ">behind", "health", "checksums", "process", "seen")
    digests: dict[tuple[str, int], set[str]] = {}
    for replica in page.replicas:
        for memory, digest in replica.checksums.items():
            digests.setdefault((memory, replica.version), set()).add(digest)
        trouble = f"unwell: {replica.degraded}" if replica.degraded else "unwell"
        process = [str(word) for word in (replica.pid, replica.host) if word is not None]
        table.add_row(
            replica.replica,
            replica.model,
            str(replica.version),
            Text(str(replica.lag), style="yellow" if replica.lag else ""),
            Text("well", style="green") if replica.healthy else Text(trouble, style="red"),
            ", ".join(f"{memory} {short_digest(d)}" for memory, d in sorted(replica.checksums.items())),
            " on ".join(process) or "-",
            f"{replica.seen_s_ago:.1f} s ago",
        )
    disagreements = [
        Text(f"warning: replicas disagree on {memory} at version {version}", style="bold red")
        for (memory, version), values in digests.items()
        if len(values) > 1
    ]
    return Group(table, *disagreements)


def draw_models(page: wire.ModelList) -> RenderableType:
    """Draw each model in a line, then its own details, as far as they fit on a line."""
    table = make_table("model", "memory", "edits by", "replicas", "state")
    parts: list[RenderableType] = [table]
    for model in page.data:
        state = Text("ready", style="green") if model.ready else Text("not ready", style="yellow")
        memories = ", ".join(memory.name for memory in model.memories)
        table.add_row(model.id, memories, ", ".join(model.methods), str(model.replicas), state)
        if model.details:
            details = make_grid(indent=2)
            for name, value in model.details.items():
                if isinstance(value, str | int | float):
                    text = f"{value:,}" if type(value) is int else str(value)
                    if isinstance(value, float):
                        text = percent(value) if name == UNSURE_BELOW else figure(value)
                    details.add_row(Text(name.replace("_", " "), style="dim"), text)
            parts += [Text(f"\n{model.id}", "bold"), details]
    return Group(*parts)


def draw_memory(memory: wire.MemoryState) -> RenderableType:
    counts = memory.edits
    aside = f"{counts.reverted:,} taken back, {counts.superseded:,} replaced"
    lines = [Text(f"Version {memory.version}: {plural(counts.active, 'active edit')}, {aside}")]
    if counts.broken:
        lines.append(Text(f"  {plural(counts.broken, 'edit')} broken: errata check names them", "red"))
    for name, digest in sorted(memory.checksums.items()):
        lines.append(Text.assemble(f"  {name}  ", (digest, "dim")))
    return Group(*lines)


def draw_whoami(caller: wire.Whoami) -> RenderableType:
    return Text(f"{caller.name}: may {', '.join(caller.scopes) or 'nothing'}")


def draw_keys(page: wire.KeyList) -> RenderableType:
    if not page.keys:
        return Text("No key was issued yet: errata keys create NAME --scope ask")
    now = utc_now()
    table = make_table("name", "may", "made", "by", "rotated", "state")
    for key in page.keys:
        rotation = age(key.rotated, now) if key.rotated else ""
        scopes, creation = ", ".join(key.scopes), age(key.created, now)
        table.add_row(key.name, scopes, creation, key.created_by, rotation, _draw_state(key, now))
    return table


def _draw_state(key: wire.KeyState, now: datetime) -> Text:
    if key.revoked is not None:
        return Text(f"revoked {age(key.revoked, now)}", style="red")
    if not key.has_secret:
        return Text("restored: opens nothing until it is rotated", style="yellow")
    if key.expires is None:
        return Text("in force", style="green")
    if key.expires <= now:
        return Text(f"ended {age(key.expires, now)}", style="red")
    return Text(f"in force until {key.expires.astimezone():%Y-%m-%d %H:%M}", style="green")


def draw_new_key(key: wire.NewKey) -> RenderableType:
    scopes = ", ".join(key.scopes)
    end = "" if key.expires is None else f" until {key.expires.astimezone():%Y-%m-%d %H:%M}"
    return Group(
        Text(f"The key of {key.name}, which may {scopes}{end}. It is shown this once and kept nowhere:"),
        Text(),
        Text(f"  {key.key}", style="yellow", no_wrap=True),
        Text(),
        Text("It is sent as ERRATA_KEY by the command and as a bearer token over HTTP.", style="dim"),
    )


def draw_revocation(key: wire.KeyState) -> RenderableType:
    return Text(f"The key of {key.name} is revoked: within a second it opens nothing anywhere.")


def _describe_call(entry: wire.AuditEntry) -> str:
    since = f" since {entry.first.astimezone():%H:%M:%S}" if entry.first else ""
    count = f"{entry.count:,} times{since}" if entry.count > 1 else ""
    return ", ".join(filter(None, (entry.summary, count, "restored" if entry.restored else "")))


def draw_audit(page: wire.AuditPage, options: str = "") -> RenderableType:
    """Draw a page of the audit in the order of its calls, with a command for the next one that has the same options."""
    if not page.entries:
        return Text("No call of the admin routes is like that.")
    table = make_table("when", "who", "from", "call", "what", "outcome")
    for entry in sorted(page.entries, key=lambda entry: entry.time, reverse=True):
        if entry.status >= 400:
            outcome = Text(f"{entry.status} {entry.code or ''}".strip(), style="red")
        else:
            outcome = Text("done" if entry.version is None else f"version {entry.version}", style="green")
        table.add_row(
            f"{entry.time.astimezone():%Y-%m-%d %H:%M:%S}",
            entry.name or Text("nobody known", style="dim"),
            entry.address,
            f"{entry.method} {entry.path}",
            _describe_call(entry),
            outcome,
        )
    if page.next is None:
        return table
    command = " ".join(filter(None, ("errata audit", options, f"--before {page.next}")))
    return Group(table, Text(f"Older ones: {command}", style="dim"))
