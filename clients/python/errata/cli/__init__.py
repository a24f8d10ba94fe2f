"""The `errata` command: what a curator types. A file is one group of commands, or one thing they share."""

from errata.cli.app import main

__all__ = ["main"]
