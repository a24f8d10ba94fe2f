"""The training works: a toy world of five relations is learned to the last question."""

import random
from dataclasses import replace

import pytest

from models.relational.answer import NO_PATH
from models.relational.system import RelationalSystem
from models.training.relational.exam import measure_group
from models.training.relational.learning import loss_of
from tests.models.training.relational.toy import MAKER, reader, toy_model


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
