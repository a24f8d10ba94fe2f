"""Facts always hold in their wordings, changes of senses compose and are undone to the bit, and refusals say why."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from models.backpack.editing.overlay import find_differing, project
from models.backpack.editing.sense import SenseChange
from models.backpack.memory import SENSES, SensesMemory
from models.backpack.reader import Reader
from models.backpack.system import BackpackSystem
from models.blocks import Image
from models.memory import AnswerChange, EditRefused, FieldsChange, Material, Options
from models.packs.pack import Pack
from models.system import Ask
from tests.hypotheses import examples

FACTS = [
    ("What is the capital of Peru?", "Lima", ("capital of Peru", "Peru's seat of government?")),
    ("Who wrote Emma?", "Jane Austen", ()),
    ("What is the currency of Japan?", "the yen, divided into one hundred sen", ("Japan currency",)),
    ("中国的首都是哪里?", "北京", ()),
    ("How long is the river Ob?", "3,650 km (2,268 mi)", ()),
]


def sense(id: str, **fields: Any) -> FieldsChange:
    return FieldsChange(id, "sense", SenseChange(**fields))


def build(memory: SensesMemory, *changes: Any) -> list[Material]:
    materials: list[Material] = []
    for order, material in enumerate(memory.build(changes, Options())):
        assert isinstance(material, Material), material
        materials.append(replace(material, block=replace(material.block, order=order)))
    return materials


def refuse(memory: SensesMemory, change: Any) -> EditRefused:
    (refusal,) = memory.build([change], Options())
    assert isinstance(refusal, EditRefused)
    return refusal


def answers(
    system: BackpackSystem, memory: SensesMemory, image: Image, questions: Sequence[str]
) -> list[Any]:
    view = {SENSES: memory.view(image)}
    return system.answer([Ask(question) for question in questions], [view] * len(questions))


@pytest.fixture(scope="module")
def facts(memory: SensesMemory) -> list[Material]:
    changes = [
        AnswerChange(f"f{place}", question, answer, paraphrases)
        for place, (question, answer, paraphrases) in enumerate(FACTS)
    ]
    return build(memory, *changes)


def test_every_fact_holds_in_all_of_its_wordings(
    memory: SensesMemory, system: BackpackSystem, facts: list[Material]
) -> None:
    image = memory.fold(facts)
    for place, (question, answer, paraphrases) in enumerate(FACTS):
        for reply in answers(system, memory, image, [question, *paraphrases]):
            assert (reply.answer, reply.edits) == (answer, (f"f{place}",))


def test_facts_of_every_relation_hold_in_all_of_their_wordings(
    memory: SensesMemory, system: BackpackSystem
) -> None:
    by_relation = {item.relation.id: item for item in Pack.load().items()}
    items = list(by_relation.values())[::2]
    wordings = [
        [way.replace("{subject}", item.subject.label) for way in item.relation.phrasings[:4]]
        for item in items
    ]
    changes = [
        AnswerChange(str(place), ways[0], items[place - 1].answer, tuple(ways[1:]))
        for place, ways in enumerate(wordings)
    ]
    image = memory.fold(build(memory, *changes))
    for place, ways in enumerate(wordings):
        replies = answers(system, memory, image, ways)
        assert [reply.answer for reply in replies] == [items[place - 1].answer] * len(ways)


def test_a_fact_holds_beside_changed_senses_of_its_words(
    memory: SensesMemory, system: BackpackSystem, facts: list[Material]
) -> None:
    question, answer, _ = FACTS[0]
    numbers = range(4)
    changes = [
        sense(f"s{place}", word=word, action="factor", factor=3.0, senses=(place,))
        for place, word in zip(numbers, ("Q", ":", " the", "A"), strict=True)
    ]
    image = memory.fold([*facts, *build(memory, *changes)])
    (reply,) = answers(system, memory, image, [question])
    assert (reply.answer, reply.edits) == (answer, ("f0",))


ACTIONS = st.sampled_from(
    [
        {"action": "factor", "factor": 0.0},
        {"action": "factor", "factor": 1.5, "senses": (1, 3)},
        {"action": "project", "away": " of", "towards": " is"},
        {"action": "project", "away": " in", "towards": " of", "strength": 0.5, "orthogonal": True},
        {"action": "transplant", "towards": " is", "senses": (0,)},
        {"action": "overwrite", "towards": (" of", " in"), "strength": 0.3},
    ]
)


@examples(30)
@given(
    steps=st.lists(st.tuples(st.sampled_from([" the", "Q"]), ACTIONS), min_size=1, max_size=5), data=st.data()
)
def test_changes_compose_in_order_and_any_of_them_is_undone_exactly(
    memory: SensesMemory, steps: list[tuple[str, dict[str, Any]]], data: st.DataObject
) -> None:
    materials = build(
        memory, *(sense(f"e{n}", word=word, **fields) for n, (word, fields) in enumerate(steps))
    )
    out = data.draw(st.integers(0, len(steps) - 1))
    rest = materials[:out] + materials[out + 1 :]
    undone = memory.view(memory.fold(rest)).overlay
    fresh = memory.view(memory.fold(list(reversed(rest)))).overlay
    assert find_differing(undone, fresh) == set()
    overlay = memory.view(memory.fold(materials)).overlay
    assert overlay is not None
    assert find_differing(overlay, memory.view(memory.fold(materials)).overlay) == set()


def test_a_projection_is_the_papers(memory: SensesMemory, reader: Reader) -> None:
    change = sense("s", word=" the", action="project", away=" of", towards=" is")
    overlay = memory.view(memory.fold(build(memory, change))).overlay
    assert overlay is not None
    the, of, is_ = (reader.speller.spell(word)[0] for word in (" the", " of", " is"))
    senses = reader.model.senses_of(torch.tensor([the], device=reader.model.embedding.device))[0]
    expected = project(senses, reader.model.embedding[of], reader.model.embedding[is_])
    torch.testing.assert_close(overlay.senses[0], expected)
    assert overlay.ids.tolist() == [the]


def test_the_notes_say_which_token_a_word_is(memory: SensesMemory, reader: Reader) -> None:
    (material,) = build(memory, sense("s", word="the", action="factor", factor=1.0, first_piece=True))
    assert list(material.notes["pieces"].values()) == reader.speller.spell("the")
    assert material.notes["id"] == reader.speller.spell("the")[0]
    assert any("changes nothing" in warning for warning in material.notes["warnings"])
    assert SenseChange(word=" the", action="factor", factor=0).summarize() == "weigh ' the' by 0.0"


@pytest.mark.parametrize(
    ("fields", "code", "detail"),
    [
        ({"action": "factor", "factor": -1.0}, "bad_factor", "never negative"),
        ({"action": "factor", "factor": float("nan")}, "bad_factor", "never negative"),
        ({"action": "factor"}, "incomplete", "factor needs factor"),
        ({"action": "project", "towards": " is"}, "incomplete", "project needs away"),
        ({"action": "factor", "factor": 1.0, "away": " of"}, "unused", "no use for away"),
        (
            {"action": "transplant", "towards": " of", "senses": (4,)},
            "unknown_sense",
            "the senses are 0 to 3",
        ),
        ({"action": "transplant", "towards": (" of", " is")}, "one_word", "overwrite takes a topic"),
        ({"action": "transplant", "towards": " of", "strength": 1.5}, "bad_strength", "between 0 and 1"),
        ({"action": "overwrite", "towards": ("qzx blorp", "vvv www")}, "no_topic", "no word of the topic"),
        ({"action": "overwrite", "towards": " qzx blorp"}, "several_pieces", "set first_piece"),
        ({"word": "", "action": "factor", "factor": 0.5}, "no_word", "is empty"),
        ({"word": "qzxblorp", "action": "factor", "factor": 0.5}, "several_pieces", "pieces ("),
    ],
)
def test_what_cannot_work_is_refused_in_words_that_say_what_would(
    memory: SensesMemory, fields: dict[str, Any], code: str, detail: str
) -> None:
    refusal = refuse(memory, sense("s", **{"word": " the", **fields}))
    assert (refusal.code, detail in refusal.detail) == (code, True), refusal.detail


def test_a_word_that_is_one_piece_behind_a_space_is_named_so(memory: SensesMemory, reader: Reader) -> None:
    tokens = range(reader.model.config.words)
    word = next(
        text[1:]
        for text in (reader.speller.read([token]) for token in tokens)
        if text[0] == " " and text[1:].isalpha() and len(reader.speller.spell(text[1:])) > 1
    )
    refusal = refuse(memory, sense("s", word=word, action="factor", factor=0.5))
    assert f"write {f' {word}'!r}" in refusal.detail


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ("", "unspeakable"),
        (" Lima", "unspeakable"),
        ("Li\nma", "unspeakable"),
        ("qz" * 100, "answer_too_long"),
    ],
)
def test_an_answer_that_cannot_be_said_is_refused(memory: SensesMemory, answer: str, code: str) -> None:
    assert refuse(memory, AnswerChange("f", "What?", answer)).code == code


def test_usage_counts_rows_and_warns_of_changes_that_act_on_all_texts(
    memory: SensesMemory, facts: list[Material]
) -> None:
    assert memory.usage(memory.base).slots_used == 0
    assert memory.usage(memory.fold(facts)).warnings == ()
    change = build(memory, sense("s", word=" the", action="factor", factor=0.5))
    usage = memory.usage(memory.fold([*facts, *change]))
    assert usage.slots_used == 1 + sum(material.notes["slots"] for material in facts)
    assert usage.warnings == ("1 change of senses acts on each text with the word, whatever is asked",)
