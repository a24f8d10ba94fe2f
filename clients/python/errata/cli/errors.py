"""Says on stderr why a command failed and what to do about it, and chooses the exit code."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from errata import errors
from errata.cli.key import Key
from errata.cli.render.drawing import FLAGS
from errata.cli.render.escaping import escape, make_printable
from errata.cli.render.graph import draw_entities
from errata.cli.render.text import plural
from errata.cli.streams import Exit
from errata.wire.wording import name_fields

HINTS: dict[type[errors.ErrataError], str] = {
    errors.TimedOut: "It may be busy: try again later.",
    errors.Unreachable: "Is it running? `make serve` starts it; --url or ERRATA_URL names another address.",
    errors.Forbidden: "`errata whoami` shows what your key may do.",
    errors.StaleVersion: "`errata log` shows what has been changed since; then repeat it without --expect.",
    errors.NotFound: "`errata log` lists versions, `errata tags` tags, `errata entities TEXT` the entities there are.",
    errors.Ambiguous: "Say which one is meant: repeat it with an id in place of the name.",
    errors.AddOrSet: "`errata relation NAME --holds one`, or many, says it for all things.",
    errors.BreaksTests: "`errata show VERSION` shows who made it and why; without --strict it is done all the same.",
    errors.UnknownModel: "`errata models` lists the models there are.",
    errors.LedgerUnavailable: "Answers go on as before; edits have to wait until the ledger is back.",
    errors.VersionAhead: "`errata log` shows the newest version there is, `errata replicas` who has it.",
    errors.NotReady: "It may still be starting: try again in a moment.",
    errors.TooMany: "Try again in a moment.",
    errors.EditRefused: "Nothing was changed.",
}
EXITS: dict[type[errors.ErrataError], Exit] = {
    errors.Refused: Exit.REFUSED,
    errors.UnwritableFile: Exit.UNWRITABLE,
    errors.BadAddress: Exit.USAGE,
    errors.UnreadableFile: Exit.USAGE,
}
UNKNOWN_AUTHORITY = ("local issuer", "self-signed", "self signed")
MAX_LINES = 5  # of a bad file


def complain(error: errors.ErrataError, err: Console, key: Key) -> Exit:
    """Print the error; the exit code to leave with."""
    reason = f": {error.reason}" if isinstance(error, errors.EditRefused) and error.reason else ""
    code = escape(f" [{error.code}{reason}]") if isinstance(error, errors.Refused) else ""
    err.print(
        Text.assemble(("error: ", "bold red"), escape(name_fields(str(error), FLAGS)), (code, "dim")),
        soft_wrap=True,
    )
    if isinstance(error, errors.Ambiguous) and error.candidates:
        err.print(draw_entities([make_printable(entity) for entity in error.candidates]))
    if isinstance(error, errors.BreaksTests):
        from errata.cli.render.outcomes import Row, draw_outcomes, list_tests

        tests, effects = (list(map(make_printable, rows)) for rows in (error.tests, error.side_effects))
        err.print(*draw_outcomes([*list_tests(tests), *map(Row, effects)], 2))
    if isinstance(error, errors.BadFile):
        lines = [f"  {escape(line)}\n" for line in error.lines[:MAX_LINES]]
        n_more = len(error.lines) - MAX_LINES
        lines += [f"  and {plural(n_more, 'more line')}\n"] if n_more > 0 else []
        err.print("".join(lines), end="", soft_wrap=True)
    hint = choose_hint(error, key)
    if hint:
        err.print(Text.assemble(("hint: ", "bold"), hint), soft_wrap=True)
    return choose_exit(error)


def choose_exit(error: errors.ErrataError) -> Exit:
    if error.in_doubt:
        return Exit.UNKNOWN
    if type(error) is errors.Malformed:
        return Exit.USAGE  # also when the service is the one to see it
    return next((code for kind, code in EXITS.items() if isinstance(error, kind)), Exit.UNREACHABLE)


def choose_hint(error: errors.ErrataError, key: Key) -> str:
    """Return the remedy for an error; "" if its message names it."""
    if isinstance(error, errors.BadFile):
        advice = (
            "Correct them, or leave them out with --skip-bad; --report FILE writes what is wrong with each."
        )
        return advice if error.lines else ""
    if error.remedy or "`errata " in error.sentence:
        return ""
    if error.idempotency_key is not None:
        return f"Repeat it with --idempotency-key {error.idempotency_key}: it is made once. `errata log` shows it."
    if error.in_doubt:
        return "`errata log` shows whether it was made; with --expect VERSION it is not made a second time."
    if isinstance(error, errors.BreaksTests) and not error.tests:
        return ""
    if isinstance(error, errors.Unauthorized):
        if key.value is None:
            return f"No key was sent ({key.source}): give one with --key or ERRATA_KEY."
        return f"The key sent was the one {key.source}; it belongs to another service, or is out of date."
    if isinstance(error, errors.Unreachable) and any(sign in error.sentence for sign in UNKNOWN_AUTHORITY):
        return "SSL_CERT_FILE=FILE names the certificate of the authority that vouches for it."
    if type(error) is errors.Unreachable and error.was_sent:
        return "Is it still running? If it speaks TLS, its address begins with https://."
    return next((hint for kind, hint in HINTS.items() if isinstance(error, kind)), "")
