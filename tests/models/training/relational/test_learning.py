"""The relational reader learns the toy task."""

import random
from dataclasses import replace
from functools import cache

import pytest

from models.encoder.minilm import MiniLM
from models.graph.knowledge import Entity, Fact, Mention
from models.relational.answer import NO_PATH, Answerer, Sources
from models.relational.checkpoint import Model
from models.relational.explain import explain
from models.relational.program import EditedRule, RuleProgram
from models.relational.question import TextReader
from models.relational.rule import WalkRule
from models.relational.subgraph import EntityNeighbours, inverse_label
from models.relational.system import RelationalSystem
from models.system import Ask, Reply
from models.training.kit.plan import Plan
from models.training.relational.compositions import Compositions, is_inverse, with_inverses
from models.training.relational.exam import calibrate, measure_group
from models.training.relational.examples import Example, ExampleMaker
from models.training.relational.learning import Learning, loss_of
from models.training.relational.training import PLAN as DEFAULT
from models.training.relational.wordings import Wordings, turn_phrasings
from models.training.texts.phrasings import Phrasings
from models.training.texts.relations import RelationText

ROWS = {
    "capital": ("country", "place", "Name the capital of {subject}.", "the capital of {subject}"),
    "mayor": ("place", "person", "Who is the mayor of {subject}?", "the mayor of {subject}"),
    "spouse": ("person", "person", "Who married {subject}?", "the spouse of {subject}"),
    "employer": ("person", "organization", "Who employs {subject}?", "the employer of {subject}"),
    "founded": ("organization", "year", "When was {subject} founded?", "the founding year of {subject}"),
}
LABELS = {"founded": "year of foundation"}
RELATIONS = {
    id: RelationText(id, (LABELS.get(id, id),), subject, object, (question,))
    for id, (subject, object, question, _) in ROWS.items()
}
MIXTURE = DEFAULT.mixture.change(
    broken=0.25,
    count=0.1,
    yes_no=0.1,
    other_label=0.0,
    slip=0.0,
    bare=0.0,
    most_facts=3,
)
CONFIG = {"width": 64, "heads": 4, "layers": 1, "rank": 16, "fan_out": 8, "max_nodes": 64, "fan_in": 0}
PLAN = DEFAULT.change(
    config=CONFIG,
    mixture=MIXTURE,
    steps=300,
    batch=16,
    lr=4e-3,
    warmup=10,
    n_exam=40,
    max_declined=0.0,
)
BOTH_WAYS_PLAN = PLAN.change(config={"fan_in": 8}, steps=600)
FRAMES = Plan(
    {
        "count": ("How many are {noun}?",),
        "count_by_label": (),
        "yes_no": ("Is {object} {noun}?",),
        "yes_no_by_label": (),
        "subject_nouns": ("the {type} whose {label} is {subject}",),
        "subject_questions": (),
        "around_nouns": ("What is {noun}?", "Name {noun}."),
    }
)
MAKER = ExampleMaker(
    Compositions(RELATIONS, 10**9, 1),
    Wordings(
        {id: Phrasings((question,), (noun,)) for id, (_, _, question, noun) in ROWS.items()},
        FRAMES,
        MIXTURE,
        True,
    ),
    MIXTURE,
    RELATIONS,
    {},
    PLAN.config.hops,
)


@cache
def reader() -> TextReader:
    return TextReader(MiniLM())


@cache
def toy_model() -> Model:
    """Train on the toy world, and calibrate."""
    learning = Learning(PLAN, reader(), MAKER.draw, print)
    learning.run(None)
    confidence = calibrate(PLAN, learning.network, reader(), (MAKER,))
    return Model(learning.network, reader(), confidence, "sha256:toy")


def both_ways_maker() -> ExampleMaker:
    """Return the maker of a reader that walks back, too."""
    words = MAKER.wordings
    turns = turn_phrasings(RELATIONS.values(), words.phrasings, FRAMES)
    return replace(
        MAKER,
        compositions=replace(MAKER.compositions, relations=with_inverses(RELATIONS), inverse=0.4),
        wordings=replace(words, phrasings={**words.phrasings, **turns}),
        beside=with_inverses(RELATIONS),
        walks_back=True,
    )


@cache
def both_ways_model() -> Model:
    """Train a reader that walks from objects to subjects, too."""
    maker = both_ways_maker()
    learning = Learning(BOTH_WAYS_PLAN, reader(), maker.draw, print)
    learning.run(None)
    confidence = calibrate(BOTH_WAYS_PLAN, learning.network, reader(), (maker,))
    return Model(learning.network, reader(), confidence, "sha256:both ways")


