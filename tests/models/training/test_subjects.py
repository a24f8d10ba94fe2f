"""The reading of subjects learns from given facts and names of other things, in trained phrasings only."""

from collections import Counter

from models.packs.pack import Pack
from models.training.packs.names import read_names
from models.training.questions import write_questions
from models.training.subjects import gather

ITEMS = list(Pack.load().items())


def test_no_other_fact_of_the_pack_and_no_held_phrasing_is_seen() -> None:
    pack = Pack.load()
    pack_facts = {(item.subject.label, item.relation.id) for item in ITEMS[::50]}
    pack_names = {name.casefold() for entity in pack.entities.values() for name in entity.names}
    questions = write_questions(pack.relations, ITEMS[::50], read_names("train")[::20], phrasings=3, seed=1)
    facts = {(question.subject, question.relation) for question in questions}
    assert pack_facts < facts
    assert not pack_names & {subject.casefold() for subject, _ in facts - pack_facts}
    for question in questions:
        relation = pack.relations[question.relation]
        assert any(t.replace("{subject}", question.subject) in question.text for t in relation.phrasings)
        assert not any(t.replace("{subject}", question.subject) == question.text for t in relation.held_out)


def test_each_fact_is_gathered_with_its_questions_and_siblings() -> None:
    pack = Pack.load()
    questions = write_questions(pack.relations, ITEMS[::50], read_names("train")[::20], phrasings=3, seed=1)
    facts = gather(questions)
    assert set(map(len, facts.rows.values())) == {3}
    assert sorted(row for rows in facts.rows.values() for row in rows) == list(range(len(questions)))
    for fact, rows in facts.rows.items():
        pairs = {(questions[row].subject, questions[row].relation) for row in rows}
        assert pairs == {(facts.subject[fact], facts.relation[fact])}
        assert fact in facts.siblings[facts.subject[fact]]
    assert Counter(map(len, facts.siblings.values()))[1] < len(facts.siblings) / 2


def test_a_name_is_in_one_half_only() -> None:
    halves = [{entry.name.casefold() for entry in read_names(half)} for half in ("train", "test")]
    assert min(map(len, halves)) > 3_000
    assert not halves[0] & halves[1]


def test_every_relation_is_asked_for() -> None:
    pack = Pack.load()
    questions = Counter(
        question.relation
        for question in write_questions(pack.relations, ITEMS, read_names("train"), phrasings=3, seed=1)
    )
    assert set(questions) == set(pack.relations)
    assert min(questions.values()) > 300
