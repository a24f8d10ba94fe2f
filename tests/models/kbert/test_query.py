"""Which entity a name means, how its relations are ranked, and which of its facts are read.

Options are whole objects and no answer; bfloat16 gives the same answers.
The scores that facts and context add to a candidate.
"""

import pytest
import torch
from torch import Tensor

from models.encoder.minilm import WIDTH, MiniLM
from models.graph.knowledge import Entity, Fact, Mention
from models.kbert.answer import Answerer
from models.kbert.checkpoint import load
from models.kbert.options import Option, Options, list_options, support_candidates
from models.kbert.query import Link, Relevance, link_mentions, mask_mention, rankable_labels
from models.kbert.row import QuestionRow, build_row, collate
from models.kbert.system import KbertSystem
from models.kit.text import WordPieces
from models.steps import finish
from tests.models.kbert.test_bars import KIM, entity_with, linked_ask

RANKS = {"place of birth": 0.9, "occupation": 0.2, "spouse": 0.4, "capital": 0.8, "area": 0.1}


def mention(*entities: Entity, start: int = 0, end: int = 7) -> Mention:
    return Mention(start, end, entities)


def omissions(link: Link) -> list[tuple[str, str]]:
    return [(entry.fact.object, entry.reason) for entry in link.left_out]


def test_relations_are_read_by_rank_and_the_rest_is_reported() -> None:
    (link,) = link_mentions([mention(KIM)], [RANKS], max_relations=2, max_mentions=4)
    assert [relation.values[0].label for relation in link.relations] == ["place of birth", "spouse"]
    assert omissions(link) == [("painter", "rank")]


def test_of_a_relation_that_holds_many_one_value_is_read_and_all_are_the_answer() -> None:
    country = entity_with(*((("borders", "borders", name)) for name in ("Spain", "Andorra", "Italy")))
    (link,) = link_mentions([mention(country)], [{"borders": 0.7}], 6, 4)
    (relation,) = link.relations
    assert relation.answer == "Andorra, Italy, Spain"
    assert relation.text == "borders Andorra"
    assert omissions(link) == [
        ("Italy", "value"),
        ("Spain", "value"),
    ]


def test_a_name_means_whom_the_question_fits_then_whom_the_graph_knows_best_then_the_first_id() -> None:
    state = entity_with(("capital", "capital", "Atlanta"), id="b")
    song = entity_with(("area", "area", "3"), ("occupation", "occupation", "song"), id="c")
    country = entity_with(("capital", "capital", "Tbilisi"), ("area", "area", "69,700"), id="d")
    twin = entity_with(("capital", "capital", "Tiflis"), ("area", "area", "1"), id="a")
    (link,) = link_mentions([mention(state, song, country)], [RANKS], 6, 4)
    assert link.entity.id == "d"
    assert [other.id for other, _ in link.other_entities] == ["b", "c"]
    (link,) = link_mentions([mention(country, twin)], [RANKS], 6, 4)
    assert link.entity.id == "a"


def test_an_entity_may_be_its_own_object() -> None:
    (link,) = link_mentions(
        [mention(entity_with(("capital", "capital", "Kim Lee")))], [RANKS], max_relations=6, max_mentions=4
    )
    assert link.relations[0].answer == "Kim Lee"


def test_facts_without_a_label_or_an_object_are_not_read() -> None:
    bad = Entity("e", "Kim Lee", facts=(Fact("x", " ", "Oslo"), Fact("capital", "capital", "\t")))
    assert rankable_labels(mention(bad)) == []
    (link,) = link_mentions([mention(bad)], [{}], 6, 4)
    assert link.relations == ()
    assert [reason for _, reason in omissions(link)] == ["empty", "empty"]


def test_facts_hang_on_the_best_fitting_mentions_and_of_two_that_overlap_on_the_longer() -> None:
    capital = entity_with(("capital", "capital", "Lima"), id="peru", label="Peru")
    area = entity_with(("area", "area", "3"), id="short", label="Per")
    links = link_mentions(
        [mention(capital, start=0, end=4), mention(area, start=0, end=3), mention(KIM, start=9, end=16)],
        [RANKS, RANKS, RANKS],
        max_relations=6,
        max_mentions=1,
    )
    assert [(link.entity.id, len(link.relations)) for link in links] == [("peru", 0), ("p:kim", 3)]
    assert [reason for _, reason in omissions(links[0])] == ["mentions"]


