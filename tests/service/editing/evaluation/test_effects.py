"""What an edit changes besides its question: near questions, other answers, and side effects."""

from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from errata.wire import Outcome
from errata.wire.wording import normalize_question

from models.packs.pack import pack_probes
from models.system import Probes, Side
from service.editing.editor import Editor
from service.editing.evaluation import side_effects
from service.editing.evaluation.near import find_contradictions
from service.editing.evaluation.side_effects import (
    MAX_CHOSEN,
    NEAREST_PER_EDIT,
    ProbeChoice,
    ProbeSelector,
    SideEffectProbe,
)
from tests.service.editing.conftest import StartEditor
from tests.service.editing.requests import PERU, change, check, edits, head, item, revert
from tests.service.graph.requests import fact, warnings
from tests.service.toy import ToySystem

PACK_QUESTIONS = ["Who wrote Hamlet?", PERU]
TRAINING_QUESTIONS = [
    *(f"What is the capital of country {n}?" for n in range(50)),
    "What is the currency of Peru?",
    "Who painted it?",
]


def choose(
    edits: Sequence[str],
    reachable: Sequence[str] | None = None,
    core: Sequence[str] = PACK_QUESTIONS,
    training: Sequence[str] = TRAINING_QUESTIONS,
) -> ProbeChoice:
    return ProbeSelector(Probes(tuple(core), tuple(training))).choose(edits, reachable)


def test_the_nearest_probes_share_rare_words() -> None:
    probes = choose([PERU]).questions
    assert probes[:2] == ["Who wrote Hamlet?", "What is the currency of Peru?"]
    assert probes[2:] == TRAINING_QUESTIONS[: NEAREST_PER_EDIT - 1]


def test_the_edited_questions_are_no_probes() -> None:
    edited_questions = ["what is the currency of PERU", PERU.lower()]
    assert not {PERU, "What is the currency of Peru?"} & set(choose(edited_questions).questions)


def test_many_edits_share_the_nearest_probes() -> None:
    questions = [f"Subject {n} of kind {n % 7}?" for n in range(3000)]
    edited_questions = [f"What about subject {n}?" for n in range(1000)]
    assert 100 < len(choose(edited_questions, core=[], training=questions).questions) <= MAX_CHOSEN


def test_a_system_that_names_reachable_questions_is_asked_only_those() -> None:
    edited_questions = [TRAINING_QUESTIONS[-1], PERU.lower(), *PACK_QUESTIONS]
    probes = choose([PERU], edited_questions)
    assert probes.questions == [*(q for q in PACK_QUESTIONS if q != PERU), TRAINING_QUESTIONS[-1]]
    wordings = {normalize_question(q) for q in [*PACK_QUESTIONS, *TRAINING_QUESTIONS]}
    assert {w for w in wordings if not probes.covers(w)} == {normalize_question(PERU)}
    assert probes.count_without({normalize_question(PERU)}) == len(wordings) - 1


def test_of_very_many_reachable_questions_only_the_likeliest_are_asked() -> None:
    questions = [f"Subject {n}?" for n in range(3 * MAX_CHOSEN)]
    probes = choose(["What?"], questions, training=questions)
    assert probes.questions == [*PACK_QUESTIONS, *questions[:MAX_CHOSEN]]
    assert [q for q in questions if probes.covers(normalize_question(q))] == questions[:MAX_CHOSEN]
    n_asked = len(PACK_QUESTIONS) + MAX_CHOSEN
    assert probes.count_without(set()) == n_asked
    assert probes.count_without({normalize_question(questions[0])}) == n_asked - 1
    assert probes.n_unmeasured == 2 * MAX_CHOSEN


def test_a_model_without_a_pack_has_no_probes() -> None:
    assert choose([PERU], core=[], training=[]).questions == []


def test_the_default_model_has_its_200_and_the_neighbours_of_the_edit() -> None:
    probes = pack_probes()
    questions = ProbeSelector(probes).choose([PERU], None).questions
    assert len(probes.core) == 200
    assert len(questions) > 200
    assert sum("Peru" in question for question in questions) >= 3
    assert sum("capital of" in question for question in questions) >= 3


