"""Answers over several facts, with the facts that they rest on, from the toy reader."""

from dataclasses import replace

import pytest

from models.graph.knowledge import Entity, Fact, Mention
from models.kit.replies import NO_ENTITY, NO_GRAPH
from models.relational.answer import NO_PATH, NO_RULES, Answerer, Reading, Sources, proof
from models.relational.explain import explain
from models.relational.program import EditedRule, RuleProgram
from models.relational.rule import WalkRule
from models.relational.subgraph import EntityNeighbours
from models.system import Ask, Reply
from tests.models.training.relational.test_learning import LABELS, toy_model


def entity(id: str, *facts: tuple[str, str, str]) -> Entity:
    return Entity(id, id, facts=tuple(Fact(r, LABELS.get(r, r), o, target) for r, o, target in facts))


GRAPH = {
    e.id: e
    for e in (
        entity("Norland", ("capital", "Vik", "Vik")),
        entity("Vik", ("mayor", "Ada", "Ada"), ("mayor", "Bo", "Bo")),
        entity("Ada", ("spouse", "Kim", "Kim"), ("employer", "Acme", "Acme")),
        entity("Bo", ("spouse", "Liv", "Liv")),
        entity("Kim", ("employer", "Acme", "Acme")),
        entity("Acme", ("founded", "1901", "")),
    )
}


@pytest.fixture(scope="module")
def answerer() -> Answerer:
    return Answerer(toy_model())


def ask(question: str, *names: str, **options: bool) -> Ask:
    mentions = tuple(
        Mention(question.index(name), question.index(name) + len(name), (GRAPH[name],)) for name in names
    )
    return Ask(question, mentions=mentions, **options)


def read(answerer: Answerer, question: Ask, rules: RuleProgram = NO_RULES) -> Reading:
    [reading] = answerer.read([question], [Sources(EntityNeighbours(GRAPH.get), rules)])
    assert isinstance(reading, Reading)
    return reading


def say(answerer: Answerer, question: Ask, rules: RuleProgram = NO_RULES) -> Reply:
    [reading] = answerer.read([question], [Sources(EntityNeighbours(GRAPH.get), rules)])
    return answerer.reply(reading)


def test_a_question_of_each_number_of_hops_is_answered(answerer: Answerer) -> None:
    assert say(answerer, ask("Name the capital of Norland.", "Norland")).best == "Vik"
    assert say(answerer, ask("Who employs the spouse of Ada?", "Ada")).best == "Acme"
    assert say(answerer, ask("When was the employer of the spouse of Ada founded?", "Ada")).best == "1901"


def test_several_values_are_one_answer(answerer: Answerer) -> None:
    assert say(answerer, ask("Who is the mayor of Vik?", "Vik")).best == "Ada, Bo"
    assert say(answerer, ask("Who married the mayor of Vik?", "Vik")).best == "Kim, Liv"


def test_a_count_and_yes_or_no(answerer: Answerer) -> None:
    assert say(answerer, ask("How many are the mayor of Vik?", "Vik")).best == "2"
    assert say(answerer, ask("Is Kim the spouse of Ada?", "Kim", "Ada")).best == "yes"
    assert say(answerer, ask("Is Acme the spouse of Ada?", "Acme", "Ada")).best == "no"


def test_how_many_is_a_number_even_where_the_reader_takes_it_for_a_list(answerer: Answerer) -> None:
    question = ask("Who is the mayor of Vik? And how many?", "Vik")
    reading = replace(read(answerer, question), form="entities")
    assert answerer.reply(reading).best == "2"
    assert explain(reading)["values"] == ["Ada", "Bo"]
    plain = replace(read(answerer, ask("Who is the mayor of Vik?", "Vik")), form="entities")
    assert answerer.reply(plain).best == "Ada, Bo"


def test_how_many_of_a_value_that_is_a_number_is_the_value(answerer: Answerer) -> None:
    question = ask("When was Acme founded? How many years?", "Acme")
    assert answerer.reply(replace(read(answerer, question), form="entities")).best == "1901"


def test_the_facts_of_an_answer_are_those_of_its_path(answerer: Answerer) -> None:
    reply = say(answerer, ask("Who employs the spouse of Ada?", "Ada"))
    assert [(fact["subject"], fact["label"], fact["object"]) for fact in reply.facts] == [
        ("Ada", "spouse", "Kim"),
        ("Kim", "employer", "Acme"),
    ]


