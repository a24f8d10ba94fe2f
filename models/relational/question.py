"""A question as the reader sees it: its names replaced by a stand-in, its tokens as states of the frozen encoder.

A relation's label is read by the same encoder, as a question, so that a relation that was never trained on is compared
like any other. Names are masked, so nothing can be learned about an entity.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from models.encoder.minilm import MiniLM
from models.graph.knowledge import Mention
from models.kit.batching import Cache
from models.kit.names import MENTION, keep_longest, label_question

CACHED_LABELS = 16_384
CACHED_QUESTIONS = 1_024  # questions in the cache, some 25 KB each; probes recur with every commit


@dataclass(frozen=True)
class MaskedQuestion:
    """A question without its names."""

    text: str  # the question, with MENTION in the place of each name
    places: tuple[int, ...]  # first character of each stand-in, in the order of `mentions`
    mentions: tuple[Mention, ...]  # the mentions that were masked, in the order of the text


@dataclass(frozen=True)
class TokenStates:
    """Questions as the frozen encoder leaves them."""

    states: Float[Tensor, "batch token width"]  # last hidden states, zero at padding
    mask: Bool[Tensor, "batch token"]  # true at real tokens
    # True at the tokens of each mention, in the order of the masked question; no token if it was cut
    starts: Bool[Tensor, "batch mention token"]
    truncated: tuple[bool, ...]  # which questions were cut


def mask_mentions(question: str, mentions: Sequence[Mention]) -> MaskedQuestion:
    """Put a stand-in in the place of every name that has an entity; of names that overlap the longest is masked."""
    longest = keep_longest((mention for mention in mentions if mention.entities), lambda mention: mention)
    text, places, end = "", list[int](), 0
    for mention in longest:
        text += question[end : mention.start]
        places.append(len(text))
        text, end = text + MENTION, mention.end
    return MaskedQuestion(text + question[end:], tuple(places), tuple(longest))


class TextReader:
    """Reads masked questions and labels of relations with the frozen encoder. Thread-safe."""

    def __init__(self, encoder: MiniLM) -> None:
        self._encoder = encoder
        self._labels: Cache[str, Tensor] = Cache(CACHED_LABELS)
        self._questions: Cache[str, Tensor] = Cache(CACHED_QUESTIONS)

    @property
    def device(self) -> torch.device:
        """Return the device on which states and vectors lie."""
        return self._encoder.device

    @property
    def engine(self) -> str:
        """What computes the encoder's layers, for people."""
        return self._encoder.engine

    @torch.no_grad()
    def read(self, questions: Sequence[MaskedQuestion]) -> TokenStates:
        """Read questions; those that are not cached in one forward pass."""
        rows = self._questions.of(
            (question.text for question in questions), lambda texts: self._encoder.encode(texts).states
        )
        encodings = [self._encoder.tokenizer.encode(question.text) for question in questions]
        lengths = [min(len(encoding.ids), self._encoder.max_tokens) for encoding in encodings]
        pairs = zip(questions, lengths, strict=True)
        states = pad_sequence([rows[question.text][:length] for question, length in pairs], batch_first=True)
        mask = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
        starts = torch.zeros(len(questions), max(1, *(len(q.places) for q in questions)), max(lengths))
        for row, (question, encoding) in enumerate(zip(questions, encodings, strict=True)):
            for number, place in enumerate(question.places):
                for token, (first, last) in enumerate(encoding.offsets[: lengths[row] - 1]):
                    starts[row, number, token] = first <= place < last
        truncated = tuple(len(encoding.ids) > self._encoder.max_tokens for encoding in encodings)
        return TokenStates(states, mask.to(self.device), starts.bool().to(self.device), truncated)

    def label_vectors(self, labels: Iterable[str]) -> dict[str, Float[Tensor, " width"]]:
        """Return the unit vector of each label, read as "What is the <label>?"."""
        return self._labels.of(labels, self._read_labels)

    @torch.no_grad()
    def _read_labels(self, labels: Sequence[str]) -> Float[Tensor, "label width"]:
        return self._encoder.encode([label_question(label) for label in labels]).sentences.clone()
