"""The bars of K-BERT, and what it says of questions that it has not seen."""

import json
import random
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from models.graph.blocks import statements_block
from models.graph.knowledge import Entity, Fact, Mention
from models.graph.memory import GraphMemory
from models.graph.periods import select_current
from models.graph.statement import Statement
from models.kbert.checkpoint import DEFAULT, FILES, UNSEEN_FILE, load
from models.kbert.query import InjectedRelation
from models.kbert.system import KbertSystem
from models.kit.checkpoint import CheckpointError, write_sums
from models.kit.days import find_day
from models.memory import Material
from models.packs.pack import Item, Pack
from models.system import UNSURE, Ask, Reply
from models.training.kbert.texts import QuestionMaker, RelationQuestion, ask_about, without_fact
from models.training.kbert.training import PLAN
from models.training.kit.exam import Figures, Question, count
from models.training.kit.exam import put as put_to
from models.training.texts.relations import split_relations

KIM = Entity(
    "p:kim",
    "Kim Lee",
    facts=(
        Fact("place_of_birth", "place of birth", "Oslo"),
        Fact("occupation", "occupation", "painter"),
        Fact("spouse", "spouse", "Ada Berg", "p:ada"),
    ),
)


def linked_ask(question: str, name: str, *entities: Entity, **options: object) -> Ask:
    """Return a question whose first place of `name` may mean each of the entities."""
    start = question.index(name)
    return Ask(question, mentions=(Mention(start, start + len(name), entities),), **options)  # type: ignore[arg-type]


def entity_with(*triples: tuple[str, str, str], id: str = "e:1", label: str = "Kim Lee") -> Entity:
    """Return an entity with (relation, label, object) facts."""
    return Entity(id, label, facts=tuple(Fact(*triple) for triple in triples))


SAMPLE = 60


def put(system: KbertSystem, questions: Sequence[Question]) -> Figures:
    return count(put_to(system, questions, {}))


@pytest.fixture(scope="module")
def pack() -> Pack:
    return Pack.load()


@pytest.fixture(scope="module")
def maker(pack: Pack, graph: GraphMemory) -> QuestionMaker:
    split = split_relations(pack, PLAN.seed, PLAN.n_tuning)
    relations = {**split.train, **split.held_out}
    of_pack = {id: relation for id, relation in relations.items() if not relation.is_practice}
    return QuestionMaker(pack, graph.view(graph.base), of_pack)


def draw_items(pack: Pack, of_held_out: bool) -> list[Item]:
    held_out = split_relations(pack, PLAN.seed, PLAN.n_tuning).held_out
    fitting = [item for item in pack.items() if (item.relation.id in held_out) is of_held_out]
    return random.Random(5).sample(fitting, SAMPLE)


def held_phrasings(pack: Pack, maker: QuestionMaker, with_crowd: bool) -> list[RelationQuestion]:
    rng = random.Random(6)
    templates = [(item, rng.choice(item.relation.held_out)) for item in draw_items(pack, of_held_out=False)]
    if with_crowd:
        return [maker.with_crowd(item, template, rng) for item, template in templates]
    return [maker.natural(item, template) for item, template in templates]


@pytest.mark.parametrize("with_crowd", [False, True])
def test_phrasings_never_seen(
    pack: Pack, maker: QuestionMaker, default: KbertSystem, with_crowd: bool
) -> None:
    figures = put(default, held_phrasings(pack, maker, with_crowd))
    assert figures["right"] >= 90
    assert figures["declined"] <= 5


def test_relations_never_seen(pack: Pack, maker: QuestionMaker, default: KbertSystem) -> None:
    rng = random.Random(7)
    questions = [
        maker.with_crowd(i, rng.choice(i.relation.phrasings), rng) for i in draw_items(pack, of_held_out=True)
    ]
    assert put(default, questions)["right"] >= 80


def test_facts_that_are_not_there(pack: Pack, maker: QuestionMaker, default: KbertSystem) -> None:
    questions = [
        bare for bare in map(without_fact, held_phrasings(pack, maker, with_crowd=True)) if bare is not None
    ]
    assert len(questions) == SAMPLE
    assert put(default, questions)["declined"] >= 90


def test_replaced_triples(pack: Pack, default: KbertSystem, graph: GraphMemory) -> None:
    single = [item for item in draw_items(pack, of_held_out=False) if item.relation.cardinality == "one"]
    items = list({item.subject.id: item for item in single}.values())
    materials = [
        Material(
            f"e{order}",
            "graph",
            statements_block(
                f"edit/e{order}",
                order,
                {item.subject.id: (Statement(item.relation.id, f"Newname {order}", "", "set"),)},
            ),
        )
        for order, item in enumerate(items, start=1)
    ]
    view = graph.view(graph.fold(materials))
    questions = []
    for order, item in enumerate(items, start=1):
        entity = view.entity(item.subject.id)
        assert entity is not None
        questions.append(ask_about(item.relation.phrasings[4], entity, f"Newname {order}", item.relation.id))
    assert put(default, questions)["right"] >= 97


