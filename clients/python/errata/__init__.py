"""The Errata client: ask questions, correct answers, and read the history of corrections, over HTTP."""

from errata import errors
from errata.client import AsyncErrata, Errata
from errata.corrections.run import FileRun
from errata.errors import ErrataError
from errata.retry import Retry
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
