"""`errata keys`, `whoami`: who may call the service."""

from __future__ import annotations

import re
from typing import Annotated, cast

import typer

from errata.calls.admin import DAY_S
from errata.cli.render.status import draw_keys, draw_new_key, draw_revocation, draw_whoami
from errata.cli.session import Session
from errata.wire import Scope

SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
Name = Annotated[str, typer.Argument(help="Whose key it is; the ledger notes it as the author.")]


def parse_span(text: str) -> float:
    """Return the seconds of a text such as 90d, 24h, 30m or 0."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smhdw]?)", text.strip())
    if not match or (not match[2] and float(match[1])):
        raise typer.BadParameter(f"{text!r} is no time: write a number and s, m, h, d or w, such as 90d")
    return float(match[1]) * SECONDS.get(match[2], 1)


Span = Annotated[float | None, typer.Option(parser=parse_span, metavar="TIME")]


def list_(session: Session) -> None:
    """List the keys that were issued, the revoked ones too."""
    session.run(session.calls.keys(), "Reading the keys", draw_keys)


def create(
    session: Session, name: Name, scope: Annotated[list[str], typer.Option()], expires_in: Span = None
) -> None:
    """Make a key and show it, once.

    Args:
        scope: What it may do: ask, read, propose, edit, admin; repeat it for several.
        expires_in: After that it opens nothing, e.g. 90d.
    """
    call = session.calls.make_key(name, cast("list[Scope]", scope), expires_in_s=expires_in)
    session.run(call, "Making the key", draw_new_key)


def rotate(session: Session, name: Name, keep_old: Span = None, expires_in: Span = None) -> None:
    """Give a key a new secret; the old one opens for a day yet, or as long as --keep-old says.

    Args:
        keep_old: How long the old one opens yet, e.g. 12h, or 0.
        expires_in: After that it opens nothing, e.g. 90d.
    """
    overlap_s = DAY_S if keep_old is None else keep_old
    call = session.calls.rotate_key(name, keep_old_s=overlap_s, expires_in_s=expires_in)
    session.run(call, "Making the key", draw_new_key)


def revoke(session: Session, name: Name) -> None:
    """Revoke a key: within a second it opens nothing."""
    session.run(session.calls.revoke_key(name), "Revoking the key", draw_revocation)


def whoami(session: Session) -> None:
    """Show what the key you use may do."""
    session.run(session.calls.whoami(), "Asking who you are", draw_whoami)
