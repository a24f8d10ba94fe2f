"""A question's generated paraphrases: by its relation's templates, else by rules of English; the report asks them."""

from __future__ import annotations

import pytest
from errata.wire.wording import normalize_question

from models.packs.pack import Pack, pack_probes
from service.editing.editor import Editor
from service.editing.evaluation.visitors import MAX_EDITS_REWORDED, MAX_PARAPHRASES, ParaphraseGenerator
from tests.service.editing.requests import PERU, change, edits, item

GENERATOR = ParaphraseGenerator(pack_probes().templates)
TOY_WORDINGS = ParaphraseGenerator().generate(PERU)  # the toy has no templates


def test_a_question_of_a_known_relation_is_worded_as_the_relation_is() -> None:
    capital = Pack.load().relations["capital"]
    wordings = GENERATOR.generate("what is the capital of Peru")
    assert set(wordings) <= {t.replace("{subject}", "Peru") for t in (*capital.held_out, *capital.phrasings)}
    assert len(wordings) == MAX_PARAPHRASES
    assert [t.replace("{subject}", "Peru") for t in capital.held_out] == wordings[:3]


@pytest.mark.parametrize(
    ("question", "wording"),
    [
        ("What is the refund period of plan B?", "plan B's refund period?"),
        ("Who was the first king of Ruritania?", "Tell me the first king of Ruritania."),
        ("What is Ruritania's oldest treaty?", "The oldest treaty of Ruritania?"),
        ("When does the canteen open?", "Please tell me: when does the canteen open?"),
        ("What is the roof of the hall made of?", "I have a question: what is the roof of the hall made of?"),
    ],
)
def test_any_other_question_is_turned_by_rules(question: str, wording: str) -> None:
    assert wording in GENERATOR.generate(question)


@pytest.mark.parametrize(
    "question", ["capital of Peru", "Peru", "Who wrote Hamlet?", "¿Qué?", "x" * 500, "?"]
)
def test_no_wording_is_the_question_or_one_that_was_given(question: str) -> None:
    first_two = GENERATOR.generate(question)[:2]
    again = GENERATOR.generate(question, first_two)
    assert not {normalize_question(w) for w in again} & {
        normalize_question(question),
        *map(normalize_question, first_two),
    }
    assert len(again) == len(set(map(normalize_question, again)))


def test_names_with_signs_of_their_own_are_kept_to_the_letter() -> None:
    assert all(
        "$uga(r)? [x]" in wording for wording in GENERATOR.generate("What is the occupation of $uga(r)? [x]?")
    )


async def test_a_wording_that_an_earlier_edit_answers_is_reported_as_answered(editor: Editor) -> None:
    await change(editor, TOY_WORDINGS[1], "Cusco")
    receipt = await change(editor, PERU, "Cusco")
    paraphrases = {
        paraphrase["question"]: paraphrase
        for paraphrase in receipt["report"]["edits"][0]["generated_paraphrases"]
    }
    assert paraphrases[TOY_WORDINGS[1]] == {
        "question": TOY_WORDINGS[1],
        "before": "Cusco",
        "after": "Cusco",
        "follows": True,
    }
    assert not paraphrases[TOY_WORDINGS[0]]["follows"]


async def test_a_given_paraphrase_is_not_generated_again(editor: Editor) -> None:
    receipt = await change(editor, PERU, "Cusco", TOY_WORDINGS[0])
    assert TOY_WORDINGS[0] not in [
        paraphrase["question"] for paraphrase in receipt["report"]["edits"][0]["generated_paraphrases"]
    ]


async def test_of_many_edits_the_first_few_get_paraphrases(editor: Editor) -> None:
    items = [item(f"What is the capital of Place {n}?", "Cusco") for n in range(MAX_EDITS_REWORDED + 2)]
    receipt = await edits(editor, *items)
    has_paraphrases = [bool(edit["generated_paraphrases"]) for edit in receipt["report"]["edits"]]
    assert has_paraphrases == [True] * MAX_EDITS_REWORDED + [False] * 2
