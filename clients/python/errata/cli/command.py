"""Gives every command the options that all of them have, a key, a session to work with, and one way to fail."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from errata.address import DEFAULT_URL
from errata.cli.errors import complain
from errata.cli.session import Key, Session, console, find_key
from errata.client import Errata
from errata.errors import BadAddress, ErrataError, Refused

PANEL = "Connection and output"
Url = Annotated[
    str, typer.Option("--url", envvar="ERRATA_URL", help="Where the service is.", rich_help_panel=PANEL)
]
GivenKey = Annotated[
    str | None,
    typer.Option(
        "--key",
        envvar="ERRATA_KEY",
        help="The key to send; without it, var/admin.key of this folder or one above it.",
        rich_help_panel=PANEL,
    ),
]
Json = Annotated[
    bool, typer.Option("--json", help="Print exactly what the service sent.", rich_help_panel=PANEL)
]


def command(function: Callable[..., None]) -> Callable[..., None]:
    """The command that runs `function(session, ...)`, whose other parameters become options."""

    def run(*, url: str, key: str | None, as_json: bool, **own: Any) -> None:
        try:
            conduct(function, own, url, key, as_json)
        except BadAddress as error:
            raise typer.Exit(complain(error, console(stderr=True), Key(None, ""))) from error

    _look_like(function, run)
    return run


def conduct(
    function: Callable[..., None], own: dict[str, Any], url: str, given: str | None, as_json: bool
) -> None:
    """Run one command in a session of its own; typer.Exit carries the code when it fails."""
    key = find_key(given, url, _here())
    with Errata(url, key=key.value) as errata:
        site = str(errata.url).rstrip("/")
        session = Session(errata, as_json, console(site), console(site, stderr=True))
        try:
            function(session, **own)
        except ErrataError as error:
            if as_json and isinstance(error, Refused):
                typer.echo(error.problem.model_dump_json(exclude_unset=True))
            raise typer.Exit(complain(error, session.err, key)) from error


def _here() -> Path:
    try:
        return Path.cwd()
    except OSError:  # it was deleted, or is somebody else's
        return Path("/")


def _look_like(function: Callable[..., None], run: Callable[..., None]) -> None:
    """Typer reads a command's options from its signature: the function's own, then those of all commands."""
    hints = get_type_hints(function, include_extras=True)
    own = list(inspect.signature(function).parameters.values())[1:]
    fields = [one.replace(annotation=hints[one.name], kind=one.KEYWORD_ONLY) for one in own]
    for name, kind, default in (("url", Url, DEFAULT_URL), ("key", GivenKey, None), ("as_json", Json, False)):
        fields.append(
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
        )
    run.__name__, run.__doc__ = function.__name__, function.__doc__
    run.__annotations__ = {one.name: one.annotation for one in fields}
    run.__dict__["__signature__"] = inspect.Signature(fields)
