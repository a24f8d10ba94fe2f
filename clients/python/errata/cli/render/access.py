"""Keys and the audit as a person reads them."""

from __future__ import annotations

from datetime import datetime

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from errata.cli.render.text import ago
from errata.wire import AuditEntry, AuditPage, KeyList, KeyState, NewKey


def draw_keys(listed: KeyList, now: datetime) -> RenderableType:
    if not listed.keys:
        return Text("No key was issued yet: errata keys create NAME --scope ask")
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for title in ("name", "may", "made", "by", "rotated", "state"):
        table.add_column(title)
    for key in listed.keys:
        rotated = ago(key.rotated, now) if key.rotated else ""
        made = ago(key.created, now)
        table.add_row(key.name, ", ".join(key.scopes), made, key.created_by, rotated, _state(key, now))
    return table


def _state(key: KeyState, now: datetime) -> Text:
    if key.revoked is not None:
        return Text(f"revoked {ago(key.revoked, now)}", style="red")
    if not key.has_secret:
        return Text("restored: opens nothing until it is rotated", style="yellow")
    if key.expires is None:
        return Text("in force", style="green")
    if key.expires <= now:
        return Text(f"ended {ago(key.expires, now)}", style="red")
    return Text(f"in force until {key.expires.astimezone():%Y-%m-%d %H:%M}", style="green")


def draw_new_key(key: NewKey) -> RenderableType:
    may = ", ".join(key.scopes)
    end = "" if key.expires is None else f" until {key.expires.astimezone():%Y-%m-%d %H:%M}"
    return Group(
        Text(f"The key of {key.name}, which may {may}{end}. It is shown this once and kept nowhere:"),
        Text(),
        Text(f"  {key.key}", style="yellow", no_wrap=True),
        Text(),
        Text("It is sent as ERRATA_KEY by the command and as a bearer token over HTTP.", style="dim"),
    )


def draw_key(key: KeyState) -> RenderableType:
    return Text(f"The key of {key.name} is revoked: within a second it opens nothing anywhere.")


def draw_audit(page: AuditPage, said: str = "") -> RenderableType:
    """said: the options with which it was asked for."""
    if not page.entries:
        return Text("No call of the admin routes is like that.")
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for title in ("when", "who", "from", "call", "what", "outcome"):
        table.add_column(title)
    for one in page.entries:
        table.add_row(*_entry(one))
    if page.next is None:
        return table
    again = " ".join(filter(None, ("errata audit", said, f"--before {page.next}")))
    return Group(table, Text(f"Older ones: {again}", style="dim"))


def _entry(one: AuditEntry) -> list[str | Text]:
    when = f"{one.time.astimezone():%Y-%m-%d %H:%M:%S}"
    who = one.name or Text("nobody known", style="dim")
    return [when, who, one.address, f"{one.method} {one.path}", one.summary, _outcome(one)]


def _outcome(one: AuditEntry) -> Text:
    if one.status >= 400:
        return Text(f"{one.status} {one.code or ''}".strip(), style="red")
    return Text("done" if one.version is None else f"version {one.version}", style="green")