@pytest.fixture(scope="module")
def relevance() -> Relevance:
    return Relevance(MiniLM(), torch.zeros(WIDTH, WIDTH))


def test_the_mention_is_masked() -> None:
    assert mask_mention("Where was Kim born?", 10, 13) == "Where was X born?"


def test_a_relation_that_nobody_trained_on_is_ranked_by_its_label(relevance: Relevance) -> None:
    labels = ["birthday", "author", "price", "author"]
    ranks, no_ranks = relevance.rank([("Who wrote X?", labels), ("Who wrote X?", [])])
    assert list(ranks) == ["birthday", "author", "price"]
    assert max(ranks, key=lambda label: ranks[label]) == "author"
    assert all(-1 <= rank <= 1 for rank in ranks.values())
    assert no_ranks == {}


HEADS_RANKS = {"place of birth": 0.9, "occupation": 0.2, "spouse": 0.4}
QUESTION, CONTEXT = "Where was Kim Lee born?", "Kim was born in New York, they say."


@pytest.fixture
def rows(pieces: WordPieces) -> list[QuestionRow]:
    links = link_mentions(linked_ask(QUESTION, "Kim Lee", KIM).mentions, [HEADS_RANKS], 6, 4)
    return [build_row(QUESTION, second, links, pieces, 64) for second in (None, CONTEXT)]


def pointing_at(row: QuestionRow, start: int, end: int, length: int) -> Tensor:
    logits = torch.zeros(length, 2)
    logits[start, 0] = logits[end, 1] = 9.0
    return logits


def test_the_object_that_is_pointed_at_comes_first(rows: list[QuestionRow]) -> None:
    batch = collate([row.row for row in rows], 0)
    logits = torch.stack([pointing_at(row, *row.objects[0], batch.ids.shape[1]) for row in rows])
    for options in list_options(rows, logits, rank_weight=1.0):
        assert [option.answer for option in options.by_logit] == ["Oslo", "Ada Berg", "painter"]
        assert options.by_logit[0].logit == pytest.approx(18.9)
        assert options.no_answer == 0.0


def test_shares_are_one_softmax_with_no_answer() -> None:
    shares, no_answer = Options((Option("a", 2.0), Option("b", 1.0)), 0.5).shares()
    expected = torch.softmax(torch.tensor([2.0, 1.0, 0.5]), 0).tolist()
    assert [*shares, no_answer] == pytest.approx(expected)


def test_bfloat16_gives_the_same_answers(default: KbertSystem, device: torch.device) -> None:
    asks = [
        linked_ask(QUESTION, "Kim Lee", KIM),
        linked_ask("Whom did Kim Lee marry?", "Kim Lee", KIM),
        linked_ask("what does Kim Lee do for a living", "Kim Lee", KIM),
        linked_ask("What is the melting point of Kim Lee?", "Kim Lee", KIM),
        linked_ask("Who is Kim Lee married to?", "Kim Lee", KIM, candidates=("Tom Fox", "Ada Berg")),
    ]
    answerer = Answerer(load(device=device, dtype=torch.bfloat16))
    actual = finish(answerer.reply(asks, finish(answerer.read(asks))))
    expected = default.answer(asks, [{}] * len(asks))
    assert [reply.answer for reply in actual] == [reply.answer for reply in expected]
    for reply, exact in zip(actual, expected, strict=True):
        assert reply.score == pytest.approx(exact.score, abs=0.05)


OPTIONS = Options((Option("Oslo", 4.0), Option("Rome", 1.0)), no_answer=0.0)


def test_the_candidate_that_the_best_option_names_has_most_support() -> None:
    supports = support_candidates(OPTIONS, ["Rome", "He was born in OSLO.", "Paris"])
    assert supports[1] > 0 > supports[0] > supports[2]


def test_without_options_nothing_speaks_for_anyone() -> None:
    assert support_candidates(None, ["a", "b"]) == [0.0, 0.0]
    assert support_candidates(Options((), 0.0), ["a"]) == [0.0]


def test_doubt_is_no_evidence() -> None:
    (support,) = support_candidates(Options((Option("Oslo", -9.0),), no_answer=9.0), ["Paris"])
    assert abs(support) < 0.05
