"""What is trained is what is served: adapters merged into the packed encoder compute what peft computes."""

import pytest
import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer

from models.encoder.weights import find
from models.graph.knowledge import Entity, Fact, Mention
from models.kbert.adapters import merged
from models.kbert.batch import collate
from models.kbert.choice import choose
from models.kbert.config import ReadingConfig
from models.kbert.packed import PackedEncoder
from models.kbert.planted import Planted, plant
from models.kbert.tokens import WordPieces
from models.training.kbert.net import NEVER, Net, packed
from models.training.kbert.plan import DEFAULT as PLAN

KIM = Entity("e", "Kim", facts=(Fact("born", "place of birth", "Oslo"), Fact("job", "occupation", "painter")))


@pytest.fixture(scope="module")
def net() -> Net:
    """With adapters that do something."""
    made = Net(PLAN).eval()
    with torch.no_grad():
        for name, parameter in made.bert.named_parameters():
            if "lora_B" in name:
                parameter.normal_(std=0.05)
    return made


@pytest.fixture(scope="module")
def rows() -> list[Planted]:
    tokens = WordPieces(Tokenizer.from_file(str(find().tokenizer)))
    chosen = choose([Mention(10, 13, (KIM,))], [{"place of birth": 0.9, "occupation": 0.2}], most=6, words=2)
    question = "Where was Kim born?"
    return [plant(question, second, chosen, tokens, ReadingConfig(64, 6)) for second in (None, "Kim is old.")]


def test_the_packed_pass_is_the_encoders_own(net: Net, rows: list[Planted]) -> None:
    batch = collate([one.row for one in rows], 0)
    with torch.inference_mode():
        expected = net.bert.read(batch)[batch.real]
        torch.testing.assert_close(packed(net.bert, batch)[batch.real], expected, atol=1e-5, rtol=0)


def test_what_is_served_is_what_was_trained(net: Net, rows: list[Planted]) -> None:
    batch = collate([one.row for one in rows], 0)
    weights = merged(load_file(find().weights), net.adapters(), PLAN.lora_alpha / PLAN.lora_rank)
    with torch.inference_mode():
        expected = packed(net.bert, batch)[batch.real]
    torch.testing.assert_close(PackedEncoder.of(weights).read(batch)[batch.real], expected, atol=5e-5, rtol=0)


def test_only_the_upper_layers_have_adapters(net: Net) -> None:
    layers = {int(name.split(".")[2]) for name in net.adapters()}
    assert layers == set(range(PLAN.frozen_layers, 6))
    assert all(name.split("/")[0] != "bert" or "lora" in name for name in net.trained())


def test_options_are_no_answer_objects_and_spans_of_the_second_text(net: Net, rows: list[Planted]) -> None:
    batch = collate([one.row for one in rows], 0)
    with torch.inference_mode():
        options, spans_from = net.pointing(rows, batch, torch.tensor([[0.9, 0.2], [0.9, 0.2]]))
    assert spans_from == 3
    assert options.shape == (2, 3 + batch.ids.shape[1] ** 2)
    assert (options[:, :3] > NEVER).all()
    assert (options[0, 3:] == NEVER).all()
    assert (options[1, 3:] > NEVER).any()