@pytest.mark.parametrize("n_hops", [1, 2, 3])
def test_a_toy_world_is_learned_to_the_last_question(n_hops: int) -> None:
    rng = random.Random(f"other questions/{n_hops}")
    paths = [MAKER.compositions.draw(n_hops, False, rng) for _ in range(30)]
    system = RelationalSystem(toy_model())
    result = measure_group(system, [MAKER.make(path, rng, False) for path in paths])
    assert (result["best"], result["faithful"]) == (100.0, 100.0)


def test_a_missing_fact_is_noticed_at_any_hop() -> None:
    rng = random.Random("broken")
    paths = [MAKER.compositions.draw(n_hops, False, rng) for n_hops in (1, 2, 3) for _ in range(10)]
    examples = [MAKER.make(path, rng, True) for path in paths]
    asks = [replace(example.ask, neighbours=tuple(example.entities.values())) for example in examples]
    replies = RelationalSystem(toy_model()).answer(asks, [{}] * len(asks))
    assert [reply.answer for reply in replies] == [None] * 30
    assert {reply.reason for reply in replies} == {NO_PATH}


def test_the_loss_of_a_question_does_not_depend_on_the_others_of_its_batch() -> None:
    rng = random.Random("batch")
    examples = [MAKER.draw(rng) for _ in range(6)]
    network = toy_model().network
    together = float(loss_of(network, reader(), examples))
    alone = [float(loss_of(network, reader(), [example])) for example in examples]
    assert together == pytest.approx(sum(alone) / len(alone), abs=1e-4)  # float32, other order of sums


def examples(is_broken: bool, number: int = 80) -> list[Example]:
    rng, maker = random.Random("inverses"), both_ways_maker()
    paths = [maker.compositions.draw(rng.choice((1, 2, 3)), False, rng) for _ in range(number)]
    assert any(is_inverse(relation.id) for path in paths for relation in path)
    return [maker.make(path, rng, is_broken) for path in paths]


def entity(id: str, *facts: tuple[str, str]) -> Entity:
    return Entity(id, id, facts=tuple(Fact(r, LABELS.get(r, r), target, target) for r, target in facts))


GRAPH = {
    e.id: e
    for e in (
        entity("Norland", ("capital", "Vik")),
        entity("Sudland", ("capital", "Oz")),
        entity("Vik", ("mayor", "Ada")),
        entity("Oz", ("mayor", "Bo")),
        entity("Ada", ("spouse", "Kim"), ("employer", "Acme")),
        entity("Bo"),
        entity("Kim"),
        entity("Acme"),
    )
}


@pytest.fixture(scope="module")
def answerer() -> Answerer:
    return Answerer(both_ways_model())


def ask(answerer: Answerer, question: str, name: str, rule: str = "") -> Reply:
    at = question.index(name)
    question_of_name = Ask(question, mentions=(Mention(at, at + len(name), (GRAPH[name],)),))
    graph = EntityNeighbours.of_entities(GRAPH)
    program = RuleProgram((EditedRule(WalkRule(rule), "e1"),) if rule else ())
    [reading] = answerer.read([question_of_name], [Sources(graph, program)])
    reply = answerer.reply(reading)
    return replace(reply, explanation=explain(reading))  # type: ignore[arg-type]  # its name is in the graph


def test_a_reader_finds_the_subject_of_an_object(answerer: Answerer) -> None:
    reply = ask(answerer, "What is the country whose capital is Vik?", "Vik")
    assert reply.best == "Norland"
    [fact] = reply.facts
    assert (fact["subject"], fact["label"], fact["object"]) == ("Norland", "capital", "Vik")
    assert reply.explanation["path"][0]["label"] == inverse_label("capital")


def test_a_path_leads_back_and_on_in_one_question(answerer: Answerer) -> None:
    reply = ask(answerer, "Who employs the person whose spouse is Kim?", "Kim")
    assert reply.best == "Acme"
    assert [(fact["subject"], fact["object"]) for fact in reply.facts] == [("Ada", "Kim"), ("Ada", "Acme")]


def test_a_rule_about_a_relation_holds_in_both_directions(answerer: Answerer) -> None:
    rule = 'forbid(E) <= hidden.relation(E,"capital")'
    reply = ask(answerer, "What is the country whose capital is Vik?", "Vik", rule)
    assert reply.best != "Norland"
    assert {fact["subject"] for fact in reply.explanation["forbidden"]} >= {"Norland"}
