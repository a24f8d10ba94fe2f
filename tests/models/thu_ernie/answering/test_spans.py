"""Span answers: the best pair over all windows, whole words, against no answer."""

from collections.abc import Callable

import pytest
import torch

from models.system import Ask
from models.thu_ernie.answering.explain import explain_span
from models.thu_ernie.answering.layout import WindowRow, lay_windows
from models.thu_ernie.answering.reader import Model
from models.thu_ernie.answering.spans import NOT_SAID, Pointer, best_spans
from models.thu_ernie.entities.memory import ENTITIES
from models.thu_ernie.entities.table import EntityTable, EntityView
from tests.models.thu_ernie.answering.test_layout import VOCABULARY
from tests.models.thu_ernie.answering.tiny import KIM

PASSAGE = "Kim was born in Oslo in May. " * 4 + "Kim lives in Unterlachsee."
PIECES = VOCABULARY.align(PASSAGE, []).pieces


def windows() -> list[WindowRow]:
    return list(lay_windows(VOCABULARY.align("Where?", []), VOCABULARY.align(PASSAGE, []), VOCABULARY, 24, 6))


def logits(window: WindowRow, scores: dict[int, tuple[float, float]]) -> torch.Tensor:
    """Return logits of a window that are zero but at tokens of the passage."""
    values = torch.zeros(len(window.row.tokens), 2)
    for place, pair in scores.items():
        if 0 <= place - window.first < len(window.row.tokens) - window.offset - 1:
            values[window.offset + place - window.first] = torch.tensor(pair)
    return values


def test_the_best_pair_over_all_windows_is_cut_from_the_passage() -> None:
    last = len(PIECES) - 1
    first = next(place for place, piece in enumerate(PIECES) if piece.text == "un")
    scores = {first: (5.0, 0.0), last - 1: (0.0, 4.0)}
    spans = best_spans(PASSAGE, PIECES, windows(), [logits(w, scores) for w in windows()], 8, 4)
    assert spans[0].text == "Unterlachsee"
    assert PASSAGE[spans[0].start : spans[0].end] == "Unterlachsee"
    assert spans[0].margin == 9.0
    assert len({span.text for span in spans}) == len(spans)


def test_no_span_begins_or_ends_inside_a_word_or_is_too_long() -> None:
    inside = next(place for place, piece in enumerate(PIECES) if piece.text.startswith("##"))
    scores = {inside: (50.0, 50.0), 0: (9.0, 0.0), 7: (0.0, 9.0)}
    for span in best_spans(PASSAGE, PIECES, windows(), [logits(w, scores) for w in windows()], 3, 8):
        assert not span.text.startswith("ter")
        assert len(VOCABULARY.align(span.text, []).pieces) <= 3


def test_no_answer_is_what_a_span_is_compared_with() -> None:
    values = [logits(window, {4: (1.0, 1.0)}) for window in windows()]
    for value in values:
        value[0] = 3.0
    assert best_spans(PASSAGE, PIECES, windows(), values, 3, 4)[0].margin == -4.0


def test_a_context_is_answered_with_a_part_of_it(
    model: Model, ask_about: Callable[..., Ask], table: EntityTable
) -> None:
    views = {ENTITIES: EntityView(table)}
    pointer = Pointer(model)
    reading = pointer.read(ask_about("Where was Kim born?", KIM, context=PASSAGE, top_k=3), views)
    reply = pointer.reply(reading)
    assert reading.n_windows > 1
    assert reply.best
    assert reply.best in PASSAGE
    assert len(reply.alternatives) == 2
    explanation = explain_span(pointer, reading)
    assert [link["entity"] for link in explanation["links_of_context"]] == ["kim"] * 5
    assert explanation["spans"][0]["text"] == reply.best


@pytest.mark.parametrize("context", ["   ", "\n"])
def test_a_context_without_words_says_nothing(model: Model, context: str, table: EntityTable) -> None:
    pointer = Pointer(model)
    reply = pointer.reply(pointer.read(Ask("Where?", context=context), {ENTITIES: EntityView(table)}))
    assert (reply.answer, reply.reason) == (None, NOT_SAID)
