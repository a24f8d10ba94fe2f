"""Answers a question with spans of a document.

The document was read without the question. The first pass, by the frozen MiniLM, chooses windows; each is read again
with the question, from the state before it, so that windows can be read at once.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from jaxtyping import Float, Int
from more_itertools import chunked
from tokenizers import Tokenizer
from torch import Tensor

from models.ernie_doc.reader import Reader
from models.ernie_doc.state import State
from models.ernie_doc.windows import Choice, Chooser
from models.reading.document import Document, DocumentRefused
from models.reading.reader import Reader as SpanReader
from models.reading.spans import Span, SpanRule, follow_spans
from models.reading.windows import Window

MOST_WINDOWS = 16  # windows that a question is put to; where more were, a second question would cost much


Phase = Literal["choosing", "reading", "asking"]


@dataclass(frozen=True)
class Second:
    """The reader of all systems, which reads the windows that were chosen once more, without a memory."""

    reader: SpanReader  # reads a window with the question, without what stands before it
    share: float  # its share of the logits; the rest is the model's

    def mix(
        self,
        logits: Iterable[Float[Tensor, "token 2"]],
        question: Sequence[int],
        texts: Iterable[Sequence[int]],
    ) -> Iterator[Float[Tensor, "token 2"]]:
        """Yield the logits of windows, a weighted mean of the model's and the reader's; a log-linear pool of both."""
        for scores, text in zip(logits, texts, strict=True):
            (second_logits,) = self.reader.point([(question, text)])
            yield scores[: len(second_logits)].lerp(second_logits, self.share)


@dataclass(frozen=True)
class AnswerRule:
    """The settings with which a question is asked."""

    spans: SpanRule  # how spans are compared
    batch: int  # windows that are read at once
    most_windows: int  # windows that the question is put to; the authors put it to all
    uses_memory: bool = True  # False leaves every memory empty, to measure its contribution
    second: Second | None = None  # reads the windows, too


@dataclass(frozen=True)
class Answer:
    """The spans of a document that answer a question."""

    spans: tuple[Span, ...]  # the best first; none where no span of the text keeps the rule
    choice: Choice  # the windows that were asked
    is_question_cut: bool


class Progress(NamedTuple):
    """The progress of an answer: comparing chunks of the text with it, reading windows, or asking some of them."""

    phase: Phase
    done: int  # chunks or windows
    total: int | None  # None if it is not known before the end of the phase


def answer(
    reader: Reader,
    chooser: Chooser,
    document: Document,
    question: str,
    tokenizer: Tokenizer,
    rule: AnswerRule,
) -> Answer:
    """Find the spans of a document that may answer a question.

    Raises:
        DocumentRefused: The question has no words.
    """
    *_, result = answer_in_steps(reader, chooser, document, question, tokenizer, rule)
    assert isinstance(result, Answer)
    return result


def answer_in_steps(
    reader: Reader,
    chooser: Chooser,
    document: Document,
    question: str,
    tokenizer: Tokenizer,
    rule: AnswerRule,
) -> Iterator[Progress | Answer]:
    """Yield the progress after each window, and last the answer.

    Raises:
        DocumentRefused: The question has no words.
    """
    ids = torch.tensor(tokenizer.encode(question, add_special_tokens=False).ids, dtype=torch.long)
    if not len(ids):
        raise DocumentRefused("the question has no words: ask something")
    is_cut, ids = len(ids) > reader.packing.question_room, ids[: reader.packing.question_room]
    start, windows = reader.start(), reader.packing.windows(len(document))
    for item in chooser.choose(document, windows, question, rule.most_windows):
        if isinstance(item, Choice):
            choice = item
        else:
            yield Progress("choosing", item, None)
    states = dict.fromkeys(choice.numbers, start)
    if rule.uses_memory:
        for number, state in reader.read_before(document, choice.numbers):
            if number in states:
                states[number] = state
            yield Progress("reading", number, choice.numbers[-1])
    logits = ask_windows(reader, document, windows, ids, states, rule.batch)
    if rule.second is not None:
        texts = (document.ids[slice(*windows[number])].tolist() for number in choice.numbers)
        logits = rule.second.mix(logits, ids.tolist(), texts)
    spans: Sequence[Span] = ()
    for done, best in enumerate(follow_spans(document, windows, choice.numbers, logits, rule.spans), 1):
        spans = best
        yield Progress("asking", done, len(choice.numbers))
    yield Answer(tuple(spans), choice, is_cut)


def ask_windows(
    reader: Reader,
    document: Document,
    windows: Sequence[Window],
    question: Int[Tensor, " asked"],
    states: Mapping[int, State],
    batch: int,
) -> Iterator[Float[Tensor, "token 2"]]:
    """Yield the logits of start and end in some windows, each read with the question from the state before it."""
    for numbers in chunked(states, batch):
        memory = torch.stack([states[number].memory.to(reader.device) for number in numbers], 1)
        segments = reader.packing.pack(
            [document.ids[slice(*windows[number])] for number in numbers], question
        )
        yield from reader.encode(segments, memory)[1].cpu()
