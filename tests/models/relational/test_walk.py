"""Walks: a weight is the product of its hops, facts of one label are walked together, and the beam bounds the work."""

from dataclasses import replace

import pytest
import torch

from models.relational.network import RelationalNetwork
from models.relational.question import mask_mentions
from models.relational.subgraph import EntityNeighbours, Subgraph, build_subgraph
from models.relational.walk import Field, Labels, Search, Searcher
from tests.models.relational.conftest import TINY, WORLD
from tests.models.training.relational.toy import reader


def search(graph: Subgraph, beams: int = 64) -> Search:
    """Search with random weights; the rules of walks do not depend on training."""
    torch.manual_seed(1)
    network = RelationalNetwork(replace(TINY, beams=beams)).requires_grad_(False)
    reading = network.read(reader().read([mask_mentions("What is this?", [])]))
    labels = Labels.of(reader().label_vectors({edge.fact.label: None for edge in graph.edges}), network)
    field = Field(graph, frozenset(range(len(graph.edges))), ((0, 0),))
    [result] = Searcher(network, reading, [field], labels).search()
    return result


@pytest.fixture
def norway(graph: EntityNeighbours) -> Subgraph:
    return build_subgraph(graph, [WORLD["norway"]], TINY)


def test_the_weights_of_all_walks_add_up_to_one(norway: Subgraph) -> None:
    result = search(norway)
    total = sum(walk.weight for walk in (*result.finished, *result.broken))
    assert total == pytest.approx(1, abs=1e-5)


def test_the_weight_of_a_walk_is_at_most_the_product_of_its_hops(norway: Subgraph) -> None:
    for walk in search(norway).finished:
        product = 1.0
        for step in walk.steps:
            product *= step.weight
        assert walk.weight <= product + 1e-6
        assert (walk.weight == pytest.approx(product, abs=1e-6)) or len(walk.steps) < TINY.hops


def test_facts_of_one_label_are_walked_together(norway: Subgraph) -> None:
    walks = {tuple(step.label for step in walk.steps): walk for walk in search(norway).finished}
    labels = [norway.nodes[node].label for node in walks["neighbours", "languages"].nodes]
    assert labels == ["Swedish", "Finnish"]
    assert {norway.nodes[node].label for node in walks["neighbours",].nodes} == {"SWEDEN", "FINLAND"}


def test_no_walk_ends_where_it_starts_without_a_fact(norway: Subgraph) -> None:
    assert all(walk.steps for walk in search(norway).finished)


def test_the_beam_bounds_the_walks_of_each_hop(norway: Subgraph) -> None:
    wide, narrow = search(norway), search(norway, beams=1)
    assert len(narrow.finished) < len(wide.finished)
    assert narrow.finished[0].weight <= wide.finished[0].weight + 1e-6


def test_an_edge_that_is_not_allowed_is_no_option(norway: Subgraph) -> None:
    field = Field(norway, frozenset(range(1, len(norway.edges))), ((0, 0),))
    assert "capital" not in field.options(0)
    assert "capital" in Field(norway, frozenset(range(len(norway.edges))), ((0, 0),)).options(0)


def test_each_label_has_the_row_of_its_own_vector_whichever_was_read_before() -> None:
    network = RelationalNetwork(TINY).requires_grad_(False)
    reader().label_vectors(["river mouth"])
    vectors = reader().label_vectors(["mountain range", "river mouth"])
    labels = Labels.of(vectors, network)
    for label in ("mountain range", "river mouth"):
        alone = Labels.of(reader().label_vectors([label]), network)
        assert torch.equal(labels.keys[labels.rows[label]], alone.keys[-1])
