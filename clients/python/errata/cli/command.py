"""Gives every command the common options, a session to work with, and one way to fail."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from errata.address import DEFAULT_URL
from errata.cli.errors import complain
from errata.cli.session import Key, Session, find_key, make_console
from errata.client import Errata
from errata.errors import BadAddress, ErrataError, Refused

connection_option = partial(typer.Option, rich_help_panel="Connection and output")
Url = Annotated[str, connection_option("--url", envvar="ERRATA_URL", help="Where the service is.")]
KeyOption = Annotated[
    str | None,
    connection_option(
        "--key",
        envvar="ERRATA_KEY",
        help="The key to send; without it, var/admin.key of this folder or one above it.",
    ),
]
Json = Annotated[bool, connection_option("--json", help="Print exactly what the service sent.")]


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Return the command that runs `function(session, ...)`, whose other parameters become options.

    Typer reads a command's options from its signature: the function's own, then those of all commands.
    """

    def run(
        *, url: Url = DEFAULT_URL, key: KeyOption = None, as_json: Json = False, **arguments: Any
    ) -> None:
        try:
            conduct(function, arguments, url, key, as_json)
        except BadAddress as error:
            raise typer.Exit(complain(error, make_console(stderr=True), Key(None, ""))) from error

    options = list(inspect.signature(function, eval_str=True).parameters.values())[1:]
    common = list(inspect.signature(run, eval_str=True).parameters.values())[:-1]
    parameters = [parameter.replace(kind=parameter.KEYWORD_ONLY) for parameter in (*options, *common)]
    run.__name__, run.__doc__ = function.__name__, function.__doc__
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    run.__dict__["__signature__"] = inspect.Signature(parameters)
    return run


def conduct(
    function: Callable[..., None], arguments: dict[str, Any], url: str, key_option: str | None, as_json: bool
) -> None:
    """Run one command in a separate session; typer.Exit carries the code of a failure."""
    try:
        folder = Path.cwd()
    except OSError:  # the folder was deleted, or belongs to another user
        folder = Path("/")
    key = find_key(key_option, url, folder)
    with Errata(url, key=key.value) as errata:
        site = str(errata.url).rstrip("/")
        session = Session(errata, as_json, make_console(site), make_console(site, stderr=True))
        try:
            function(session, **arguments)
        except ErrataError as error:
            if as_json and isinstance(error, Refused):
                typer.echo(error.problem.model_dump_json(exclude_unset=True))
            raise typer.Exit(complain(error, session.err, key)) from error