async def test_the_fixed_probes_are_prepared_before_the_first_edit(
    editor: Editor, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    toy = editor.models.system("toy")
    may_differ = toy.may_differ

    def record(before: Side, after: Side) -> list[bool]:
        read.extend(ask.question for ask in before.asks)
        return may_differ(before, after)

    monkeypatch.setattr(toy, "may_differ", record)
    side_effects = SideEffectProbe(
        editor.models, {"toy": Probes(tuple(PACK_QUESTIONS), tuple(TRAINING_QUESTIONS))}
    )
    await side_effects.prepare((await editor.pipeline.read()).models)
    assert PACK_QUESTIONS[1] in read


SYSTEMS = {
    "atlas": "tests.service.toy_graph:load_atlas",
    "nkb": "tests.service.editing.conftest:load_nkb",
}
MISSPELT = "What is the currency of Fraance?"


@pytest.fixture
async def near_editor(start_editor: StartEditor) -> AsyncIterator[Editor]:
    async with start_editor(systems=SYSTEMS) as near_editor:
        yield near_editor


@pytest.mark.parametrize(
    ("version", "answer", "probability", "is_told"),
    [
        (2, "closed", 0.7, True),
        (2, "closed", 0.4, False),
        (2, "sou", 0.7, False),
        (None, "closed", 0.7, False),
    ],
)
def test_an_earlier_edit_that_may_be_about_the_same_question_is_told_of(
    version: int | None, answer: str, probability: float, is_told: bool
) -> None:
    near = Outcome(
        question="Is it open?", probability=probability, follows=False, version=version, after=answer
    )
    sentences = find_contradictions("sou", [near])
    assert bool(sentences) == is_told
    if is_told:
        assert (
            "version 2 answers 'Is it open?' with 'closed', and this may be the same question (70%)"
            in sentences[0]
        )
        assert "name version 2 in `replaces`" in sentences[0]


async def correct(near_editor: Editor, question: str, **options: Any) -> dict[str, Any]:
    return await edits(near_editor, item(question, "sou", model="nkb"), **options)


async def test_a_misspelt_name_is_warned_of(near_editor: Editor) -> None:
    preview = await correct(near_editor, MISSPELT, dry_run=True, strict=True)
    for receipt in (preview, await correct(near_editor, MISSPELT)):
        assert receipt["report"]["edits"][0]["similar_names"] == ["France"]
        assert "no name of the graph is 'Fraance', and France is one letter away" in warnings(receipt)


async def test_strict_refuses_a_misspelt_name(near_editor: Editor) -> None:
    refused = await edits(
        near_editor,
        item("Who painted the Mona Lisa?", "Bacon", model="nkb"),
        item(MISSPELT, "sou", model="nkb"),
        strict=True,
    )
    assert (refused["status"], refused["code"], refused["candidates"]) == (409, "similar_name", ["France"])
    assert refused["field"] == "edits.1.question"
    assert await head(near_editor) == 0


@pytest.mark.parametrize(
    "question",
    [
        "What is the currency of France?",
        "What is the currency of the Republic of Peru?",
        "Who painted the Mona Lisa?",
        "What is the currency of Tallwater?",
    ],
)
async def test_right_and_unknown_names_are_not_warned_of(near_editor: Editor, question: str) -> None:
    receipt = await correct(near_editor, question, strict=True)
    assert receipt["status"] == 201
    assert receipt["report"]["edits"][0]["similar_names"] == []


async def test_a_name_that_another_version_has_is_unknown(near_editor: Editor) -> None:
    question = "What is the currency of Genovja?"
    await fact(near_editor, "Genovia", "currency", "crown", create=True, only="graph", dry_run=True)
    assert (await correct(near_editor, question, dry_run=True))["report"]["edits"][0]["similar_names"] == []
    await fact(near_editor, "Genovia", "currency", "crown", create=True, only="graph")
    assert (await correct(near_editor, question))["report"]["edits"][0]["similar_names"] == ["Genovia"]


LIKE_PERU = "What is the capital, of Peru?"  # the same question to the toy, and other words to the service


@pytest.fixture
async def answering_editor(
    start_editor: StartEditor, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Editor]:
    monkeypatch.setattr(ToySystem, "probes", Probes((LIKE_PERU, "Who wrote Hamlet?")))
    async with start_editor() as answering_editor:
        yield answering_editor


async def test_strict_refuses_to_change_another_answer(answering_editor: Editor) -> None:
    refused = await change(answering_editor, PERU, "Cusco", strict=True)
    assert (refused["status"], refused["code"], refused["tests"]) == (409, "breaks_tests", [])
    (effect,) = refused["side_effects"]
    assert (effect["question"], effect["before"], effect["after"]) == (LIKE_PERU, "Lima", "Cusco")
    assert "nothing was changed" in refused["detail"]
    assert await head(answering_editor) == 0
    assert (await edits(answering_editor, item(PERU, "Cusco", LIKE_PERU), strict=True))["version"] == 1, (
        "it is meant"
    )


async def test_a_dry_run_and_a_commit_without_strict_show_it(answering_editor: Editor) -> None:
    for is_dry in (True, False):
        receipt = await change(answering_editor, PERU, "Cusco", strict=is_dry, dry_run=is_dry)
        assert [effect["question"] for effect in receipt["report"]["side_effects"]] == [LIKE_PERU]


async def test_the_check_names_other_answers_until_the_edit_is_taken_back(answering_editor: Editor) -> None:
    assert (await check(answering_editor)).other_answers == []
    await change(answering_editor, PERU, "Cusco")
    (effect,) = (await check(answering_editor)).other_answers
    assert (effect.question, effect.before, effect.after) == (LIKE_PERU, "Lima", "Cusco")
    await change(answering_editor, "Who wrote Hamlet?", "Bacon")
    assert len((await check(answering_editor)).other_answers) == 1
    await revert(answering_editor, 1)
    assert (await check(answering_editor)).other_answers == []


async def test_the_check_says_how_many_questions_it_left_out(
    start_editor: StartEditor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(side_effects, "MAX_CHOSEN", 0)
    monkeypatch.setattr(ToySystem, "probes", Probes(training=(LIKE_PERU, "Who wrote Hamlet?")))
    async with start_editor() as answering_editor:
        await change(answering_editor, PERU, "Cusco")
        assert (await check(answering_editor)).unmeasured_probes == 2


async def test_a_question_that_surely_follows_is_no_other_one(nkb_editor: Editor) -> None:
    receipt = await edits(
        nkb_editor, item("The capital city of Peru is which?", "Cusco", model="nkb"), strict=True
    )
    assert receipt["status"] == 201
    assert all(effect["follows"] for effect in receipt["report"]["side_effects"])
    assert (await check(nkb_editor)).other_answers == []
