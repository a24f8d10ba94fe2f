"""A reader of tiny weights with MiniLM's real tokenizer, and texts for it."""

from functools import cache
from typing import Any

import torch
from tokenizers import Tokenizer

from models.encoder.minilm import MiniLM
from models.encoder.weights import find
from models.ernie_doc.answer import Chooser
from models.ernie_doc.checkpoint import Checkpoint
from models.ernie_doc.reader import Packing, Reader
from models.ernie_doc.state import RecentStates
from models.reading.document import Document, tokenize
from tests.models.ernie_doc.tiny import tiny_model

SEGMENT, ROOM, OVERLAP = 20, 7, 2  # windows of 10 tokens, 8 apart
WORDS = ("the", "old", "pump", "by", "river", "was", "built", "in", "march", "after", "flood", "left", "sand")


@cache
def tokenizer() -> Tokenizer:
    tokens = find().tokenizer()
    tokens.no_padding()
    tokens.no_truncation()
    return tokens


@cache
def chooser() -> Chooser:
    return Chooser(MiniLM())


def text(n_words: int, seed: int = 0) -> str:
    places = torch.randint(len(WORDS), (n_words,), generator=torch.Generator().manual_seed(seed))
    return " ".join(WORDS[place] for place in places)


def document(content: str) -> Document:
    return tokenize(content, tokenizer(), most_tokens=10_000)


def packing() -> Packing:
    return Packing.of(tokenizer(), SEGMENT, ROOM, OVERLAP)


def tiny_reader(
    store: RecentStates | None = None, every: int = 1, digest: str = "tiny", **sizes: Any
) -> Reader:
    """Equal weights each time, so that readers of one digest are one model."""
    torch.manual_seed(7)
    changes = {"vocab": 30522, "segment": SEGMENT, "position_rows": 2 * SEGMENT + 4, "skips_padding": True}
    model = tiny_model(**(changes | sizes))
    return Reader(Checkpoint(model, digest), packing(), store, every)


class Counter:
    """Count the segments that a reader gives to its model."""

    def __init__(self, reader: Reader) -> None:
        self.count = 0
        reader.model.register_forward_hook(self._add)

    def _add(self, _module: Any, arguments: tuple[Any, ...], _result: Any) -> None:
        self.count += len(arguments[0])

    def take(self) -> int:
        """Return the segments since the last call."""
        count, self.count = self.count, 0
        return count