DESK = "support desk of Tallwater"
CAPITAL = "What is the capital of Peru?"
PHONE = Fact("phone number", "phone number", "+31 10 555 0100")


def ask(system: KbertSystem, question: str, *facts: Fact) -> Reply:
    start = question.index(DESK)
    mention = Mention(start, start + len(DESK), (Entity("desk", DESK, facts=facts),))
    [reply] = system.answer([Ask(question, mentions=(mention,))], [{}])
    return reply


@pytest.mark.parametrize(
    "question",
    [f"What is the phone number of the {DESK}?", f"Under which phone number is the {DESK} reached?"],
)
def test_the_relation_that_is_asked_for_answers(default: KbertSystem, question: str) -> None:
    assert ask(default, question, PHONE).answer == PHONE.object


@pytest.mark.parametrize(
    "question",
    [f"What is the fax number of the {DESK}?", f"Who leads the {DESK}?", f"When was the {DESK} set up?"],
)
def test_a_relation_that_only_resembles_it_does_not(default: KbertSystem, question: str) -> None:
    reply = ask(default, question, PHONE)
    assert reply.answer is None
    assert reply.reason == UNSURE


HOURS = tuple(Fact(day, f"{day} opening hours", "10 to 17") for day in ("Tuesday", "Saturday", "Sunday"))


@pytest.mark.parametrize("day", ["Monday", "Friday", "thursday"])
def test_a_day_that_no_fact_has_is_named_with_those_that_are_known(default: KbertSystem, day: str) -> None:
    reply = ask(default, f"When is the {DESK} open on {day}?", *HOURS)
    assert reply.answer is None
    assert reply.reason == UNSURE
    assert f"about {day}, only: " in reply.reason.sentence
    assert all(fact.label in reply.reason.sentence for fact in HOURS)


def test_a_word_before_a_known_relation_makes_it_another(default: KbertSystem) -> None:
    director = Fact("director", "director", "Ida Brook")
    assert ask(default, f"Who is the director of the {DESK}?", director).answer == "Ida Brook"
    for office in ("deputy director", "previous director"):
        reply = ask(default, f"Who is the {office} of the {DESK}?", director)
        assert reply.answer is None
        assert reply.reason == UNSURE
        assert reply.reason.sentence.endswith("the nearest: director.")


MAYORS = (
    Fact("mayor", "mayor", "Ina Dorn", begin="1970", end="1979"),
    Fact("mayor", "mayor", "Bo Lind", begin="1980"),
)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Who was the mayor of {name} on 3 March 1975?", "Ina Dorn"),
        ("Who was mayor of {name} in 1990?", "Bo Lind"),
        ("Who was the mayor of {name} in 1931?", None),
        ("Who was the wife of the mayor of {name} in 1990?", None),
        ("Who is the mayor of {name}?", "Bo Lind"),
    ],
)
def test_a_fact_with_a_time_answers_a_question_with_a_time(
    default: KbertSystem, question: str, answer: str | None
) -> None:
    text = question.format(name=DESK)
    facts = select_current(MAYORS, find_day(text) or "2026-11-29")
    assert ask(default, text, *facts).answer == answer


def test_a_value_that_a_fact_says_nothing_about_is_named(default: KbertSystem) -> None:
    director = Fact("director", "director", "Ida Brook")
    reply = ask(default, f"Who is the director of the {DESK} in 1975?", director)
    assert (reply.answer, reply.reason) == (None, UNSURE)
    assert reply.reason is not None
    assert "says nothing about 1975: director" in reply.reason.sentence


def test_a_relation_of_the_pack_is_not_read_again(default: KbertSystem) -> None:
    check = default.model.relation_check
    assert check is not None
    entity = Entity("Q1", "Peru")
    assert not check.concerns(CAPITAL, InjectedRelation(entity, (Fact("capital", "capital", "Lima"),), 1.0))
    assert not check.concerns(CAPITAL, InjectedRelation(entity, (Fact("capital", "Capital", "Lima"),), 1.0))
    former = "What is the former capital of Peru?"
    assert check.concerns(former, InjectedRelation(entity, (Fact("capital", "capital", "Lima"),), 1.0))
    assert check.concerns(CAPITAL, InjectedRelation(entity, (Fact("mascot", "mascot", "a llama"),), 1.0))


def test_a_scale_of_another_judge_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "kbert"
    shutil.copytree(DEFAULT, folder)
    raw = json.loads((folder / UNSEEN_FILE).read_text())
    (folder / UNSEEN_FILE).write_text(json.dumps(raw | {"judge": "sha256:0"}))
    write_sums(folder, (*FILES, UNSEEN_FILE))
    with pytest.raises(CheckpointError, match="another judge"):
        load(folder)


def test_a_scale_that_is_listed_and_missing_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "kbert"
    shutil.copytree(DEFAULT, folder)
    (folder / UNSEEN_FILE).unlink()
    with pytest.raises(CheckpointError, match=UNSEEN_FILE):
        load(folder)
