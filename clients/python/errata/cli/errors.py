"""Says on stderr why a command failed and what to do about it, and which exit code that is."""

from __future__ import annotations

from enum import IntEnum

from rich.console import Console
from rich.text import Text

from errata import errors
from errata.cli.render.effects import draw_broken
from errata.cli.render.graph import draw_entities
from errata.cli.render.text import plural, printable, visible
from errata.cli.session import Key


class Exit(IntEnum):
    OK = 0
    REFUSED = 1  # the service said no, and why
    USAGE = 2  # the command line cannot be used as it is
    UNREACHABLE = 3  # nobody answered, or somebody who is not Errata
    UNSURE = 4  # `ask`: the model declines to answer
    BROKEN = 5  # `check`: a fact test no longer holds, or rows of an import are damaged
    UNWRITABLE = (
        6  # stdout, stderr or the file of a backup takes no more; what was asked for may be done all the same
    )
    UNKNOWN = 7  # a change may have been made or not: repeat it with its idempotency key


HINTS: dict[type[errors.ErrataError], str] = {
    errors.TimedOut: "It may be busy: try again later.",
    errors.Unreachable: "Is it running? `make serve` starts it; --url or ERRATA_URL names another address.",
    errors.Forbidden: "`errata whoami` shows what your key may do.",
    errors.StaleVersion: "`errata log` shows what has been changed since; then repeat it without --expect.",
    errors.NotFound: "`errata log` lists versions, `errata tags` tags, `errata entities TEXT` the entities there are.",
    errors.Ambiguous: "Say which one is meant: repeat it with an id in place of the name.",
    errors.BreaksTests: "`errata show VERSION` shows who made it and why; without --strict it is done all the same.",
    errors.UnknownModel: "`errata models` lists the models there are.",
    errors.LedgerUnavailable: "Answers go on as before; edits have to wait until the ledger is back.",
    errors.VersionAhead: "`errata log` shows the newest version there is, `errata replicas` who has it.",
    errors.NotReady: "It may still be starting: try again in a moment.",
    errors.TooMany: "Try again in a moment.",
    errors.EditRefused: "Nothing was changed.",
}

UNKNOWN_AUTHORITY = ("local issuer", "self-signed", "self signed")
UNTRUSTED = "SSL_CERT_FILE=FILE names the certificate of the authority that vouches for it."
BROKEN_OFF = "Is it still running? If it speaks TLS, its address begins with https://."
OF_LINES = "Correct them, or leave them out with --skip-bad; --report FILE writes what is wrong with each."
MOST_LINES = 5  # of a bad file


def complain(error: errors.ErrataError, err: Console, key: Key) -> Exit:
    """Print the error; the exit code to leave with."""
    err.print(Text.assemble(("error: ", "bold red"), visible(str(error)), _code(error)), soft_wrap=True)
    if isinstance(error, errors.Ambiguous) and error.candidates:
        err.print(draw_entities([printable(one) for one in error.candidates]))
    if isinstance(error, errors.BreaksTests) and error.tests:
        err.print(draw_broken([printable(one) for one in error.tests]))
    if isinstance(error, errors.BadFile):
        err.print(_bad_lines(error), end="", soft_wrap=True)
    hint = _hint(error, key)
    if hint:
        err.print(Text.assemble(("hint: ", "bold"), hint), soft_wrap=True)
    return _exit(error)


def _bad_lines(error: errors.BadFile) -> str:
    more = len(error.lines) - MOST_LINES
    told = [f"  {visible(line)}\n" for line in error.lines[:MOST_LINES]]
    return "".join([*told, *([f"  and {plural(more, 'more line')}\n"] if more > 0 else [])])


def _exit(error: errors.ErrataError) -> Exit:
    if error.in_doubt:
        return Exit.UNKNOWN
    if type(error) is errors.Malformed:
        return Exit.USAGE  # also when the service is the one to see it
    if isinstance(error, errors.Refused):
        return Exit.REFUSED
    if isinstance(error, errors.UnwritableFile):
        return Exit.UNWRITABLE
    return Exit.USAGE if isinstance(error, errors.BadAddress | errors.UnreadableFile) else Exit.UNREACHABLE


def _code(error: errors.ErrataError) -> tuple[str, str]:
    if not isinstance(error, errors.Refused):
        return "", ""
    reason = error.reason if isinstance(error, errors.EditRefused) else ""
    return visible(f" [{': '.join(filter(None, (error.code, reason)))}]"), "dim"


def _hint(error: errors.ErrataError, key: Key) -> str:
    if isinstance(error, errors.BadFile):
        return OF_LINES if error.lines else ""
    if error.remedy:
        return ""  # the error has said it
    if "`errata " in error.sentence:
        return ""  # the service has said it
    if error.idempotency_key is not None:
        return f"Repeat it with --idempotency-key {error.idempotency_key}: it is made once. `errata log` shows it."
    if error.in_doubt:
        return "`errata log` shows whether it was made; with --expect VERSION it is not made a second time."
    if isinstance(error, errors.Unauthorized):
        return _about_key(key)
    if isinstance(error, errors.Unreachable) and any(sign in error.sentence for sign in UNKNOWN_AUTHORITY):
        return UNTRUSTED
    if type(error) is errors.Unreachable and error.sent:
        return BROKEN_OFF
    return next((hint for kind, hint in HINTS.items() if isinstance(error, kind)), "")


def _about_key(key: Key) -> str:
    if key.value is None:
        return f"No key was sent ({key.source}): give one with --key or ERRATA_KEY."
    return f"The key sent was the one {key.source}; it belongs to another service, or is out of date."
