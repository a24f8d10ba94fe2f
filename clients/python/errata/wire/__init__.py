"""What travels over HTTP, written once: the service validates with these types and the SDK returns them.

Requests are strict (no unknown fields, no guessing of types), so that a misspelt option is refused and not
ignored. Responses let unknown fields pass, so that an older client can read a newer service. A file is imported when
one of its names is used first, so that a command does not wait for the types of others.
"""

from importlib import import_module
from typing import TYPE_CHECKING

# ruff: noqa: F403  each name of these files is one of `errata.wire`
if TYPE_CHECKING:
    from errata.wire.admin import *
    from errata.wire.answers import *
    from errata.wire.audit import *
    from errata.wire.backups import *
    from errata.wire.base import *
    from errata.wire.documents import *
    from errata.wire.edits import *
    from errata.wire.graph import *
    from errata.wire.history import *
    from errata.wire.mistakes import *
    from errata.wire.problems import *
    from errata.wire.report import *
    from errata.wire.senses import *
    from errata.wire.state import *
    from errata.wire.tags import *
    from errata.wire.texts import *
    from errata.wire.worklist import *

FILES = (  # the most used first
    "base",
    "texts",
    "problems",
    "answers",
    "state",
    "report",
    "edits",
    "graph",
    "history",
    "documents",
    "worklist",
    "admin",
    "senses",
    "tags",
    "audit",
    "backups",
    "mistakes",
)


def __getattr__(name: str) -> object:
    """Return a type of the first file that has it."""
    if not name.startswith("_"):
        for file in FILES:
            module = import_module(f"errata.wire.{file}")
            if hasattr(module, name):
                return globals().setdefault(name, getattr(module, name))
    raise AttributeError(f"module 'errata.wire' has no attribute {name!r}")
