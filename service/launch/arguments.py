"""What can be said on the command line of `python -m service`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from service.config import BANK_SLOTS, SYSTEMS
from service.launch import access_arguments, telling_arguments

ENVIRONMENT = """\
environment:
  ERRATA_REDIS_URL   keep the ledger in this Redis or Valkey (>= 6.2) instead of an embedded one under --var
  ERRATA_KEY         the admin key, instead of the one made in VAR/admin.key
  ERRATA_REDIS_URL_FILE, ERRATA_KEY_FILE   the file that holds it, such as a mounted secret
"""


@dataclass(frozen=True)
class Arguments:
    """settings: further ones that were said, by their names."""

    port: int
    var: Path
    host: str
    replicas: int | None
    systems: dict[str, str]
    bank_slots: int = BANK_SLOTS
    auto_grow_bank: bool = False
    settings: dict[str, Any] = field(default_factory=dict)
    max_replicas: int | None = None


def parse(words: Sequence[str] | None = None) -> Arguments:
    """Ends the process with usage and status 2 for words it does not know."""
    parser = argparse.ArgumentParser(
        "python -m service",
        description="Start Errata: the models, the editor, the ledger and HTTP. Ctrl-C stops all of it.",
        epilog=ENVIRONMENT,
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--port", type=int, default=8000, help="port of HTTP (default: 8000)")
    parser.add_argument("--var", type=Path, default=Path("var"), help="folder of all data (default: var)")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1)")
    parser.add_argument(
        "--replicas",
        type=_range,
        default=(None, None),
        metavar="N|N-M",
        help="of each model; 1-4: one to four, as there is to answer (default: 2 with 4 cores or more, else 1)",
    )
    parser.add_argument(
        "--system",
        action="append",
        type=_system,
        metavar="NAME=MODULE:LOADER",
        help=f"a model to serve; may be repeated (default: {_spelt(SYSTEMS)})",
    )
    parser.add_argument(
        "--bank-slots",
        type=int,
        default=BANK_SLOTS,
        help=f"value slots for edits, one for each token of their answers (default: {BANK_SLOTS}, some 15,000 edits)",
    )
    parser.add_argument(
        "--auto-grow-bank",
        action="store_true",
        help="set as many slots more aside when four fifths are taken",
    )
    access_arguments.add(parser)
    telling_arguments.add(parser)
    given = parser.parse_args(words)
    least, most = given.replicas
    systems = dict(given.system) if given.system else SYSTEMS
    return Arguments(
        given.port,
        given.var.absolute(),
        given.host,
        least,
        systems,
        given.bank_slots,
        given.auto_grow_bank,
        access_arguments.chosen(given) | telling_arguments.chosen(given),
        most,
    )


def _range(text: str) -> tuple[int, int | None]:
    least, dash, most = text.partition("-")
    if not least.isdecimal() or (dash and not most.isdecimal()):
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form N or N-M, such as 2 or 1-4")
    return int(least), int(most) if dash else None


def _system(text: str) -> tuple[str, str]:
    name, equals, loader = text.partition("=")
    if not (name and equals and ":" in loader):
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form NAME=MODULE:LOADER")
    return name, loader


def _spelt(systems: dict[str, str]) -> str:
    return " ".join(f"{name}={loader}" for name, loader in systems.items())
