"""Names are masked, and their tokens are found again."""

import torch

from models.graph.knowledge import Entity, Mention
from models.relational.question import mask_mentions
from tests.models.training.relational.toy import reader

KIM, OSLO = Entity("kim", "Kim Lee"), Entity("oslo", "Oslo")


def test_a_name_is_replaced_by_a_stand_in() -> None:
    masked = mask_mentions("Was Kim Lee born in Oslo?", [Mention(20, 24, (OSLO,)), Mention(4, 11, (KIM,))])
    assert masked.text == "Was X born in X?"
    assert masked.places == (4, 14)
    assert [mention.entities for mention in masked.mentions] == [(KIM,), (OSLO,)]


def test_of_names_that_overlap_the_longest_is_masked_and_names_without_entities_stay() -> None:
    masked = mask_mentions(
        "Was Kim Lee born in Oslo?", [Mention(4, 7, (OSLO,)), Mention(4, 11, (KIM,)), Mention(20, 24, ())]
    )
    assert masked.text == "Was X born in Oslo?"


def test_equal_questions_about_other_names_are_read_alike() -> None:
    texts = reader().read(
        [
            mask_mentions("Where was Kim Lee born?", [Mention(10, 17, (KIM,))]),
            mask_mentions("Where was Oslo born?", [Mention(10, 14, (OSLO,))]),
        ]
    )
    assert torch.equal(texts.states[0], texts.states[1])


def test_the_tokens_of_a_stand_in_are_marked() -> None:
    texts = reader().read(
        [
            mask_mentions("Was Kim Lee born in Oslo?", [Mention(4, 11, (KIM,)), Mention(20, 24, (OSLO,))]),
            mask_mentions("Kim Lee?", [Mention(0, 7, (KIM,))]),
        ]
    )
    assert texts.starts.nonzero().tolist() == [[0, 0, 2], [0, 1, 5], [1, 0, 1]]


def test_a_label_has_one_vector_however_often_it_is_read() -> None:
    first = reader().label_vectors(["capital", "mayor"])
    again = reader().label_vectors(["mayor"])
    assert torch.equal(first["mayor"], again["mayor"])
    assert abs(float(first["mayor"].norm()) - 1) < 1e-5  # a unit vector, in float32
