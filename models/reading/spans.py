"""The best spans of a document, from the logits of its windows one after the other.

The rules are BERT's span reader's and the authors': a span starts and ends with a word, is at most so long, and starts
where its window shows most of what stands around it. [CLS] is the span of a window without an answer.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from jaxtyping import Bool, Float
from torch import Tensor

from models.reading.document import Document
from models.reading.windows import OFFSET, Window, owners

MOST_CHARS = 1_000  # characters of a span; a longer span is one token, such as a million letters


@dataclass(frozen=True)
class SpanRule:
    """How long spans are, and how many are returned."""

    longest: int  # most tokens of a span; the authors allow 100
    n_best: int  # spans that are returned; the authors keep 20


@dataclass(frozen=True)
class Span:
    """A part of the text that may be the answer."""

    total: float  # sum of the logits of its start and end
    null: float  # the same sum for no answer in its window
    start: int  # first character in the text
    end: int  # character behind it
    text: str  # the characters themselves
    window: int  # number of the window in which it was found

    @property
    def margin(self) -> float:
        """Log-odds of the span against no answer in its window."""
        return self.total - self.null


def follow_spans(
    document: Document,
    windows: Sequence[Window],
    numbers: Sequence[int],
    logits: Iterable[Float[Tensor, "token 2"]],
    rule: SpanRule,
) -> Iterator[list[Span]]:
    """Yield after each window the best spans so far, those of the highest margin first; of equal ones the earlier.

    Args:
        logits: Start and end for each token of the segment of each of these; may be streamed.
    """
    owner, begins, ends = owners(windows, len(document)), document.begins_word, document.ends_word
    best: list[Span] = []
    for number, scores in zip(numbers, logits, strict=True):
        window = windows[number]
        place = slice(window.first, window.last)
        pairs = pair_scores(
            scores[OFFSET : OFFSET + window.last - window.first],
            begins[place] & (owner[place] == number),
            ends[place],
            rule.longest,
        )
        null = float(scores[0].sum())
        for total, head, tail in top_pairs(pairs, rule.n_best):
            start, end = document.cut(window.first + head, window.first + tail)
            if end - start > MOST_CHARS:
                continue
            best.append(Span(total, null, start, end, document.text[start:end], number))
        best = sorted(best, key=lambda span: span.margin, reverse=True)[: rule.n_best]
        yield best


def pair_scores(
    logits: Float[Tensor, "token 2"],
    may_start: Bool[Tensor, " token"],
    may_end: Bool[Tensor, " token"],
    longest: int,
) -> Float[Tensor, "token token"]:
    """Return the sum of logits for each start and end, and minus infinity for pairs that are no span."""
    start, end = logits.unbind(1)
    is_span = may_start[:, None] & may_end[None, :]
    is_span = is_span.triu().tril(longest - 1).to(logits.device)
    return (start[:, None] + end[None, :]).masked_fill(~is_span, float("-inf"))


def top_pairs(pairs: Float[Tensor, "token token"], count: int) -> Iterator[tuple[float, int, int]]:
    """Yield the best pairs as score, first and last token."""
    values, places = pairs.flatten().topk(min(count, pairs.numel()))
    for value, place in zip(values.tolist(), places.tolist(), strict=True):
        if value > float("-inf"):
            yield value, *divmod(place, len(pairs))
