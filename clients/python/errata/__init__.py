"""The Errata client: ask questions, correct answers, and read the history of corrections, over HTTP."""

from errata.bulk.run import FileRun
from errata.client import AsyncErrata, Errata
from errata.errors import ErrataError
from errata.transport import Retry
from errata.wire import Answer, EditItem, EditReceipt

__all__ = [
    "Answer",
    "AsyncErrata",
    "EditItem",
    "EditReceipt",
    "Errata",
    "ErrataError",
    "FileRun",
    "Retry",
    "errors",
]
