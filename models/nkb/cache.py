"""A cache of questions as read: one that is corrected was asked just before, and is asked again when its edit is
reported. Answers to those who ask are always read anew, and a process that only answers caches nothing.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from cachetools import LRUCache
from jaxtyping import Float
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from models.nkb.reader import Read, Reader
from models.scope.keys import QuestionKeys

CACHE_SIZE = 1_024  # questions; about 20 kB each, the longest 130


@dataclass(frozen=True)
class CachedRead:
    """One question. states: without padding."""

    states: Float[Tensor, "token d"]
    question_keys: QuestionKeys
    familiarity: Float[Tensor, ""]
    truncated: bool


class ReadCache:
    """Least recently used first. Thread-safe."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self._cache: LRUCache[str, CachedRead] = LRUCache(CACHE_SIZE)
        self._is_used = False
        self._lock = threading.Lock()

    def read(self, questions: Sequence[str]) -> Read:
        """As `Reader.read`; the last bits of a cached read are those of the batch that it was read in."""
        with self._lock:
            self._is_used = True
            entries = [self._cache.get(question) for question in questions]
        hits = [entry for entry in entries if entry is not None]
        if not hits or len(hits) < len(entries):
            return self.reader.read(questions)
        states = pad_sequence([entry.states for entry in hits], batch_first=True)
        lengths = torch.tensor([len(entry.states) for entry in hits], device=states.device)
        return Read(
            states,
            torch.arange(states.shape[1], device=states.device) < lengths[:, None],
            QuestionKeys.concatenate([entry.question_keys for entry in hits]),
            torch.stack([entry.familiarity for entry in hits]),
            tuple(entry.truncated for entry in hits),
        )

    def keep(self, questions: Sequence[str], read: Read) -> None:
        """Cache what was read, once `read` was called for the first time."""
        if not self._is_used:
            return
        with self._lock:
            for row, question in enumerate(questions):
                states, keys = read.states[row][read.mask[row]], read.question_keys.copy_row(row)
                self._cache[question] = CachedRead(states, keys, read.familiarity[row], read.truncated[row])
