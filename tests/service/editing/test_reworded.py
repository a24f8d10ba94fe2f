"""The report tells how far an edit reaches, in wordings that nobody gave."""

from __future__ import annotations

from service.editing.deployment import Editor
from service.editing.evaluation.paraphrases import MAX_EDITS_REWORDED, ParaphraseGenerator
from tests.service.editing.requests import PERU, change, edits, item

WORDINGS = ParaphraseGenerator().generate(PERU)


async def test_generated_paraphrases_are_asked_before_and_after(editor: Editor) -> None:
    """The toy answers to the letter, so that none follows."""
    for dry_run in (True, False):
        receipt = await change(editor, PERU, "Cusco", dry_run=dry_run)
        paraphrases = receipt["report"]["edits"][0]["generated_paraphrases"]
        assert [paraphrase["question"] for paraphrase in paraphrases] == WORDINGS
        assert {
            (paraphrase["before"], paraphrase["after"], paraphrase["follows"]) for paraphrase in paraphrases
        } == {(None, None, False)}


async def test_a_wording_that_an_earlier_edit_answers_is_reported_as_answered(editor: Editor) -> None:
    await change(editor, WORDINGS[1], "Cusco")
    receipt = await change(editor, PERU, "Cusco")
    paraphrases = {
        paraphrase["question"]: paraphrase
        for paraphrase in receipt["report"]["edits"][0]["generated_paraphrases"]
    }
    assert paraphrases[WORDINGS[1]] == {
        "question": WORDINGS[1],
        "before": "Cusco",
        "after": "Cusco",
        "follows": True,
    }
    assert not paraphrases[WORDINGS[0]]["follows"]


async def test_a_given_paraphrase_is_not_generated_again(editor: Editor) -> None:
    receipt = await change(editor, PERU, "Cusco", WORDINGS[0])
    assert WORDINGS[0] not in [
        paraphrase["question"] for paraphrase in receipt["report"]["edits"][0]["generated_paraphrases"]
    ]


async def test_of_many_edits_the_first_few_get_paraphrases(editor: Editor) -> None:
    items = [item(f"What is the capital of Place {n}?", "Cusco") for n in range(MAX_EDITS_REWORDED + 2)]
    receipt = await edits(editor, *items)
    has_paraphrases = [bool(edit["generated_paraphrases"]) for edit in receipt["report"]["edits"]]
    assert has_paraphrases == [True] * MAX_EDITS_REWORDED + [False] * 2
