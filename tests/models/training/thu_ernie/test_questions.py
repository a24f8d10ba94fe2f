"""Questions have the target that their facts give."""

import random
from dataclasses import replace

import torch

from models.training.thu_ernie.questions import NO_TARGET
from models.training.thu_ernie.training import Setup


def test_the_right_candidate_holds_the_right_objects(setup: Setup) -> None:
    rng = random.Random(2)
    plain = replace(setup.questions, mixture=setup.questions.mixture.change(fallback=0.0))
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
