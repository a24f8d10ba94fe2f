"""Reads a document once, segment by segment, and again only what has changed.

A segment is `[CLS] window [SEP]`, or `[CLS] window [SEP] question [SEP]`. A model that points has a [MASK] behind the
question. Windows are as long as leaves room for a question, for reading too, so that the state before a window is the
state that a question to this window needs. They may overlap, so that an answer at the end of a window is whole in the
next.

Ding et al. (arXiv:2012.15688): memory is carried from segment to segment. States are streamed: a reading holds one
state, however long the document is.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from models.ernie_doc.checkpoint import Checkpoint
from models.ernie_doc.memory import start_memory
from models.ernie_doc.model import Reading
from models.ernie_doc.state import State, chain, name_digest
from models.kit.batching import Cache
from models.reading.document import Document
from models.reading.windows import Window, cover

SPECIAL_TOKENS = 3  # [CLS] and two [SEP]


class Segments(NamedTuple):
    """A batch of segments as `ErnieDoc` takes them."""

    ids: Int[Tensor, "batch token"]
    tasks: Int[Tensor, "batch token"]
    mask: Float[Tensor, "batch token"]


@dataclass(frozen=True)
class Packing:
    """Sizes in tokens, and the ids of special tokens."""

    segment: int  # T of the model
    question_room: int  # tokens of a question that a segment has room for
    stride: int  # from the start of a window to that of the next
    cls: int
    sep: int
    pad: int
    mask: int | None = None  # behind a question; None for a model that does not point

    def __post_init__(self) -> None:
        if self.question_room < 1 or self.window < 1:
            raise ValueError(
                f"question_room: from 1 to {self.segment - SPECIAL_TOKENS - 1}, not {self.question_room}"
            )
        if not 1 <= self.stride <= self.window:
            raise ValueError(f"stride: from 1 to the {self.window} tokens of a window, not {self.stride}")

    @staticmethod
    def of(
        tokenizer: Tokenizer, segment: int, question_room: int, overlap: int, points: bool = False
    ) -> "Packing":
        """Take the special tokens of a BERT tokenizer."""
        ids = tokenizer.get_vocab(with_added_tokens=True)
        names = ("[CLS]", "[SEP]", "[PAD]", *(["[MASK]"] if points else []))
        stride = segment - question_room - SPECIAL_TOKENS - points - overlap
        return Packing(segment, question_room, stride, *(ids[name] for name in names))

    @property
    def window(self) -> int:
        """Tokens of a window."""
        return self.segment - self.question_room - SPECIAL_TOKENS - (self.mask is not None)

    def windows(self, n_tokens: int) -> list[Window]:
        """Cover a document; only the last window may be shorter."""
        return cover(n_tokens, self.window, self.stride)

    def pack(
        self, windows: Sequence[Int[Tensor, " _"]], question: Int[Tensor, " asked"] | None = None
    ) -> Segments:
        """Make one segment of each window, padded to T."""
        cls, sep = torch.tensor([self.cls]), torch.tensor([self.sep])
        pointer = [] if self.mask is None else [torch.tensor([self.mask])]
        tail = [sep] if question is None else [sep, question, *pointer, sep]
        return self.pad_rows([torch.cat([cls, window, *tail]) for window in windows])

    def pad_rows(self, rows: Sequence[Int[Tensor, " _"]]) -> Segments:
        """Make one segment of each row of tokens, padded to T, all of the task 0."""
        room = torch.zeros(self.segment, dtype=torch.long)  # the longest row, so that all are padded to T
        ids = pad_sequence([*rows, room], batch_first=True, padding_value=self.pad)[:-1]
        lengths = torch.tensor([len(row) for row in rows])
        mask = (torch.arange(self.segment) < lengths[:, None]).float()
        return Segments(ids, torch.zeros_like(ids), mask)


class Reader:
    """A model that reads documents into states, packed in one way. Thread-safe: it holds no document.

    A store keeps the state after `every` so many segments, and the last of a document; without one everything is read
    each time.
    """

    def __init__(
        self, checkpoint: Checkpoint, packing: Packing, store: Cache[str, State] | None = None, every: int = 1
    ) -> None:
        self.model, self.packing, self.every = checkpoint.model, packing, every
        self.origin = name_digest(checkpoint.digest, repr(sorted(asdict(packing).items())))
        self.device = self.model.device
        self._store = store
        with torch.inference_mode():
            self._tables = self.model.tables()

    def start(self) -> State:
        """Return the state before a document."""
        return State(self.origin, start_memory(self.model.config, 1, self.device)[:, 0])

    def read_before(self, document: Document, numbers: Sequence[int]) -> Iterator[tuple[int, State]]:
        """Read on to each of some windows, rising, from the last state before it that is stored.

        A text that was appended to, or a part that was replaced, is read from the last state before the change. Yield
        the number of each window that was read on the way, and of each of `numbers`, with the state before it.
        """
        route, state, place = list(self._route(document)), self.start(), 0
        for number in numbers:
            for number_read in reversed(range(place + 1, number + 1)):
                snapshot = self._store and self._store.get(route[number_read - 1][0])
                if snapshot:
                    state, place = snapshot, number_read
                    break
            if place == number:
                yield place, state
            for following in islice(self._continue(route, state, place), number - place):
                state, place = following, place + 1
                yield place, state

    def read_segments(self, segments: Segments, memory: Float[Tensor, "layer batch slot width"]) -> Reading:
        """Read one batch of segments."""
        with torch.inference_mode():
            ids, tasks, mask = (part.to(self.device) for part in segments)
            reading: Reading = self.model(ids, tasks, mask, memory.to(self.device), self._tables)
            return reading

    def encode(
        self, segments: Segments, memory: Float[Tensor, "layer batch slot width"]
    ) -> tuple[Reading, Float[Tensor, "batch token 2"]]:
        """Read one batch of segments, and return the span head's logits too."""
        reading = self.read_segments(segments, memory)
        with torch.inference_mode():
            return reading, self.model.span_logits(reading.states, segments.mask.to(self.device))

    def _route(self, document: Document) -> Iterator[tuple[str, Int[Tensor, " _"]]]:
        """Yield the ids of each window behind the digest of the state after it."""
        parts = [document.ids[first:last] for first, last in self.packing.windows(len(document))]
        return zip(chain(self.origin, parts), parts, strict=True)

    def _continue(
        self, route: Sequence[tuple[str, Int[Tensor, " _"]]], state: State, first: int
    ) -> Iterator[State]:
        for number, (digest, ids) in enumerate(route[first:], first):
            snapshot = self._store and self._store.get(digest)
            state = snapshot or self._step(digest, ids, state)
            is_last = number + 1 == len(route)
            if self._store and not snapshot and (is_last or (number + 1) % self.every == 0):
                self._store.keep({state.digest: replace(state, memory=state.memory.cpu())})
            yield state

    def _step(self, digest: str, ids: Int[Tensor, " _"], state: State) -> State:
        reading = self.read_segments(self.packing.pack([ids]), state.memory[:, None])
        return State(digest, reading.memory[:, 0])
