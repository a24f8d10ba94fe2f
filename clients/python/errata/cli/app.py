"""All commands of `errata` in one list, in the order in which a curator meets them."""

from __future__ import annotations

from typing import Annotated

import typer

from errata.address import own_version
from errata.cli.command import command
from errata.cli.commands import (
    ask,
    audit,
    backup,
    change,
    doc,
    edit,
    gaps,
    history,
    keys,
    revert,
    scope,
    senses,
    status,
    tags,
)
from errata.cli.commands.graph import entities, export, facts, imports, rules
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

app = typer.Typer(
    name="errata",
    help="Ask questions, correct the answers, and look after the corrections.",
    epilog=EXITS,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

ACCESS = "Access"
for panel, functions in {
    "Ask": (ask.ask,),
    "Correct": (edit.edit, facts.fact, change.change, revert.revert, revert.rollback),
    "Knowledge graph": (entities.entities, entities.entity, facts.relation, imports.import_, export.export),
    "Senses of words": (senses.senses, senses.bias),
    "Look": (
        history.log,
        history.show,
        history.diff,
        scope.scope,
        scope.why,
        gaps.gaps,
        tags.tags,
        tags.tag,
        tags.untag,
        status.check,
        status.replicas,
        status.models,
        status.memory,
    ),
    ACCESS: (status.whoami, audit.audit),
    "Keep": (backup.backup, backup.restore),
}.items():
    for function in functions:
        name = function.__name__.rstrip("_")
        app.command(name, rich_help_panel=panel, epilog=EXITS)(command(function))

keyring = typer.Typer(help="Make, list, rotate and revoke keys.", no_args_is_help=True)
for action in (keys.list_, keys.create, keys.rotate, keys.revoke):
    keyring.command(action.__name__.rstrip("_"))(command(action))
app.add_typer(keyring, name="keys", rich_help_panel=ACCESS)

documents = typer.Typer(help="Documents that models answer from.", no_args_is_help=True)
for doc_action in (doc.put, doc.get, doc.list_, doc.ask, doc.edit, doc.rm):
    documents.command(doc_action.__name__.rstrip("_"))(command(doc_action))
app.add_typer(documents, name="doc", rich_help_panel="Documents")

rulebook = typer.Typer(help="Rules about the paths of facts that may be walked.", no_args_is_help=True)
for rule_action in (rules.list_, rules.add, rules.explain, rules.rm):
    rulebook.command(rule_action.__name__.rstrip("_"))(command(rule_action))
rulebook.command("test")(command(rules.measure))
app.add_typer(rulebook, name="rules", rich_help_panel="Rules about paths")


def print_version(show: bool) -> None:
    if show:
        typer.echo(f"errata {own_version()}")
        raise typer.Exit


@app.callback()
def root(
    _: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line."""
    with streams():
        app()
