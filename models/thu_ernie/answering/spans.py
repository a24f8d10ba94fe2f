"""Answers from a passage: the best span over its windows, against no answer.

specs/thu-ernie.md, section 5, after Devlin et al. (arXiv:1810.04805, section 4.3): a span scores the sum of the logits
of its start and its end, and [CLS] is the span of a window without an answer. The recipe is ours; the authors released
none.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from models.kbert.text import Piece, is_inside_word
from models.memory import Views
from models.reading.spans import pair_scores, top_pairs
from models.system import Alternative, Ask, Reason, Reply
from models.thu_ernie.alignment import AlignedText
from models.thu_ernie.answering.distribution import FEATURE_LIMIT
from models.thu_ernie.answering.layout import WindowRow, cut, lay_windows
from models.thu_ernie.answering.mentions import LinkedQuestion, link_passage, link_question
from models.thu_ernie.answering.reader import Model
from models.thu_ernie.answering.rows import RowFinder
from models.thu_ernie.entities.memory import ENTITIES

NOT_SAID = Reason("not_said", "The context does not say.")


@dataclass(frozen=True)
class Span:
    """A part of a passage.

    Attributes:
        start: Its first character.
        end: Character behind it.
        text: The characters themselves.
        margin: Log-odds against no answer in its window.
    """

    start: int
    end: int
    text: str
    margin: float


@dataclass(frozen=True)
class SpanReading:
    """A question with its passage as it was read.

    Attributes:
        ask: The question.
        linking: Mentions of the question.
        passage: Tokens and links of the passage.
        n_windows: Windows that were read.
        spans: The best spans, each text once.
        truncated: Whether the question was cut.
    """

    ask: Ask
    linking: LinkedQuestion
    passage: AlignedText
    n_windows: int
    spans: tuple[Span, ...]
    truncated: bool

    @property
    def features(self) -> tuple[float, float]:
        """Return the lead of the best span over no answer, and over the second."""
        best = self.spans[0].margin
        second = self.spans[1].margin if len(self.spans) > 1 else best - FEATURE_LIMIT
        return max(-FEATURE_LIMIT, min(FEATURE_LIMIT, best)), min(FEATURE_LIMIT, best - second)


class Pointer:
    """Answers questions by spans. Thread-safe."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def read(self, ask: Ask, views: Views) -> SpanReading:
        """Read a question beside its context."""
        settings, vocabulary = self.model.settings, self.model.vocabulary
        mentions = ask.mentions if ask.use_graph else ()
        linking = link_question(ask.question, mentions, RowFinder(views[ENTITIES]), settings.subjects)
        context = ask.context or ""
        question, truncated = cut(
            vocabulary.align(ask.question, linking.links_for(None)), settings.question_room
        )
        passage = vocabulary.align(context, link_passage(context, linking))
        windows = list(lay_windows(question, passage, vocabulary, settings.window, settings.stride))
        logits = self.model.point(windows, {name: row.vector for name, row in linking.vectors.items()})
        spans = best_spans(context, passage.pieces, windows, logits, settings.longest, settings.n_best)
        return SpanReading(ask, linking, passage, len(windows), tuple(spans), truncated)

    def reply(self, reading: SpanReading) -> Reply:
        """Reply with the best span if it is sure enough."""
        scale = self.model.confidences["span"]
        if not reading.spans:
            return Reply(None, 0.0, "", NOT_SAID, truncated=reading.truncated)
        best, score = reading.spans[0], scale.score(reading.features)
        edits = (row.edit for row in reading.linking.vectors.values() if row.edit)
        is_sure = score >= scale.threshold
        return Reply(
            best.text if is_sure else None,
            score,
            best.text,
            None if is_sure else NOT_SAID,
            tuple(dict.fromkeys(edits)),
            _alternatives(reading, score),
            reading.truncated,
        )


def best_spans(
    text: str,
    pieces: Sequence[Piece],
    windows: Sequence[WindowRow],
    logits: Sequence[Float[Tensor, "_ 2"]],
    longest: int,
    n_best: int,
) -> list[Span]:
    """Return the best spans over all windows, each text once.

    Args:
        text: The passage.
        pieces: Its tokens.
        windows: The windows that were read.
        logits: Start and end for each token of each window.
        longest: Most tokens of a span.
        n_best: Spans that are compared.
    """
    begins = torch.tensor([not is_inside_word(text, piece.start) for piece in pieces], dtype=torch.bool)
    ends = torch.tensor([not is_inside_word(text, piece.end) for piece in pieces], dtype=torch.bool)
    spans: dict[str, Span] = {}
    for window, scores in zip(windows, logits, strict=True):
        part = slice(window.first, window.first + len(scores) - window.offset - 1)
        inner = scores[window.offset : -1]
        pairs = pair_scores(inner, begins[part], ends[part], longest)
        for span in _cut_spans(text, pieces[part], pairs, float(scores[0].sum()), n_best):
            other = spans.get(span.text)
            if other is None or other.margin < span.margin:
                spans[span.text] = span
    return sorted(spans.values(), key=lambda span: -span.margin)[:n_best]


def _cut_spans(
    text: str, pieces: Sequence[Piece], pairs: Float[Tensor, "token token"], null: float, n_best: int
) -> Iterator[Span]:
    if not len(pieces):
        return
    for total, head, tail in top_pairs(pairs, n_best):
        start, end = pieces[head].start, pieces[tail].end
        yield Span(start, end, text[start:end], total - null)


def _alternatives(reading: SpanReading, score: float) -> tuple[Alternative, ...]:
    """Divide the probability that the best span leaves among the others and no answer."""
    margins = torch.tensor([0.0, *(span.margin for span in reading.spans[1:])]).softmax(0).tolist()
    return tuple(
        Alternative(span.text, (1 - score) * share)
        for span, share in zip(reading.spans[1:], margins[1:], strict=True)
    )[: reading.ask.top_k - 1]
