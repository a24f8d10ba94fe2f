"""The reader: a question and a text in, the spans of the text that may answer it out.

MiniLM's layers, trained to read, see `[CLS] question [MASK] [SEP] window [SEP]`. The state of [MASK] is the question,
with which the tokens of the window are compared (Ram et al., arXiv:2101.00438, section 3.2); [CLS] is no answer.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Float
from more_itertools import chunked, unique_everseen
from torch import Tensor

from models.confidence import Confidence
from models.encoder.bert import WIDTH
from models.encoder.minilm import MiniLM
from models.kit.replies import decline, reply
from models.reading.confidence import rate
from models.reading.document import Document, DocumentRefused, tokenize
from models.reading.spans import Span, SpanRule, follow_spans
from models.reading.windows import Window, cover
from models.steps import Steps, finish
from models.system import Ask, Reason, Reply

NOT_SAID = Reason("not_said", "The context does not say.")
N_BEST = 10  # spans that are kept of a text; a question asks for ten answers at the most
MAX_TOKENS = 100_000  # tokens of a text
SPECIAL_TOKENS = 4  # [CLS], [MASK] and two [SEP]
BATCH = {"cpu": 4, "cuda": 64}  # windows that are read at once


@dataclass(frozen=True)
class Settings:
    """The settings with which a checkpoint reads, in tokens."""

    length: int  # question, window and special tokens together
    question_room: int  # most of a question
    overlap: int  # tokens that two windows share
    longest: int  # most of an answer


@dataclass(frozen=True)
class Finding:
    """The spans of a text for a question."""

    spans: tuple[Span, ...]  # the best ones, each text once, the best first
    scores: tuple[float, ...]  # probability that each of them is right
    n_windows: int  # windows that were read
    is_question_cut: bool  # true if the question was longer than its room

    def to_json(self) -> Mapping[str, Any]:
        """Return the spans and how sure they are, to explain an answer."""
        pairs = zip(self.spans, self.scores, strict=True)
        return {
            "kind": "span",
            "windows": self.n_windows,
            "spans": [
                {"text": span.text, "start": span.start, "end": span.end, "score": round(score, 4)}
                for span, score in pairs
            ],
        }


class Reader:
    """A checkpoint that was trained to read. Thread-safe."""

    def __init__(
        self,
        encoder: MiniLM,
        heads: Float[Tensor, "2 width width"],
        settings: Settings,
        confidence: Confidence,
        digest: str = "",
    ) -> None:
        self._encoder, self._heads, self.settings = encoder, heads.to(encoder.device), settings
        self.confidence, self.digest = confidence, digest
        ids = encoder.tokenizer.get_vocab(with_added_tokens=True)
        self._cls, self._sep, self._mask = (ids[name] for name in ("[CLS]", "[SEP]", "[MASK]"))
        self._rule = SpanRule(settings.longest, N_BEST)

    def answer(self, ask: Ask) -> Reply:
        """Answer a question from its context."""
        return finish(self.answer_in_steps(ask))

    def answer_in_steps(self, ask: Ask) -> Steps[Reply]:
        """Answer as `answer` does, and yield after each window."""
        finding = yield from self.find_in_steps(ask.question, ask.context or "")
        reply = self.reply(ask, finding)
        return replace(reply, explanation=finding.to_json()) if ask.explain else reply

    def find(self, question: str, text: str) -> Finding:
        """Find the spans of a text that may answer a question; none if either has no words."""
        return finish(self.find_in_steps(question, text))

    def find_in_steps(self, question: str, text: str) -> Steps[Finding]:
        """Find spans as `find` does, and yield after each window, so that others have a turn in between."""
        tokenizer, settings = self._encoder.tokenizer, self.settings
        question_ids = tokenizer.encode(question, add_special_tokens=False).ids
        try:
            document = tokenize(text, tokenizer, MAX_TOKENS)
        except DocumentRefused:
            return Finding((), (), 0, False)
        if not question_ids:
            return Finding((), (), 0, False)
        n_tokens, question_ids = len(question_ids), question_ids[: settings.question_room]
        room = settings.length - len(question_ids) - SPECIAL_TOKENS
        windows, best = cover(len(document), room, room - settings.overlap), list[Span]()
        logits = self._point(question_ids, document, windows)
        for spans in follow_spans(document, windows, range(len(windows)), logits, self._rule):
            best = spans
            yield
        spans = list(unique_everseen(best, key=lambda span: span.text))
        scores = tuple(rate(spans, len(windows), self.confidence))
        return Finding(tuple(spans), scores, len(windows), n_tokens > len(question_ids))

    def _point(
        self, question_ids: Sequence[int], document: Document, windows: Sequence[Window]
    ) -> Iterator[Float[Tensor, "token 2"]]:
        """Yield the logits of each window, as many windows read at once as the device takes."""
        for part in chunked(windows, BATCH[self._encoder.device.type]):
            yield from self.point([(question_ids, document.ids[slice(*window)].tolist()) for window in part])

    @torch.inference_mode()
    def point(
        self, rows: Sequence[tuple[Sequence[int], Sequence[int]]]
    ) -> Sequence[Float[Tensor, "token 2"]]:
        """Return for each question and window the logits of first and last token, those of no answer first.

        Args:
            rows: Token ids of each question, cut to its room, and of a window that fits beside it.
        """
        states = self._encoder.read(
            [
                [self._cls, *question_ids, self._mask, self._sep, *text, self._sep]
                for question_ids, text in rows
            ]
        ).states
        places = torch.tensor([len(question_ids) + 1 for question_ids, _ in rows], device=states.device)
        queries = torch.einsum("hij,bj->bhi", self._heads, states[torch.arange(len(rows)), places])
        logits = torch.einsum("btw,bhw->bth", states, queries).cpu() * WIDTH**-0.5
        offsets = [len(question_ids) + SPECIAL_TOKENS - 1 for question_ids, _ in rows]
        return [
            torch.cat([row[:1], row[offset : offset + len(text)]])
            for row, offset, (_, text) in zip(logits, offsets, rows, strict=True)
        ]

    def is_sure(self, finding: Finding) -> bool:
        """Return whether the best span is given as an answer."""
        return bool(finding.spans) and finding.scores[0] >= self.confidence.threshold

    def reply(self, ask: Ask, finding: Finding) -> Reply:
        """Reply with the best span if it is sure enough."""
        if not finding.spans:
            return decline(NOT_SAID, truncated=finding.is_question_cut)
        texts = [span.text for span in finding.spans[: ask.top_k]]
        (best, score), *rest = zip(texts, finding.scores[: ask.top_k], strict=True)
        is_sure, span = self.is_sure(finding), finding.spans[0]
        return reply(
            best,
            score,
            None if is_sure else NOT_SAID,
            alternatives=rest,
            truncated=finding.is_question_cut,
            place=(span.start, span.end) if is_sure else None,
        )