def test_facts_that_lead_nowhere_are_no_part_of_the_proof(answerer: Answerer) -> None:
    reading = read(answerer, ask("Who employs the spouse of the mayor of Vik?", "Vik"))
    hops = proof(reading.graph, reading.candidates[0])
    assert [edge.fact.object for edge in hops[0]] == ["Ada"]  # Bo's spouse has no employer


def test_a_path_that_lacks_a_fact_gives_no_answer(answerer: Answerer) -> None:
    reply = say(answerer, ask("Who employs Bo?", "Bo"))
    assert (reply.answer, reply.reason) == (None, NO_PATH)


def test_a_rule_takes_an_edge_out_of_the_softmax(answerer: Answerer) -> None:
    question = ask("Who employs the spouse of Ada?", "Ada")
    rules = RuleProgram((EditedRule(WalkRule('forbid(E) <= hidden.relation(E,"spouse")'), "e1"),))
    reading = read(answerer, question, rules)
    assert not any(step.label == "spouse" for walk in reading.candidates for step in walk.steps)
    [forbidden, *_] = explain(reading)["forbidden"]
    assert forbidden["label"] == "spouse"
    assert (forbidden["rule_edit"], forbidden["rule"]) == ("e1", f"forbidden: {rules.rules[0].rule.text}")


def test_an_explanation_shows_each_hop_and_why_other_paths_lost(answerer: Answerer) -> None:
    explanation = explain(read(answerer, ask("Who employs the spouse of Ada?", "Ada")))
    assert [hop["label"] for hop in explanation["path"]] == ["spouse", "employer"]
    assert all(hop["weight"] > 0.5 for hop in explanation["path"])
    assert explanation["start"]["entity"] == "Ada"
    employer = next(losing for losing in explanation["losing"] if losing["path"] == ["employer"])
    assert employer["answer"] == "Acme"
    assert employer["why"].startswith("at hop 1 'employer' weighs 0.0")
    assert "'spouse' weighs" in employer["why"]


def test_the_weights_of_all_ends_of_a_question_add_up_to_one(answerer: Answerer) -> None:
    reading = read(answerer, ask("Who is the mayor of Vik?", "Vik"))
    total = sum(w.weight for w in (*reading.search.finished, *reading.search.broken))
    assert total == pytest.approx(1, abs=0.01)  # the lightest walks are dropped


def test_nothing_is_read_without_a_name_or_without_the_graph(answerer: Answerer) -> None:
    assert say(answerer, Ask("Who employs whom?")).reason == NO_ENTITY
    assert say(answerer, ask("Who employs Ada?", "Ada", use_graph=False)).reason == NO_GRAPH


def test_an_entity_without_facts_has_no_path(answerer: Answerer) -> None:
    bare = Mention(12, 15, (Entity("zed", "Zed"),))
    assert say(answerer, Ask("Who employs Zed?", mentions=(bare,))).reason == NO_PATH


def test_of_two_entities_of_one_name_the_one_with_a_path_answers(answerer: Answerer) -> None:
    other = Entity("ada2", "Ada", facts=(Fact("founded", LABELS["founded"], "1850"),))
    mention = Mention(12, 15, (other, GRAPH["Ada"]))
    reply = say(answerer, Ask("Who employs Ada?", mentions=(mention,)))
    assert reply.best == "Acme"
    assert reply.facts[0]["entity"] == "Ada"


def test_alternatives_are_the_ends_of_other_paths(answerer: Answerer) -> None:
    mention = Mention(12, 15, (GRAPH["Ada"],))
    reply = say(answerer, Ask("Who employs Ada?", mentions=(mention,), top_k=3))
    assert reply.best == "Acme"
    assert 1 <= len(reply.alternatives) <= 2
    assert all(other.answer != "Acme" and other.score < reply.score for other in reply.alternatives)


def test_a_batch_answers_as_each_question_alone(answerer: Answerer) -> None:
    questions = [
        ask("Name the capital of Norland.", "Norland"),
        Ask("Who?"),
        ask("When was the employer of the spouse of Ada founded?", "Ada"),
    ]
    source = Sources(EntityNeighbours(GRAPH.get))
    together = [answerer.reply(reading) for reading in answerer.read(questions, [source] * 3)]
    for reply, question in zip(together, questions, strict=True):
        alone = say(answerer, question)
        assert (reply.best, reply.facts) == (alone.best, alone.facts)
        assert reply.score == pytest.approx(alone.score, abs=1e-4)  # float32, other padding
