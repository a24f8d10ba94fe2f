"""The `errata` command: what a curator types. A file is one group of commands, or one thing they share."""

import sys

sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]  # httpx's own command, which loads pygments

from errata.cli.app import main  # noqa: E402

__all__ = ["main"]
