"""Gives every command the common options, a session to work with, and one way to fail."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import partial
from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any

import typer

from errata.address import DEFAULT_URL
from errata.cli.errors import complain
from errata.cli.options import Write, left_out
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

    Typer reads a command's options from its signature: the function's own, those of a write in the place of a parameter
    of that type, then those of all commands.
    """
    [_, *parameters] = inspect.signature(function, eval_str=True).parameters.values()
    write = {parameter.name: left_out(parameter.annotation) for parameter in parameters}
    [name, names] = next(((n, s) for n, s in write.items() if s is not None), ("", set()))
    fields = inspect.signature(Write, eval_str=True).parameters.values()
    options = [field for field in fields if field.name not in names]

    def run(
        *, url: Url = DEFAULT_URL, key: KeyOption = None, as_json: Json = False, **arguments: Any
    ) -> None:
        if name:
            arguments[name] = Write(**{option.name: arguments.pop(option.name) for option in options})
        try:
            conduct(function, arguments, url, key, as_json)
        except BadAddress as error:
            raise typer.Exit(complain(error, make_console(stderr=True), Key(None, ""))) from error

    def expand() -> Iterator[Parameter]:
        for parameter in parameters:
            yield from options if parameter.name == name else (parameter,)
        yield from list(inspect.signature(run, eval_str=True).parameters.values())[:-1]

    signature = [parameter.replace(kind=Parameter.KEYWORD_ONLY) for parameter in expand()]
    run.__name__, run.__doc__ = function.__name__, function.__doc__
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in signature}
    run.__dict__["__signature__"] = inspect.Signature(signature)
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
