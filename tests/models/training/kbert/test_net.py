"""The trained network is the served one: adapters added to the encoder compute what peft computes."""

import pytest
import torch

from models.encoder.weights import find
from models.graph.knowledge import Entity, Fact, Mention
from models.kbert.checkpoint import add_adapters
from models.kbert.heads import Encoder
from models.kbert.query import link_mentions
from models.kbert.row import QuestionRow, build_row, collate
from models.kit.text import WordPieces
from models.training.kbert.learning import Net
from models.training.kbert.training import PLAN

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
