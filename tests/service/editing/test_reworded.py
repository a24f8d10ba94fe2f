"""The report tells how far an edit reaches, in wordings that nobody gave."""

from __future__ import annotations

from service.editing.deployment import Editor
from service.editing.evaluation.paraphrases import MAX_EDITS_REWORDED, ParaphraseGenerator
from tests.service.editing.requests import PERU, change, edits, item

OTHERS = ParaphraseGenerator().generate(PERU)


async def test_other_wordings_are_asked_before_and_after(editor: Editor) -> None:
    """The toy answers to the letter, so that none follows."""
    for dry_run in (True, False):
        receipt = await change(editor, PERU, "Cusco", dry_run=dry_run)
        told = receipt["report"]["edits"][0]["generated_paraphrases"]
        assert [one["question"] for one in told] == OTHERS
        assert {(one["before"], one["after"], one["follows"]) for one in told} == {(None, None, False)}


async def test_one_that_an_earlier_edit_answers_is_told_as_it_is(editor: Editor) -> None:
    await change(editor, OTHERS[1], "Cusco")
    receipt = await change(editor, PERU, "Cusco")
    told = {one["question"]: one for one in receipt["report"]["edits"][0]["generated_paraphrases"]}
    assert told[OTHERS[1]] == {"question": OTHERS[1], "before": "Cusco", "after": "Cusco", "follows": True}
    assert not told[OTHERS[0]]["follows"]


async def test_a_given_paraphrase_is_not_told_twice(editor: Editor) -> None:
    receipt = await change(editor, PERU, "Cusco", OTHERS[0])
    assert OTHERS[0] not in [
        one["question"] for one in receipt["report"]["edits"][0]["generated_paraphrases"]
    ]


async def test_of_many_edits_the_first_few_are_reworded(editor: Editor) -> None:
    many = [item(f"What is the capital of Place {n}?", "Cusco") for n in range(MAX_EDITS_REWORDED + 2)]
    receipt = await edits(editor, *many)
    told = [bool(one["generated_paraphrases"]) for one in receipt["report"]["edits"]]
    assert told == [True] * MAX_EDITS_REWORDED + [False] * 2
