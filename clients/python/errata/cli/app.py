"""All commands of `errata`, in the order in which a curator meets them. Each is imported when it is called."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Annotated

import typer

import errata
from errata.cli.streams import streams

# One code a line, each short enough for 80 columns, since help does not indent what it wraps
EXITS = """Exit codes:
  0  done
  1  the service refused, and said why
  2  wrong usage
  3  the service cannot be reached
  4  the model is not sure of an answer
  5  done, or tried by a dry run, but an edit or a test does not hold,
     or an edit was replaced unasked
  6  the output cannot be written
  7  a change may have been made or not"""

ACCESS = "Access"
PANELS = {
    "Ask": "ask.ask",
    "Correct": "edit.edit graph.fact change.change edit.revert edit.rollback",
    "Propose": "review.propose review.proposals review.approve review.reject",
    "Knowledge graph": "graph.entities graph.entity graph.relation imports.import_ imports.export",
    "Senses of words": "ask.senses",
    "Look": "history.log history.show history.diff ask.scope ask.why gaps.gaps review.reviews review.review "
    "history.tags history.tag history.untag history.check history.replicas history.models history.memory",
    ACCESS: "keys.whoami audit.audit",
    "Keep": "backup.backup backup.restore",
    "Programs": "mcp.mcp",
}
"""Places of the commands in errata.cli.commands, by the panel of the help."""

GROUPS = {
    "keys": ("keys", ("list_", "create", "rotate", "revoke"), ACCESS, "Make, list, rotate and revoke keys."),
    "doc": (
        "doc",
        ("put", "get", "list_", "ask", "edit", "rm"),
        "Documents",
        "Documents that models answer from.",
    ),
    "rules": (
        "change",
        ("list_", "add", "explain", "rm", "measure"),
        "Rules about paths",
        "Rules about the paths of facts that may be walked.",
    ),
}
"""Groups of commands: their file, their functions, the panel and the help."""

HELP = "Ask questions, correct the answers, and look after the corrections."


NAMES = {"measure": "test"}  # of functions that pytest would take for tests


def build_cli(word: str = "") -> typer.Typer:
    """Build the command line: one command, if a command or a group is called so, and otherwise all of them."""
    app = typer.Typer(
        name="errata",
        help=HELP,
        epilog=EXITS,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(root)
    if word == "--version":
        return app
    from errata.cli.command import command  # which imports the client

    commands = {
        place.rpartition(".")[2].rstrip("_"): (place, panel)
        for panel, places in PANELS.items()
        for place in places.split()
    }
    is_known = word in commands or word in GROUPS
    for name, (place, panel) in commands.items():
        if not is_known or name == word:
            module, _, function = place.rpartition(".")
            app.command(name, rich_help_panel=panel, epilog=EXITS)(command(load(module, function)))
    for name, (module, functions, panel, help) in GROUPS.items():
        if not is_known or name == word:
            group = typer.Typer(help=help, no_args_is_help=True)
            for function in functions:
                group.command(NAMES.get(function, function.rstrip("_")))(command(load(module, function)))
            app.add_typer(group, name=name, rich_help_panel=panel)
    return app


def load(module: str, function: str) -> Callable[..., None]:
    """Import the function of a command."""
    action: Callable[..., None] = getattr(import_module(f"errata.cli.commands.{module}"), function)
    return action


def print_version(show: bool) -> None:
    if show:
        typer.echo(f"errata {errata.__version__}")
        raise typer.Exit


def root(
    _: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Correct what question-answering models know, while they run."""


def main() -> None:
    """Run the command line."""
    sys.modules.setdefault("trio", None)  # type: ignore[arg-type]  # which httpcore loads where it is installed
    with streams():
        build_cli(next(iter(sys.argv[1:]), ""))()
