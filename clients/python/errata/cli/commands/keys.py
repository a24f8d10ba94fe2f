"""`errata keys`: who may call the service, and what each may do."""

from __future__ import annotations

import re
from typing import Annotated, cast

import typer

from errata.calls.access import DAY_S
from errata.cli.render.access import draw_key, draw_keys, draw_new_key
from errata.cli.render.text import now
from errata.cli.session import Session
from errata.wire import Scope

SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


def _span(text: str) -> float:
    """Seconds, of 90d, 24h, 30m or 0."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhdw]?)", text.strip())
    if not found or (not found[2] and float(found[1])):
        raise typer.BadParameter(f"{text!r} is no time: write a number and s, m, h, d or w, such as 90d")
    return float(found[1]) * SECONDS.get(found[2], 1)


Name = Annotated[str, typer.Argument(help="Whose key it is; the ledger notes it as the author.")]
Scopes = Annotated[
    list[str],
    typer.Option("--scope", "-s", help="What it may do: ask, read, edit, admin; repeat it for several."),
]
Lives = Annotated[
    float | None,
    typer.Option("--expires-in", parser=_span, metavar="TIME", help="After that it opens nothing, e.g. 90d."),
]
KeepOld = Annotated[
    float | None,
    typer.Option(
        "--keep-old", parser=_span, metavar="TIME", help="How long the old one opens yet: a day, or 0."
    ),
]


def list_(here: Session) -> None:
    """List the keys that were issued, the revoked ones too."""
    here.show(here.send(here.calls.keys(), "Reading the keys"), lambda listed: draw_keys(listed, now()))


def create(here: Session, name: Name, scope: Scopes, lives: Lives = None) -> None:
    """Make a key and show it, once."""
    call = here.calls.make_key(name, cast("list[Scope]", scope), expires_in_s=lives)
    here.show(here.send(call, "Making the key"), draw_new_key)


def rotate(here: Session, name: Name, keep_old: KeepOld = None, lives: Lives = None) -> None:
    """Give a key a new secret; the old one opens for a day yet, or as long as --keep-old says."""
    overlap_s = DAY_S if keep_old is None else keep_old
    call = here.calls.rotate_key(name, keep_old_s=overlap_s, expires_in_s=lives)
    here.show(here.send(call, "Making the key"), draw_new_key)


def revoke(here: Session, name: Name) -> None:
    """Revoke a key: within a second it opens nothing."""
    here.show(here.send(here.calls.revoke_key(name), "Revoking the key"), draw_key)
