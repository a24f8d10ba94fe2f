"""The Errata client: ask questions, correct answers, and read the history of corrections, over HTTP.

A name is imported when it is used first, so that a command does not wait for the parts that it does not use.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from errata import errors
    from errata.bulk.run import FileRun
    from errata.client import AsyncErrata, Errata
    from errata.errors import ErrataError
    from errata.transport import Retry
    from errata.wire import (
        Answer,
        AnswerDelta,
        AnswerRequest,
        EditItem,
        EditReceipt,
        FactItem,
        MemoryItem,
        RelationItem,
        VersionLog,
    )

__version__ = "0.1.0"
_PLACES = {
    "FileRun": "bulk.run",
    "AsyncErrata": "client",
    "Errata": "client",
    "ErrataError": "errors",
    "Retry": "transport",
}

__all__ = [
    "Answer",
    "AnswerDelta",
    "AnswerRequest",
    "AsyncErrata",
    "EditItem",
    "EditReceipt",
    "Errata",
    "ErrataError",
    "FactItem",
    "FileRun",
    "MemoryItem",
    "RelationItem",
    "Retry",
    "VersionLog",
    "__version__",
    "errors",
]


def __getattr__(name: str) -> object:
    if name in __all__ and name != "errors":
        value: object = getattr(import_module(f"errata.{_PLACES.get(name, 'wire')}"), name)
    else:
        try:
            value = import_module(f"errata.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"errata.{name}":
                raise
            raise AttributeError(f"module 'errata' has no attribute {name!r}") from None
    globals()[name] = value
    return value
