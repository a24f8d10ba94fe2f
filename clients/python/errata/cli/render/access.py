"""Keys and the audit as a person reads them."""

from __future__ import annotations

from datetime import datetime

from rich.console import Group, RenderableType
from rich.text import Text

from errata.cli.render.text import age, make_table, utc_now
from errata.wire import AuditEntry, AuditPage, KeyList, KeyState, NewKey


def draw_keys(page: KeyList) -> RenderableType:
    if not page.keys:
        return Text("No key was issued yet: errata keys create NAME --scope ask")
    now = utc_now()
    table = make_table("name", "may", "made", "by", "rotated", "state")
    for key in page.keys:
        rotation = age(key.rotated, now) if key.rotated else ""
        scopes, creation = ", ".join(key.scopes), age(key.created, now)
        table.add_row(key.name, scopes, creation, key.created_by, rotation, _draw_state(key, now))
    return table


def _draw_state(key: KeyState, now: datetime) -> Text:
    if key.revoked is not None:
        return Text(f"revoked {age(key.revoked, now)}", style="red")
    if not key.has_secret:
        return Text("restored: opens nothing until it is rotated", style="yellow")
    if key.expires is None:
        return Text("in force", style="green")
    if key.expires <= now:
        return Text(f"ended {age(key.expires, now)}", style="red")
    return Text(f"in force until {key.expires.astimezone():%Y-%m-%d %H:%M}", style="green")


def draw_new_key(key: NewKey) -> RenderableType:
    scopes = ", ".join(key.scopes)
    end = "" if key.expires is None else f" until {key.expires.astimezone():%Y-%m-%d %H:%M}"
    return Group(
        Text(f"The key of {key.name}, which may {scopes}{end}. It is shown this once and kept nowhere:"),
        Text(),
        Text(f"  {key.key}", style="yellow", no_wrap=True),
        Text(),
        Text("It is sent as ERRATA_KEY by the command and as a bearer token over HTTP.", style="dim"),
    )


def draw_revocation(key: KeyState) -> RenderableType:
    return Text(f"The key of {key.name} is revoked: within a second it opens nothing anywhere.")


def _describe_call(entry: AuditEntry) -> str:
    since = f" since {entry.first.astimezone():%H:%M:%S}" if entry.first else ""
    count = f"{entry.count:,} times{since}" if entry.count > 1 else ""
    return ", ".join(filter(None, (entry.summary, count, "restored" if entry.restored else "")))


def draw_audit(page: AuditPage, options: str = "") -> RenderableType:
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
