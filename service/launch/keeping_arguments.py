"""What can be said on the command line about which versions stay."""

from __future__ import annotations

import argparse
from typing import Any


def add(parser: argparse.ArgumentParser) -> None:
    keeping = parser.add_argument_group(
        "old versions; commits stay, and so does what has a tag (default: all stay)"
    )
    keeping.add_argument(
        "--keep-versions", type=int, metavar="N", help="the newest N stay; rows of others are dropped"
    )
    keeping.add_argument(
        "--keep-days", type=float, metavar="N", help="what was the newest within N days stays, too"
    )


def chosen(given: argparse.Namespace) -> dict[str, Any]:
    """By their names in the settings; what was not said is left out."""
    said = {"keep_versions": given.keep_versions, "keep_days": given.keep_days}
    return {name: value for name, value in said.items() if value is not None}
