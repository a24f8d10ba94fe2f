"""Questions have the target that their facts give."""

import random
from dataclasses import replace
from itertools import combinations

import torch

from models.packs.pack import Pack
from models.training.phrasings import read_phrasings
from models.training.thu_ernie.batch import collate_questions
from models.training.thu_ernie.plan import TEST_HANDS, Plan
from models.training.thu_ernie.prepare import Setup
from models.training.thu_ernie.questions import NO_TARGET, pad_groups
from models.training.thu_ernie.wordings import Wordings


def test_no_word_of_the_third_writer_is_trained_on(small_pack: Pack) -> None:
    wordings = Wordings.of(small_pack)
    for relation, phrasings in read_phrasings(TEST_HANDS).items():
        train, choose = (
            {t.casefold() for t in part.get(relation, ())} for part in (wordings.train, wordings.choose)
        )
        assert not train & {text.casefold() for text in phrasings.questions}
        assert not train & choose
        assert bool(train) == (relation in small_pack.relations)


def test_strange_relations_are_others_in_each_split(small_pack: Pack) -> None:
    wordings = Wordings.of(small_pack)
    assert all(len(texts) >= 8 for texts in wordings.strange.values())
    strange = [set(texts) for texts in wordings.strange.values()]
    assert not any(first & second for first, second in combinations(strange, 2))
    phrasings = read_phrasings(TEST_HANDS)
    assert not set(wordings.strange["test"]) & {
        text for relation in small_pack.relations for text in phrasings[relation].questions
    }


def test_the_right_candidate_holds_the_right_objects(setup: Setup) -> None:
    rng = random.Random(2)
    plain = replace(setup.questions, mixture=replace(setup.questions.mixture, fallback=0.0))
    kinds = set()
    for _ in range(80):
        example = plain.draw(rng)
        kinds.add((example.target == NO_TARGET, example.mask is None, example.mention is None))
        name = example.question.text[example.question.begin : example.question.end]
        assert name.strip()
        if example.target != NO_TARGET and example.right:
            torch.testing.assert_close(example.groups[example.target], setup.world.rows[list(example.right)])
        if example.target == NO_TARGET:
            assert example.right == ()
    assert {(True, False, False), (False, False, False), (False, False, True), (False, True, True)} <= kinds


def test_the_same_number_draws_the_same_question(setup: Setup) -> None:
    first, second = (setup.questions.draw(random.Random("9")) for _ in range(2))
    assert first.question == second.question
    assert first.mask is second.mask or (first.mask is not None and first.mask.equal(second.mask))


def test_rows_stand_at_the_mention_and_at_the_mask(setup: Setup, plan: Plan) -> None:
    rng = random.Random(3)
    examples = [setup.questions.draw(rng) for _ in range(24)]
    layout = collate_questions(examples, setup.vocabulary, plan.config.entity_size, 64)
    assert layout.batch.entities is not None
    for row, (example, place) in enumerate(zip(examples, layout.places.tolist(), strict=True)):
        expected = torch.zeros(plan.config.entity_size) if example.mask is None else example.mask
        torch.testing.assert_close(layout.batch.entities[row, place], expected)
        n_rows = int((layout.batch.entities[row].abs().sum(-1) > 0).sum())
        assert n_rows == (example.mask is not None) + (example.mention is not None)
    vectors, is_real = pad_groups(examples)
    assert is_real.sum() == sum(len(rows) for example in examples for rows in example.groups)
    assert vectors[~is_real].abs().sum() == 0
