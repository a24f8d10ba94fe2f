"""The Errata client: ask questions, correct answers, and read the history of corrections, over HTTP."""

from errata.address import own_version
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

__version__ = own_version()

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
