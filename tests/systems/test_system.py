"""Every system keeps the contract: what it says before an edit, after it, and without it again."""

import json
from dataclasses import replace
from typing import Any

import pytest

from models.capabilities import (
    AnswersInSteps,
    Costs,
    ForeseesTaught,
    HasScope,
    KnowsWords,
    PredictsAffected,
    ReadsNeighbours,
    Routes,
    Streams,
)
from models.contract import check_contract, check_reply
from models.cost import default_cost
from models.system import AnswerDelta, Ask, Reason, Reply, Side
from tests.systems.conftest import Case, having
from tests.systems.records import FERRY

CAPABILITIES = {
    *(
        AnswersInSteps,
        Costs,
        PredictsAffected,
        ForeseesTaught,
        HasScope,
        KnowsWords,
        ReadsNeighbours,
        Routes,
        Streams,
    )
}


def all_scores(reply: Reply) -> list[float]:
    return [reply.score, *(other.score for other in reply.alternatives)]


def all_answers(reply: Reply) -> list[str]:
    return [reply.best, *(other.answer for other in reply.alternatives)]


def may_differ(case: Case, before: Any, after: Any, *asks: Ask) -> list[bool]:
    system: Any = case.bundle.system
    result: list[bool] = system.may_differ(
        Side(case.link(before, *asks), before), Side(case.link(after, *asks), after)
    )
    return result


def test_it_keeps_the_contract_and_has_what_its_record_says(case: Case) -> None:
    check_reply(check_contract(case.bundle, case.record.name))
    system = case.bundle.system
    assert (system.name, system.inputs) == (case.record.name, case.record.inputs)
    assert {kind for kind in CAPABILITIES if isinstance(system, kind)} == case.record.capabilities
    assert tuple(memory.name for memory in case.bundle.memories) == system.memories
    description = json.loads(json.dumps(system.describe()))
    assert description["checkpoint"].startswith("sha256:")
    engine = description["engine"]
    parts = {} if isinstance(engine, str) else engine
    assert {part for part, name in parts.items() if name == "onnxruntime, float32"} == case.record.engines
    assert parts or engine == "torch"
    assert description["unsure_below"]


def test_nothing_asked_is_nothing_answered(case: Case) -> None:
    assert case.say(case.before) == []
    if isinstance(case.bundle.system, PredictsAffected):
        assert may_differ(case, case.before, case.after) == []


def test_an_edit_is_followed_in_other_words_and_named(case: Case) -> None:
    asks = [case.record.ask, *case.record.wordings]
    before, after = case.say(case.before, *asks), case.say(case.after, *asks)
    assert [reply.best for reply in before] == [case.record.answers[0]] * len(asks)
    assert [reply.best for reply in after] == [case.record.answers[1]] * len(asks)
    for old, new in zip(before, after, strict=True):
        assert set(new.edits) - set(old.edits) == case.record.edits
        assert all(fact["edit"] in case.record.edits for fact in new.facts)
        assert new.answer == (None if case.record.is_withheld else new.best)
        assert old.answer == old.best


def test_bystanders_keep_their_replies_to_the_bit(case: Case) -> None:
    asks = [replace(ask, explain=explain) for ask in case.record.bystanders for explain in (False, True)]
    before, after = case.say(case.before, *asks), case.say(case.after, *asks)
    assert after == before
    assert all(reply.answer and not case.record.edits.intersection(reply.edits) for reply in after)


def test_without_the_edit_all_is_said_as_before_to_the_bit(case: Case) -> None:
    asks = [replace(ask, top_k=3, explain=True) for ask in case.record.asks]
    before = case.say(case.before, *asks)
    assert case.say(case.after, *asks) != before
    for memory in case.bundle.memories:
        memory.view(memory.fold([]))
    assert case.say(case.read(case.record.earlier), *asks) == before


def test_a_batch_of_both_versions_answers_as_each_question_alone(case: Case) -> None:
    asks = [replace(ask, top_k=top_k) for ask in case.record.asks for top_k in (1, 3)]
    if "candidates" in case.record.inputs:
        asks.append(replace(case.record.ask, candidates=case.record.answers, top_k=2))
    if "context" in case.record.inputs:
        asks.append(Ask("Who is the captain of the Vega?", context=FERRY, top_k=3))
    pairs = [(ask, views) for ask in asks for views in (case.after, case.before)]
    together = case.bundle.system.answer(
        [ask for ask, views in pairs for ask in case.link(views, ask)], [views for _, views in pairs]
    )
    for (ask, views), reply in zip(pairs, together, strict=True):
        (alone,) = case.say(views, ask)
        assert (alone.answer, alone.edits, alone.facts) == (reply.answer, reply.edits, reply.facts)
        assert (alone.reason, alone.truncated, alone.place) == (reply.reason, reply.truncated, reply.place)
        assert all_answers(alone) == all_answers(reply)
        assert all_scores(alone) == pytest.approx(all_scores(reply), abs=1e-3)


