"""Training examples: the answer can only be read from the tree, and no held-out part is in them.

The trained network is the served one: adapters added to the encoder compute what peft computes.
"""

import pytest
import torch

from models.encoder.weights import find
from models.graph.knowledge import Entity, Fact, Mention
from models.kbert.checkpoint import add_adapters
from models.kbert.encoder import Encoder
from models.kbert.query import link_mentions
from models.kbert.row import QuestionRow, build_row, collate
from models.kit.text import WordPieces
from models.training.kbert.examples import Example, Examples
from models.training.kbert.learning import Net
from models.training.kbert.training import PLAN
from tests.models.training.toys import kbert_world

STEPS = 12


@pytest.fixture(scope="module")
def steps() -> tuple[list[Example], list[Example]]:
    examples = Examples(kbert_world(), PLAN.mixture, PLAN.seed)
    all_steps = [examples.step(number) for number in range(STEPS)]
    return tuple([example for step in all_steps for example in step[kind]] for kind in range(2))  # type: ignore[return-value]


def test_the_target_is_a_fact_of_the_tree_or_missing_from_it(steps: tuple[list[Example], ...]) -> None:
    for example in steps[0]:
        facts = [fact for mention in example.mentions for entity in mention.entities for fact in entity.facts]
        assert facts
        if example.target is not None:
            assert any(fact is example.target for fact in facts)
    missing = sum(example.target is None for example in steps[0]) / len(steps[0])
    assert abs(missing - PLAN.mixture.absent) < 0.1


def test_mentions_stand_where_they_say(steps: tuple[list[Example], ...]) -> None:
    for example in (*steps[0], *steps[1]):
        for mention in example.mentions:
            assert example.question[mention.start : mention.end] == mention.entities[0].label


def test_nothing_that_is_held_out_is_seen(steps: tuple[list[Example], ...]) -> None:
    world = kbert_world()
    held_names = {world.entities[id].label for id in world.held_out}
    labels = {label for relation in world.relations.held_out.values() for label in relation.labels}
    for example in (*steps[0], *steps[1]):
        assert example.about not in world.relations.held_out
        for mention in example.mentions:
            assert mention.entities[0].label not in held_names
            assert not {fact.label for fact in mention.entities[0].facts} & labels


KIM = Entity("e", "Kim", facts=(Fact("born", "place of birth", "Oslo"), Fact("job", "occupation", "painter")))


@pytest.fixture(scope="module")
def net() -> Net:
    """With adapters that do something."""
    net = Net(PLAN).eval()
    with torch.no_grad():
        for name, parameter in net.bert.named_parameters():
            if "lora_B" in name:
                parameter.normal_(std=0.05)
    return net


@pytest.fixture(scope="module")
def rows() -> list[QuestionRow]:
    tokens = WordPieces(find().tokenizer())
    ranks = [{"place of birth": 0.9, "occupation": 0.2}]
    links = link_mentions([Mention(10, 13, (KIM,))], ranks, max_relations=6, max_mentions=2)
    return [build_row("Where was Kim born?", second, links, tokens, 64) for second in (None, "Kim is old.")]


def test_what_is_served_is_what_was_trained(net: Net, rows: list[QuestionRow]) -> None:
    batch = collate([row.row for row in rows], 0)
    weights = add_adapters(find().weights, net.adapters(), PLAN.lora_alpha / PLAN.lora_rank)
    with torch.inference_mode():
        expected = net.bert(batch)[batch.is_real]
    actual = Encoder.from_weights(weights).read(batch)[batch.is_real]
    torch.testing.assert_close(actual, expected, atol=5e-5, rtol=0)
