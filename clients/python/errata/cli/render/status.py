"""Tables of the present state: fact tests, replicas, models, memories, keys, and the audit."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime

from pydantic import JsonValue
from rich.console import Group, RenderableType
from rich.text import Text

from errata import wire
from errata.cli.render.drawing import draw_lines, draw_page, make_table
from errata.cli.render.outcomes import Row, draw_section, draw_tests
from errata.cli.render.receipt import PACK
from errata.cli.render.text import age, figure, percent, plural, short_digest

UNSURE_BELOW = "unsure_below"  # detail of a model: the probability below which it declines


def draw_check(check: wire.CheckReport) -> RenderableType:
    """Draw how many questions of edits get their answers, and each that gets another one."""
    n_replaced = check.superseded - len(check.overwritten)
    total = check.total - n_replaced  # without those that a later edit was to answer
    aside = f" ({n_replaced:,} replaced by later edits)" if n_replaced else ""
    is_good = not check.broken and not check.overwritten
    hold = f"{check.holding:,} of {total:,} questions and facts of edits hold"
    if is_good:
        hold = _say_all_hold(total, "question or fact of an edit", "questions and facts of edits")
    head = Text(f"{hold} at version {check.version}{aside}.", style="green" if is_good else "red")
    if not check.total:
        reason = "no edit that is in use has a question"
        head = Text(f"There is nothing to check at version {check.version}: {reason}.")
    n_others = plural(len(check.other_answers), "question")
    besides = f"Corrections answer {n_others} of {PACK}, though they are about something else:"
    n_omitted = plural(check.unmeasured_probes, "further question")
    omission = f"Not asked: {n_omitted} of {PACK}, which a correction may answer, too."
    intrusion = "Another edit took the place of these without having been told to:"
    successions = [test for test in check.superseded_tests or () if test.follows]
    return Group(
        head,
        *draw_tests(intrusion, "red", check.overwritten),
        *draw_tests("These get another answer:", "red", check.broken),
        *_draw_given_tests(check),
        *draw_section(besides, "red", map(Row, check.other_answers)),
        *draw_lines((omission if check.unmeasured_probes else "", "dim")),
        *draw_tests("Replaced by later edits:", "", successions),
        *draw_lines((count_states(check.edits) if check.edits else "", "dim")),
        *(Text(f"Damaged: {fault}.", style="red") for fault in check.damaged_imports),
    )


def count_states(edits: wire.EditCounts) -> str:
    states = {"broken": edits.broken, "replaced": edits.superseded, "taken back": edits.reverted}
    counts = [f"{n:,} {'is' if n == 1 else 'are'} {state}" for state, n in states.items() if n]
    return f"Of all edits {', '.join(counts)}." if counts else ""


def _say_all_hold(count: int, subject: str, subjects: str) -> str:
    return f"The only {subject} holds" if count == 1 else f"All {count:,} {subjects} hold"


def _draw_given_tests(check: wire.CheckReport) -> list[RenderableType]:
    """Draw whether the tests hold that came with edits, and those that fail."""
    n_failing = len(check.failing_tests)
    if n_failing or not check.tests:
        verb = "fails" if n_failing == 1 else "fail"
        heading = f"{n_failing:,} of {plural(check.tests, 'test')} that came with edits {verb}:"
        return draw_tests(heading, "red", check.failing_tests)
    hold = _say_all_hold(check.tests, "test that came with edits", "tests that came with edits")
    return [Text(f"{hold}.", style="green")]


def draw_replicas(page: wire.ReplicaList) -> RenderableType:
    if not page.replicas:
        return Text("No replica has reported yet.", style="yellow")
    digests: dict[tuple[str, int], set[str]] = defaultdict(set)
    for replica in page.replicas:
        for memory, digest in replica.checksums.items():
            digests[memory, replica.version].add(digest)
    disagreements = [
        Text(f"warning: replicas disagree on {memory} at version {version}", style="bold red")
        for (memory, version), values in digests.items()
        if len(values) > 1
    ]
    titles = "replica", "model", ">version", ">behind", "health", "checksums", "process", "seen"
    return Group(make_table(*titles, rows=map(list_replica, page.replicas)), *disagreements)


def list_replica(replica: wire.ReplicaState) -> list[RenderableType]:
    trouble = f"unwell: {replica.degraded}" if replica.degraded else "unwell"
    process = [str(word) for word in (replica.pid, replica.host) if word is not None]
    return [
        replica.replica,
        replica.model,
        str(replica.version),
        Text(str(replica.lag), style="yellow" if replica.lag else ""),
        Text("well", style="green") if replica.healthy else Text(trouble, style="red"),
        ", ".join(f"{memory} {short_digest(d)}" for memory, d in sorted(replica.checksums.items())),
        " on ".join(process) or "-",
        f"{replica.seen_s_ago:.1f} s ago",
    ]


def draw_models(page: wire.ModelList) -> RenderableType:
    """Draw each model in a line, then its own details, as far as they fit on a line."""
    table = make_table("model", "memory", "edits by", "replicas", "state")
    parts: list[RenderableType] = [table]
    for model in page.data:
        state = Text("ready", style="green") if model.ready else Text("not ready", style="yellow")
        memories = ", ".join(memory.name for memory in model.memories)
        table.add_row(model.id, memories, ", ".join(model.methods), str(model.replicas), state)
        details = {name: format_detail(name, value) for name, value in model.details.items()}
        rows = [(Text(name.replace("_", " "), "dim"), text) for name, text in details.items() if text]
        parts += [Text(f"\n{model.id}", "bold"), make_table(rows=rows, indent=2)] if details else []
    return Group(*parts)


def format_detail(name: str, value: JsonValue) -> str:
    if isinstance(value, float):
        return percent(value) if name == UNSURE_BELOW else figure(value)
    if isinstance(value, dict | list | None):
        return ""
    return f"{value:,}" if type(value) is int else str(value)


def draw_memory(memory: wire.MemoryState) -> RenderableType:
    counts = memory.edits
    aside = f"{counts.reverted:,} taken back, {counts.superseded:,} replaced"
    broken = f"  {plural(counts.broken, 'edit')} broken: errata check names them" if counts.broken else ""
    digests = sorted(memory.checksums.items())
    return Group(
        Text(f"Version {memory.version}: {plural(counts.active, 'active edit')}, {aside}"),
        *draw_lines((broken, "red")),
        *(Text.assemble(f"  {name}  ", (digest, "dim")) for name, digest in digests),
    )


def draw_whoami(caller: wire.Whoami) -> RenderableType:
    return Text(f"{caller.name}: may {', '.join(caller.scopes) or 'nothing'}")


def draw_keys(page: wire.KeyList) -> RenderableType:
    if not page.keys:
        return Text("No key was issued yet: errata keys create NAME --scope ask")
    rows = [
        (
            key.name,
            ", ".join(key.scopes),
            age(key.created),
            key.created_by,
            age(key.rotated) if key.rotated else "",
            _draw_state(key),
        )
        for key in page.keys
    ]
    return make_table("name", "may", "made", "by", "rotated", "state", rows=rows)


def _draw_state(key: wire.KeyState) -> Text:
    if key.revoked is not None:
        return Text(f"revoked {age(key.revoked)}", style="red")
    if not key.has_secret:
        return Text("restored: opens nothing until it is rotated", style="yellow")
    if key.expires is None:
        return Text("in force", style="green")
    if key.expires <= datetime.now(UTC):
        return Text(f"ended {age(key.expires)}", style="red")
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


def draw_audit(page: wire.AuditPage, options: str = "") -> RenderableType:
    """Draw a page of the audit in the order of its calls, with a command for the next one that has the same options."""
    if not page.entries:
        return Text("No call of the admin routes is like that.")
    calls = sorted(page.entries, key=lambda entry: entry.time, reverse=True)
    table = make_table("when", "who", "from", "call", "what", "outcome", rows=map(list_call, calls))
    return draw_page(table, "errata audit", options, page.next)


def list_call(entry: wire.AuditEntry) -> list[RenderableType]:
    since = f" since {entry.first.astimezone():%H:%M:%S}" if entry.first else ""
    count = f"{entry.count:,} times{since}" if entry.count > 1 else ""
    outcome = Text("done" if entry.version is None else f"version {entry.version}", style="green")
    if entry.status >= 400:
        outcome = Text(f"{entry.status} {entry.code or ''}".strip(), style="red")
    return [
        f"{entry.time.astimezone():%Y-%m-%d %H:%M:%S}",
        entry.name or Text("nobody known", style="dim"),
        entry.address,
        f"{entry.method} {entry.path}",
        ", ".join(filter(None, (entry.summary, count, "restored" if entry.restored else ""))),
        outcome,
    ]