def test_alternatives_are_others_than_the_answer_the_likeliest_first(case: Case) -> None:
    for ask in (case.record.ask, *case.record.bystanders):
        single, three = case.say(case.before, replace(ask, top_k=1), replace(ask, top_k=3))
        assert (single.best, single.alternatives) == (three.best, ())
        assert single.score == pytest.approx(three.score, abs=1e-3)
        assert len({*all_answers(three)}) == len(all_answers(three)) == 3
        assert all_scores(three)[1:] == sorted(all_scores(three)[1:], reverse=True)
        assert all(0 <= score <= three.score for score in all_scores(three))


def test_an_explanation_comes_only_when_it_is_asked_for_and_changes_no_reply(case: Case) -> None:
    for views in (case.before, case.after):
        plain, full = case.say(views, case.record.ask, replace(case.record.ask, explain=True))
        assert plain.explanation is None
        assert full.explanation
        assert json.loads(json.dumps(full.explanation)) == full.explanation
        assert (full.answer, full.edits, full.facts) == (plain.answer, plain.edits, plain.facts)
        assert full.score == pytest.approx(plain.score, abs=1e-3)


def test_what_cannot_be_answered_is_declined_in_words(case: Case) -> None:
    for views in (case.before, case.after):
        for code, ask in case.record.declined.items():
            (reply,) = case.say(views, ask)
            assert (reply.answer, reply.reason) == (None, code), ask
            assert isinstance(reply.reason, Reason)
            assert reply.reason.sentence.endswith((".", "`."))


def test_a_question_that_is_too_long_is_cut_and_says_so(case: Case) -> None:
    long = replace(case.record.ask, question="and then " * 400 + case.record.ask.question)
    cut, whole = case.say(case.before, long, case.record.ask)
    assert (cut.truncated, whole.truncated) == (True, False)


@having("candidates")
def test_candidates_all_come_back_and_the_edit_chooses_among_them(case: Case) -> None:
    texts = ("Quito", case.record.answers[1], case.record.answers[0])
    asks = [replace(case.record.ask, candidates=order, top_k=3) for order in (texts, texts[::-1])]
    for views, expected in zip((case.before, case.after), case.record.answers, strict=True):
        replies = case.say(views, *asks)
        for reply in replies:
            assert reply.best == expected
            assert sorted(all_answers(reply)) == sorted(texts)
            assert all_scores(reply)[1:] == sorted(all_scores(reply)[1:], reverse=True)
        assert all_scores(replies[0]) == pytest.approx(all_scores(replies[1]), abs=1e-4)
    assert case.record.edits.issuperset(replies[0].edits)
    assert replies[0].edits


@having("context")
def test_a_context_is_answered_with_a_span_of_it(case: Case) -> None:
    ask = Ask("Who is the captain of the Vega?", context=FERRY, use_graph=False)
    for views in (case.before, case.after):
        (reply,) = case.say(views, ask)
        assert (reply.answer, reply.edits, reply.facts) == ("Olof Lind", (), ())
        assert reply.place == (FERRY.index("Olof"), FERRY.index("Olof") + len("Olof Lind"))


@having(Streams)
def test_a_stream_ends_as_the_answer_after_its_parts(case: Case) -> None:
    system: Any = case.bundle.system
    for views in (case.before, case.after):
        for ask in case.link(views, *case.record.asks):
            *deltas, last = system.stream(ask, views)
            assert [last] == case.say(views, ask)
            assert all(isinstance(delta, AnswerDelta) for delta in deltas)
            assert "".join(delta.text for delta in deltas) == (last.answer or "")


@having(AnswersInSteps)
def test_steps_end_as_the_answer(case: Case) -> None:
    system: Any = case.bundle.system
    texts = [replace(case.record.ask, document=None, context=f"{FERRY} " * 20, explain=True)]
    for ask in case.link(case.after, *case.record.asks, *texts):
        *steps, last = system.answer_in_steps(ask, case.after)
        assert [last] == case.say(case.after, ask)
        assert set(steps) <= {None}
    assert len(steps) > 2, "a long text is read in turns"


