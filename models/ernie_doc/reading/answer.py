"""Answer a question with a span of a document, in one pass over its windows.

The document was read without the question. Each window is read again with it, from the state before the window, so that
all windows can be read at once. The authors' way is there too: the question in every segment, whose memory is carried.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Literal, NamedTuple

import torch
from jaxtyping import Float, Int
from more_itertools import chunked
from tokenizers import Tokenizer
from torch import Tensor

from models.ernie_doc.reading.document import Document, DocumentRefused
from models.ernie_doc.reading.packing import SPECIAL_TOKENS, Window, cover
from models.ernie_doc.reading.reader import Reader
from models.ernie_doc.reading.spans import Span, SpanRule, follow_spans
from models.ernie_doc.reading.state import State

Pack = Literal["document", "authors"]
AUTHORS_STRIDE = 128  # tokens from window to window, in the authors' scripts


@dataclass(frozen=True)
class AnswerRule:
    """How a question is asked.

    Attributes:
        spans: How spans are compared.
        batch: Windows that are read at once.
        is_retrospective: True if the whole document is read once before.
        uses_memory: False leaves every memory empty, to see what it contributes.
        pack: `document` reads windows from the states of the document, `authors` carries the memory of the question.
    """

    spans: SpanRule
    batch: int
    is_retrospective: bool = False
    uses_memory: bool = True
    pack: Pack = "document"


@dataclass(frozen=True)
class Answer:
    """What was found.

    Attributes:
        spans: The best ones, the best first; none where no span of the text keeps the rule.
        n_windows: Windows that were asked.
        is_question_cut: True if the question was longer than its room.
        is_retrospective: True if the document was read twice.
    """

    spans: tuple[Span, ...]
    n_windows: int
    is_question_cut: bool
    is_retrospective: bool


class Progress(NamedTuple):
    """Windows that were asked, of all that there are."""

    done: int
    total: int


class WindowLogits(NamedTuple):
    """The windows of a document, and a stream of the logits of start and end in each."""

    windows: Sequence[Window]
    logits: Iterator[Float[Tensor, "token 2"]]


def answer(
    reader: Reader, document: Document, question: str, tokenizer: Tokenizer, rule: AnswerRule
) -> Answer:
    """Find the spans of a document that may answer a question.

    Raises:
        DocumentRefused: The question has no words.
    """
    *_, result = answer_in_steps(reader, document, question, tokenizer, rule)
    assert isinstance(result, Answer)
    return result


def answer_in_steps(
    reader: Reader, document: Document, question: str, tokenizer: Tokenizer, rule: AnswerRule
) -> Iterator[Progress | Answer]:
    """Yield the progress after each window, and last the answer.

    Raises:
        DocumentRefused: The question has no words.
    """
    ids = torch.tensor(tokenizer.encode(question, add_special_tokens=False).ids, dtype=torch.long)
    if not len(ids):
        raise DocumentRefused("the question has no words: ask something")
    room = reader.packing.question_room
    windows, logits = read_windows(reader, document, ids[:room], rule)
    spans: Sequence[Span] = ()
    for done, best in enumerate(follow_spans(document, windows, logits, rule.spans), 1):
        spans = best
        yield Progress(done, len(windows))
    yield Answer(tuple(spans), len(windows), len(ids) > room, rule.is_retrospective)


def read_windows(
    reader: Reader, document: Document, question: Int[Tensor, " asked"], rule: AnswerRule
) -> WindowLogits:
    """Return the windows that the rule asks for and their logits, which are computed as they are looked at."""
    start = reader.second_start(document) if rule.is_retrospective else reader.start()
    if rule.pack == "authors":
        windows = cover(
            len(document), reader.packing.segment - SPECIAL_TOKENS - len(question), AUTHORS_STRIDE
        )
        return WindowLogits(windows, _carry(reader, document, windows, question, start))
    windows = reader.packing.windows(len(document))
    states = reader.read(document, start) if rule.uses_memory else (start for _ in windows)
    return WindowLogits(
        windows, _from_states(reader, document, windows, question, chain([start], states), rule.batch)
    )


def _from_states(
    reader: Reader,
    document: Document,
    windows: Sequence[Window],
    question: Int[Tensor, " asked"],
    states: Iterator[State],
    batch: int,
) -> Iterator[Float[Tensor, "token 2"]]:
    for part in chunked(windows, batch):
        before = [state.memory.to(reader.device) for state in islice(states, len(part))]
        segments = reader.packing.pack([document.ids[first:last] for first, last in part], question)
        yield from reader.encode(segments, torch.stack(before, 1))[1].cpu()


def _carry(
    reader: Reader,
    document: Document,
    windows: Sequence[Window],
    question: Int[Tensor, " asked"],
    start: State,
) -> Iterator[Float[Tensor, "token 2"]]:
    memory = start.memory[:, None]
    for first, last in windows:
        segments = reader.packing.pack([document.ids[first:last]], question)
        reading, logits = reader.encode(segments, memory)
        memory = reading.memory
        yield logits[0].cpu()
