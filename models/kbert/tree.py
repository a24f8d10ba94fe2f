"""The sentence tree: the words of a text with facts hung on them.

Liu et al., K-BERT, AAAI 2020 (arXiv:1909.07606), section "Knowledge layer": K-Query asks the graph for the facts
of each word, K-Inject hangs them there. One hop: nothing is looked up inside a fact.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from models.kbert.graph import Fact, Knowledge
from models.kbert.tokens import Piece, Tokens
from models.kbert.words import Word

Why = Literal["limit", "room", "empty"]
Rank = Callable[[Sequence[str], Sequence[Fact]], Sequence[float]]
"""Scores all facts of one input at once; its texts are given beside them. Higher is taken first."""


@dataclass(frozen=True, slots=True)
class Branch:
    fact: Fact
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Node:
    word: Word
    pieces: tuple[Piece, ...]
    branches: tuple[Branch, ...]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A fact that was found and is not (wholly) read.

    why: "limit", more than max_entities on this word; "room", max_length; "empty", no token is left of it.
    """

    word: Word
    fact: Fact
    why: Why


@dataclass(frozen=True)
class Tree:
    """left_out: facts that are not read. shortened: words of the text that are cut, or cut off."""

    nodes: tuple[Node, ...]
    left_out: tuple[LeftOut, ...] = ()
    shortened: tuple[Word, ...] = ()
    trunk_length: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "trunk_length", sum(len(node.pieces) for node in self.nodes))

    def __len__(self) -> int:
        """Tokens of the trunk and of all branches."""
        injected = sum(len(branch.pieces) for node in self.nodes for branch in node.branches)
        return self.trunk_length + injected

    @property
    def facts(self) -> tuple[Fact, ...]:
        """What is injected, in the order of branches 1, 2, ..."""
        return tuple(branch.fact for node in self.nodes for branch in node.branches)


def grow(
    words: Sequence[Word],
    graph: Knowledge,
    tokens: Tokens,
    max_entities: int,
    rank: Callable[[Sequence[Fact]], Sequence[float]] | None = None,
) -> Tree:
    """K-Query and K-Inject. At most `max_entities` facts a word: the first, or with `rank` the best.

    Facts of equal score stay in the order of the graph. A word of which no token is left is dropped.
    """
    found = query(words, graph)
    if rank is not None:
        found = _ranked(found, rank)
    left_out: list[LeftOut] = []
    nodes = [
        _node(word, facts, tokens, max_entities, left_out) for word, facts in zip(words, found, strict=True)
    ]
    return Tree(tuple(node for node in nodes if node.pieces), tuple(left_out))


def query(words: Sequence[Word], graph: Knowledge) -> list[Sequence[Fact]]:
    """K-Query: the facts of each word; a tag has none."""
    return [() if word.tag else graph.facts(word.key) for word in words]


def _ranked(
    found: list[Sequence[Fact]], rank: Callable[[Sequence[Fact]], Sequence[float]]
) -> list[Sequence[Fact]]:
    everything = [fact for facts in found for fact in facts]
    scores = list(rank(everything)) if everything else []
    if len(scores) != len(everything) or any(math.isnan(score) for score in scores):
        raise ValueError(f"rank must give {len(everything)} numbers, one for each fact; it gave {scores!r}")
    scored = iter(scores)
    ordered: list[Sequence[Fact]] = []
    for facts in found:
        pairs = sorted(((next(scored), fact) for fact in facts), key=lambda pair: -pair[0])
        ordered.append([fact for _, fact in pairs])
    return ordered


def _node(
    word: Word, facts: Sequence[Fact], tokens: Tokens, max_entities: int, left_out: list[LeftOut]
) -> Node:
    """K-Inject for one word."""
    pieces = (tokens.tag(word.text),) if word.tag else tuple(tokens.split(word.text))
    branches = [Branch(fact, tuple(tokens.split(fact.text))) for fact in facts[:max_entities]]
    kept = [branch for branch in branches if pieces and branch.pieces]
    left_out += [LeftOut(word, branch.fact, "empty") for branch in branches if branch not in kept]
    left_out += [LeftOut(word, fact, "limit") for fact in facts[max_entities:]]
    return Node(word, pieces, tuple(kept))