@having(Costs)
def test_a_question_that_takes_longer_costs_more(case: Case) -> None:
    system: Any = case.bundle.system
    (short,), long = case.link(case.before, case.record.ask), Ask("Who?", context=f"{FERRY} " * 1_000)
    assert default_cost(short) <= system.cost(short)
    if "context" in case.record.inputs:
        assert system.cost(long) > system.cost(replace(long, context=FERRY)) >= 1


@having(PredictsAffected)
def test_an_answer_that_may_not_differ_is_the_same(case: Case) -> None:
    asks = case.record.asks
    for before, after in ((case.before, case.after), (case.after, case.before)):
        may = may_differ(case, before, after, *asks)
        assert may[: 1 + len(case.record.wordings)] == [True] * (1 + len(case.record.wordings))
        assert not any(may[1 + len(case.record.wordings) :][: len(case.record.bystanders)])
        for is_open, old, new in zip(may, case.say(before, *asks), case.say(after, *asks), strict=True):
            assert is_open or (old.best, old.edits) == (new.best, new.edits)
    assert not any(may_differ(case, case.after, case.after, *asks))
    fresh = case.read(case.record.earlier, case.record.edit)
    assert not any(may_differ(case, case.after, fresh, *asks))


@having(ForeseesTaught)
def test_trained_questions_that_a_change_may_reach_are_listed(case: Case) -> None:
    system: Any = case.bundle.system
    reachable = system.find_affected(case.before, case.after)
    assert reachable == system.find_affected(case.after, case.before)
    assert 0 < len(reachable) < 200
    assert set(reachable) <= {case.record.ask.question, *system.probes.training}
    asks = [Ask(question) for question in system.probes.training[::20]]
    routed_questions = {
        ask.question for ask, edit in zip(asks, system.route(asks, case.after), strict=True) if edit
    }
    assert routed_questions <= set(reachable)
    assert list(system.find_affected(case.after, case.after)) == []


@having(Routes)
def test_a_route_is_the_edit_that_answers(case: Case) -> None:
    system: Any = case.bundle.system
    asks = case.record.asks
    routes = system.route(asks, case.after)
    assert [(edit,) if edit else () for edit in routes] == [r.edits for r in case.say(case.after, *asks)]
    assert system.find_same([case.record.ask], case.after) == [tuple(case.record.edits)]
    assert system.find_same(case.record.bystanders, case.after) == [()] * len(case.record.bystanders)
    assert (system.find_misrouted(case.after), system.route(asks, case.before)) == ({}, [None] * len(asks))


@having(HasScope)
def test_the_scope_says_how_near_an_edit_is(case: Case) -> None:
    system: Any = case.bundle.system
    (edit,) = case.record.edits
    for ask in (case.record.ask, *case.record.wordings):
        (nearest,) = system.find_nearest([ask], case.after)
        best = system.examine_scope(ask, case.after)[0]
        assert nearest.edit == best.edit == best.owner == edit
        assert best.verdict == "answers"
        assert nearest.probability == pytest.approx(best.probability, abs=1e-3)
        assert nearest.probability >= system.thresholds.opens
    assert system.find_nearest([case.record.ask], case.before) == [None]
    assert all(v.verdict != "answers" for v in system.examine_scope(case.record.bystanders[0], case.after))


@having(HasScope)
def test_a_person_says_how_sure_the_scope_has_to_be(case: Case) -> None:
    system: Any = case.bundle.system
    ask, usual = case.record.wordings[-1], system.thresholds
    try:
        system.set_thresholds(replace(usual, opens=1.0))
        (reply,) = case.say(case.after, ask)
    finally:
        system.set_thresholds(usual)
    assert (reply.best, reply.edits) == (case.record.answers[0], ())
    assert reply.nearby_edit is not None
    assert {reply.nearby_edit.edit} == case.record.edits


@having(KnowsWords)
def test_a_common_word_is_known(case: Case) -> None:
    system: Any = case.bundle.system
    assert [system.is_common(word) for word in ("capital", "xyzzyland")] == [True, False]


@having("graph")
def test_its_probes_are_questions_of_the_graph(case: Case) -> None:
    probes = case.bundle.system.probes
    assert len(probes.core) == 200
    assert len(probes.training) > 10_000
    assert all("{subject}" in words for words in probes.templates[0])
