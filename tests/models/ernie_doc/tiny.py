"""A model that is small enough to see through, and segments for it.

A reader of tiny weights with MiniLM's real tokenizer, and texts for it.
A tiny random checkpoint on disk, as `load` of the system takes it.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer
from torch import Tensor

from models.encoder.minilm import MiniLM
from models.encoder.weights import find
from models.ernie_doc.checkpoint import Checkpoint, Settings, save
from models.ernie_doc.config import ErnieDocConfig
from models.ernie_doc.model import ErnieDoc
from models.ernie_doc.reader import Packing, Reader
from models.ernie_doc.state import State
from models.ernie_doc.windows import Chooser
from models.kit.batching import Cache
from models.reading.confidence import NO_SCALE
from models.reading.document import Document, tokenize

CONFIG = ErnieDocConfig(
    vocab=40,
    width=16,
    layers=2,
    heads=2,
    inner=32,
    segment=8,
    memory=4,
    position_rows=20,
    task_types=3,
    epsilon=1e-12,
    embedding_epsilon=1e-5,
    hidden_dropout=0.0,
    attention_dropout=0.0,
    inner_dropout=0.0,
)


def tiny_model(**changes: Any) -> ErnieDoc:
    """Draw weights that are large enough for every part to matter."""
    model = ErnieDoc(replace(CONFIG, **changes)).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.normal_(1.0 if "norm" in name and name.endswith("weight") else 0.0, 0.3)
    return model.requires_grad_(False)


def segment(batch: int, real: int = CONFIG.segment) -> tuple[Tensor, Tensor, Tensor]:
    """Draw ids; tasks are 0, and the mask has `real` tokens in each row."""
    ids = torch.randint(1, CONFIG.vocab, (batch, CONFIG.segment))
    mask = (torch.arange(CONFIG.segment) < real).float().expand(batch, -1)
    return ids, torch.zeros_like(ids), mask


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
    store: Cache[str, State] | None = None, every: int = 1, digest: str = "tiny", **sizes: Any
) -> Reader:
    """Equal weights each time, so that readers of one digest are one model."""
    torch.manual_seed(7)
    changes = {"vocab": 30522, "segment": SEGMENT, "position_rows": 2 * SEGMENT + 4, "skips_padding": True}
    model = tiny_model(**(changes | sizes))
    return Reader(Checkpoint(model, digest), packing(), store, every)


def read_all(reader: Reader, content: Document) -> Iterator[State]:
    """Yield the state after each segment."""
    n_windows = len(reader.packing.windows(len(content)))
    return (state for _, state in reader.read_before(content, range(1, n_windows + 1)))


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


SETTINGS = Settings(question_room=ROOM, overlap=OVERLAP, longest=6, confidence=NO_SCALE)


def write_checkpoint(folder: Path, threshold: float = 0.0) -> Path:
    """Write the model of `tiny_reader`, whose answers are spans without a meaning."""
    settings = replace(SETTINGS, confidence=replace(NO_SCALE, threshold=threshold))
    save(tiny_reader().model, folder, dtype=torch.float32, settings=settings)
    return folder
