"""A sentence tree as one row of tokens: soft positions, branches, anchors and segments.

Liu et al., K-BERT, AAAI 2020 (arXiv:1909.07606), section "Embedding layer". A fact counts on from its word, and
each fact of a word begins at the same position; the sentence counts on as if there were no facts.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import torch
from jaxtyping import Int
from torch import Tensor

from models.attention.visible import TRUNK
from models.kbert.errors import InputRefused
from models.kbert.tags import SEP
from models.kbert.tree import Tree

Kind = Literal["single", "pair", "tagging"]


@dataclass(frozen=True, slots=True)
class Token:
    """position: the soft one. branch, anchor: see models/attention/visible.py.

    start, end: characters of the text (of part `part`), or of the fact's text, that it stands for; both -1 for a
    tag that no text contains.
    """

    text: str
    id: int
    position: int
    branch: int
    anchor: int
    start: int
    end: int
    part: int
    tag: bool

    @property
    def injected(self) -> bool:
        return self.branch != TRUNK


@dataclass(frozen=True)
class Row:
    """One input of the model; its order is the hard index. tree: what it was made of, and what was left out."""

    tokens: tuple[Token, ...]
    segments: tuple[int, ...]
    tree: Tree
    kind: Kind
    texts: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.tokens)

    @cached_property
    def table(self) -> Int[Tensor, "token 5"]:
        """Id, position, segment, branch and anchor of each token: what a batch is made of."""
        tokens = zip(self.tokens, self.segments, strict=True)
        return torch.tensor([(t.id, t.position, s, t.branch, t.anchor) for t, s in tokens])


def row(tree: Tree, kind: Kind, texts: tuple[str, ...] = ()) -> Row:
    """InputRefused when a pair has more separators than two."""
    tokens = tuple(flatten(tree))
    return Row(tokens, tuple(segments(tokens, kind)), tree, kind, texts)


def flatten(tree: Tree) -> Iterator[Token]:
    """Word, its facts one after the other, next word."""
    last, branch = -1, TRUNK
    for anchor, node in enumerate(tree.nodes):
        word = node.word
        for piece in node.pieces:
            last += 1
            start, end = _place(word.places, piece.start, piece.end)
            yield Token(piece.text, piece.id, last, TRUNK, anchor, start, end, word.part, word.tag)
        for hung in node.branches:
            branch += 1
            for position, piece in enumerate(hung.pieces, start=last + 1):
                span = piece.start, piece.end
                yield Token(piece.text, piece.id, position, branch, anchor, *span, word.part, False)


def segments(tokens: Sequence[Token], kind: Kind) -> Iterator[int]:
    """BERT's segments, from 1: in a pair 2 follows the first [SEP]. An injected token takes the running one."""
    running = 1
    for token in tokens:
        if running > 2:
            raise InputRefused(f"a pair has two {SEP}, and {token.text!r} follows the second")
        yield running
        if kind == "pair" and token.tag and token.text == SEP:
            running += 1


def _place(places: Sequence[int], start: int, end: int) -> tuple[int, int]:
    """From characters of the word to characters of its text."""
    if not places or end <= start:
        return -1, -1
    return places[start], places[end - 1] + 1
