"""Questions read lately: one that is corrected was asked just before, and is asked again when its edit is reported.

Answers to those who ask are always read anew. A process that only answers keeps nothing.
"""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from models.nkb.alike import Keyed
from models.nkb.reader import Read, Reader

KEPT = 1_024  # questions; about 20 kB each, the longest 130


@dataclass(frozen=True)
class One:
    """One question. states: without padding."""

    states: Tensor
    keyed: Keyed
    familiarity: Tensor
    truncated: bool


class RecentReads:
    """The one read longest ago leaves first. Safe to use from several threads."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self._kept: OrderedDict[str, One] = OrderedDict()
        self._wanted = False
        self._lock = threading.Lock()

    def of(self, questions: Sequence[str]) -> Read:
        """As `Reader.read`; the last bits of a kept read are those of the batch that it was read in."""
        with self._lock:
            self._wanted = True
            found = [self._kept.get(question) for question in questions]
        kept = [one for one in found if one is not None]
        return _joined(kept) if kept and len(kept) == len(found) else self.reader.read(questions)

    def keep(self, questions: Sequence[str], read: Read) -> None:
        """Once somebody asked for what is kept."""
        if not self._wanted:
            return
        with self._lock:
            for row, question in enumerate(questions):
                self._kept[question] = _one(read, row)
                self._kept.move_to_end(question)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)


def _one(read: Read, row: int) -> One:
    states = read.states[row][read.mask[row]]
    return One(states, read.keyed.row(row), read.familiarity[row], read.truncated[row])


def _joined(kept: Sequence[One]) -> Read:
    lengths = torch.tensor([len(one.states) for one in kept])
    states = pad_sequence([one.states for one in kept], batch_first=True)
    mask = torch.arange(states.shape[1]) < lengths[:, None]
    keyed = Keyed.joined([one.keyed for one in kept])
    familiar = torch.stack([one.familiarity for one in kept])
    return Read(states, mask, keyed, familiar, tuple(one.truncated for one in kept))
