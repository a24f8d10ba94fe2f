"""The Errata client: ask questions, correct answers, and read the history of corrections, over HTTP.

A name is imported when it is used first, so that a command does not wait for the parts that it does not use.
"""

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
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

    __version__: str

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
    if name == "__version__":
        try:
            value: object = version("errata")
        except PackageNotFoundError:  # run from a checkout that is not installed
            value = "0"
    elif name in __all__ and name != "errors":
        value = getattr(import_module(f"errata.{_PLACES.get(name, 'wire')}"), name)
    else:
        try:
            value = import_module(f"errata.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"errata.{name}":
                raise
            raise AttributeError(f"module 'errata' has no attribute {name!r}") from None
    globals()[name] = value
    return value
