"""The network of the relational reader."""

import pytest
import torch
import torch.nn.functional as F

from models.encoder.minilm import WIDTH
from models.relational.network import FIRST_LABEL, NULL, STAY, Reading, RelationalNetwork
from models.relational.question import TokenStates
from tests.models.relational.conftest import TINY


@pytest.fixture
def network() -> RelationalNetwork:
    torch.manual_seed(1)
    return RelationalNetwork(TINY).requires_grad_(False)


def texts(*lengths: int) -> TokenStates:
    torch.manual_seed(2)
    mask = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    states = torch.randn(len(lengths), max(lengths), WIDTH) * mask[..., None]
    starts = F.one_hot(torch.ones(len(lengths), dtype=torch.long), max(lengths))[:, None].bool()
    return TokenStates(states, mask, starts, (False,) * len(lengths))


def first(reading: Reading, network: RelationalNetwork) -> torch.Tensor:
    return network.states(reading, 0, torch.tensor([0]), None)


def test_weights_are_a_softmax_of_scaled_cosines_over_the_allowed_edges(network: RelationalNetwork) -> None:
    torch.manual_seed(3)
    states, labels = torch.randn(1, WIDTH), F.normalize(torch.randn(3, WIDTH), dim=-1)
    keys = network.keys(labels)
    allowed = torch.tensor([[True, False, True, True, False]])
    weights = network.weights(states, keys, allowed, torch.tensor([0])).exp()
    every = torch.cat([network.special_keys, labels])
    scores = 10 * F.cosine_similarity(states, every)  # the map is the identity before training
    expected = scores[[0, 2, 3]].softmax(0)
    torch.testing.assert_close(weights[0, [0, 2, 3]], expected, atol=1e-5, rtol=0)
    assert weights[0, [1, 4]].tolist() == [0, 0]


def test_an_edge_that_does_not_exist_leaves_the_ratio_of_the_others(network: RelationalNetwork) -> None:
    states, keys = torch.randn(1, WIDTH), network.keys(torch.randn(3, WIDTH))
    allowed = torch.ones(2, 5, dtype=torch.bool)
    allowed[1, 4] = False
    weights = network.weights(states, keys, allowed, torch.tensor([0, 0])).exp()
    torch.testing.assert_close(weights[0, 2] / weights[0, 3], weights[1, 2] / weights[1, 3])
    assert float(weights[1, 2]) > float(weights[0, 2])


def test_padding_changes_nothing(network: RelationalNetwork) -> None:
    longer, alone = texts(5, 9), texts(5, 9)
    alone = TokenStates(alone.states[:1, :5], alone.mask[:1, :5], alone.starts[:1, :, :5], (False,))
    pair, single = network.read(longer), network.read(alone)
    torch.testing.assert_close(first(pair, network), first(single, network), atol=1e-5, rtol=0)
    torch.testing.assert_close(pair.forms[:1], single.forms, atol=1e-5, rtol=0)


def test_the_state_of_a_hop_is_an_average_of_the_words_of_the_question(network: RelationalNetwork) -> None:
    reading = network.read(texts(4))
    state = first(reading, network)
    assert float(state.max()) <= float(reading.states.max())
    only_word = network.read(texts(1, 2))
    torch.testing.assert_close(first(only_word, network)[0], only_word.states[0, 0])


def test_what_an_edge_carries_changes_what_the_next_hop_asks_with(network: RelationalNetwork) -> None:
    reading = network.read(texts(6))
    edges = F.normalize(torch.randn(2, WIDTH), dim=-1)
    state = first(reading, network)
    values = network.carry(state.expand(2, -1), edges)
    states = network.states(reading, 1, torch.tensor([0, 0]), values)
    assert not torch.allclose(states[0], states[1])


def test_null_and_stay_stand_before_the_labels(network: RelationalNetwork) -> None:
    assert (NULL, STAY, FIRST_LABEL) == (0, 1, 2)
    assert len(network.keys(torch.randn(3, WIDTH))) == 5


def test_a_question_without_a_mention_has_no_start_that_is_likelier(network: RelationalNetwork) -> None:
    question = texts(4)
    none = TokenStates(question.states, question.mask, torch.zeros(1, 2, 4, dtype=torch.bool), (False,))
    assert network.read(none).starts.exp().tolist() == [[0.5, 0.5]]
