"""Gives every command its options, those that all commands have, a session to work with, and one way to fail."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from copy import copy
from functools import partial
from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import typer
from typer.models import OptionInfo, ParameterInfo

from errata.address import DEFAULT_URL
from errata.cli.errors import complain
from errata.cli.key import Key, find_key
from errata.cli.options import read_version
from errata.cli.page import make_console
from errata.cli.session import Session
from errata.cli.write import Write, left_out
from errata.client import Errata
from errata.errors import ErrataError, Refused

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
SHORT_FORMS = {"dry_run": "-n", "file": "-f", "limit": "-n", "message": "-m", "scope": "-s", "verbose": "-v"}
# An entry of the section `Args:` of a docstring: the name, what stands for a value in the help, and the help
ENTRY = re.compile(r"^    (\w+)(?: \((.+?)\))?: (.+(?:\n {6,}.+)*)", re.MULTILINE)


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Return the command that runs `function(session, ...)`, whose other parameters become options.

    Typer reads a command's options from its signature: the function's own, those of a write in the place of a parameter
    of that type, then those of all commands.
    """
    [_, *parameters] = list_options(function)
    write = {parameter.name: left_out(parameter.annotation) for parameter in parameters}
    [name, names] = next(((n, s) for n, s in write.items() if s is not None), ("", set()))
    options = [option for option in list_options(Write) if option.name not in names]
    versions = [p.name for p in parameters if p.name != name and find_info(p).parser is read_version]

    def run(
        *, url: Url = DEFAULT_URL, key: KeyOption = None, as_json: Json = False, **arguments: Any
    ) -> None:
        if name:
            arguments[name] = Write(**{option.name: arguments.pop(option.name) for option in options})
        conduct(function, arguments, versions, url, key, as_json)

    expansion = [option for p in parameters for option in (options if p.name == name else (p,))]
    [*common, _] = inspect.signature(run, eval_str=True).parameters.values()
    signature = [parameter.replace(kind=Parameter.KEYWORD_ONLY) for parameter in (*expansion, *common)]
    run.__name__, run.__doc__ = function.__name__, split_docstring(function)[0]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in signature}
    run.__dict__["__signature__"] = inspect.Signature(signature)
    return run


def split_docstring(action: Callable[..., Any]) -> tuple[str, str]:
    """Return what a docstring says of its function, and of the function's parameters."""
    words, _, entries = (inspect.getdoc(action) or "").partition("\n\nArgs:\n")
    return words, entries


def list_options(action: Callable[..., Any]) -> list[Parameter]:
    """Return the parameters of a function for Typer, each with the words of its docstring, or else of that of Write.

    Where its type does not say it, a parameter without a default is an argument, any other an option with its name.
    """
    docs = f"{split_docstring(Write)[1]}\n{split_docstring(action)[1]}"
    entries = {name: (mark, words) for name, mark, words in ENTRY.findall(docs)}
    parameters = list(inspect.signature(action, eval_str=True).parameters.values())
    for place, parameter in enumerate(parameters):
        kind, info = parameter.annotation, find_info(parameter)
        if left_out(kind) is None:
            mark, words = entries.get(parameter.name, ("", ""))
            info.help, info.metavar = " ".join(words.split()) or info.help, mark or info.metavar
            kind = get_args(kind)[0] if get_origin(kind) is Annotated else kind
            kind = str if info.parser is read_version else kind
            parameters[place] = parameter.replace(annotation=Annotated[kind, info])
    return parameters


def find_info(parameter: Parameter) -> ParameterInfo:
    """Return what Typer has to know of a parameter; an option that its type does not name has the parameter's name."""
    kinds = get_args(parameter.annotation) if get_origin(parameter.annotation) is Annotated else ()
    usual = typer.Argument() if parameter.default is Parameter.empty else typer.Option()
    info: ParameterInfo = copy(next((kind for kind in kinds if isinstance(kind, ParameterInfo)), usual))
    if isinstance(info, OptionInfo) and info.default is ...:  # Typer would make --no-NAME of a flag, too
        info.default = f"--{parameter.name.rstrip('_').replace('_', '-')}"
        info.param_decls = (SHORT_FORMS[parameter.name],) if parameter.name in SHORT_FORMS else ()
    return info


def conduct(
    function: Callable[..., None],
    arguments: dict[str, Any],
    versions: list[str],
    url: str,
    key_option: str | None,
    as_json: bool,
) -> None:
    """Run one command in a separate session; typer.Exit carries the code of a failure.

    Args:
        versions: Names of the arguments that are versions or tags; the function gets versions.
    """
    try:
        folder = Path.cwd()
    except OSError:  # the folder was deleted, or belongs to another user
        folder = Path("/")
    key = Key(None, "")
    try:
        key = find_key(key_option, url, folder)
        with Errata(url, key=key.value) as errata:
            site = str(errata.url).rstrip("/")
            session = Session(errata, as_json, make_console(site), make_console(site, stderr=True))
            for name in versions:
                arguments[name] = session.resolve_version(arguments[name])
            function(session, **arguments)
    except ErrataError as error:
        if as_json and isinstance(error, Refused):
            typer.echo(error.problem.model_dump_json(exclude_unset=True))
        raise typer.Exit(complain(error, make_console(url.rstrip("/"), stderr=True), key)) from error
