"""Pairs and trials in which the order of two names, or a figure, decides."""

import random
from dataclasses import replace

import pytest

from models.training.scope.order.frames import (
    SLOT,
    put_names,
    read_figures,
    read_frames,
    split_figures,
    split_frames,
)
from models.training.scope.order.pairs import OrderPairs
from models.training.scope.order.trials import OTHER_FIGURE, TURNED_NAMES, ask_figures, ask_order
from models.training.scope.pairs import Source
from models.training.scope.training import PLAN
from models.training.scope.trials import FOLLOWS


def test_every_frame_has_two_names_in_each_wording_and_names_of_its_kinds() -> None:
    frames = read_frames()
    assert (len(frames.frames), sum(frame.is_symmetric for frame in frames.frames)) == (610, 168)
    for frame in frames.frames:
        texts = [*(text for wording in frame.wordings for text in wording), *frame.other_questions]
        assert all("{a}" in text and "{b}" in text for text in texts), frame.label
        assert all(len(frames.names[kind]) > 2 for kind in frame.kinds)


def test_whole_kinds_and_whole_sorts_are_held_out() -> None:
    parts = split_frames(5)
    kinds = [{frame.kinds for frame in part.frames} for part in parts]
    assert len(set.union(*kinds)) == sum(map(len, kinds))
    assert sum(len(part.frames) for part in parts) == 610
    assert len(parts[2].frames) > 80
    train, test = split_figures(5)
    assert len(train) + len(test) == len(read_figures()) == 105
    assert not {sort.label for sort in train} & {sort.label for sort in test}


@pytest.mark.parametrize(
    ("wording", "text"),
    [
        ("{a} or {b}?", "Ann or oil?"),
        ("Is there a {b} in {a}?", "Is there an oil in ann?"),
        ("date {b} lost to {a}", "date oil lost to ann"),
    ],
)
def test_names_are_put_into_a_wording_as_people_write_them(wording: str, text: str) -> None:
    assert put_names(wording, "ann", "oil") == text


def test_an_exchange_makes_another_question_in_asymmetric_frames_alone(source: Source) -> None:
    whole = replace(source, frames=read_frames(), sorts=read_figures())
    draws = OrderPairs(whole, PLAN, random.Random(1)).draw(2_000, 500)
    turned_pairs = [pair for pair in draws if pair.kind == "exchanged"]
    assert len(turned_pairs) > 300
    assert not any(pair.is_same for pair in turned_pairs)
    assert sum(pair.is_same for pair in draws) == pytest.approx(1_250, abs=100)
    with_equal_words = [pair for pair in draws if sorted(pair.first.split()) == sorted(pair.second.split())]
    assert {pair.is_same for pair in with_equal_words} == {True, False}, "equal words give nothing away"


def test_a_trial_asks_with_the_names_exchanged_and_for_another_figure() -> None:
    order, figures = ask_order(split_frames(5)[2], 5), ask_figures(split_figures(5)[1], 5)
    for trial, kind in ((order, TURNED_NAMES), (figures, OTHER_FIGURE)):
        assert {question.kind for question in trial.questions} >= {kind, FOLLOWS}
        assert all((question.edit is not None) == (question.kind == FOLLOWS) for question in trial.questions)
        assert not any(SLOT in question.text or "{" in question.text for question in trial.questions[:50])
