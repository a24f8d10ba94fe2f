"""The sentence tree: the words of a text with facts hung on them, and its shortening.

Liu et al., K-BERT, AAAI 2020 (arXiv:1909.07606), section "Knowledge layer", K-Inject. A fact has one hop: nothing
is looked up inside it. A tree that is too long gives up whole facts before text, from the end of the text backwards.
Only a text that is too long without any fact is cut, the longer one of a pair, and [CLS] and [SEP] stay.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from models.kit.text import CLS, SEP, Piece, Tokens, Word

SEPARATORS = (CLS, SEP)  # tokens that no cut may lose


class InputRefused(ValueError):
    """No sentence tree can be made of a text."""


@dataclass(frozen=True, slots=True)
class Branch:
    """A fact that hangs from a word. Its `number` is its place among all facts that the tree was grown with."""

    number: int
    text: str
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Node:
    word: Word
    pieces: tuple[Piece, ...]
    branches: tuple[Branch, ...] = ()


@dataclass(frozen=True)
class Tree:
    """The words of a text with their facts; `is_shortened` if a part of the text itself was cut off."""

    nodes: tuple[Node, ...]
    is_shortened: bool = False

    @property
    def trunk_length(self) -> int:
        """The number of tokens of the text, without its facts."""
        return sum(len(node.pieces) for node in self.nodes)

    @property
    def branches(self) -> list[Branch]:
        """The facts that are read, in the order of branches 1, 2, ... of a row."""
        return [branch for node in self.nodes for branch in node.branches]

    def __len__(self) -> int:
        """Count the tokens of the text and of all facts."""
        return self.trunk_length + sum(len(branch.pieces) for branch in self.branches)


def grow(words: Sequence[Word], facts: Sequence[Sequence[str]], tokens: Tokens) -> Tree:
    """Hang facts on words: K-Inject. A word or a fact without any token is dropped."""
    nodes: list[Node] = []
    number = 0
    for word, texts in zip(words, facts, strict=True):
        pieces = (tokens.tag(word.text),) if word.is_tag else tuple(tokens.split(word.text))
        branches = [
            Branch(index, text, tuple(tokens.split(text))) for index, text in enumerate(texts, start=number)
        ]
        number += len(texts)
        if pieces:
            nodes.append(Node(word, pieces, tuple(branch for branch in branches if branch.pieces)))
    return Tree(tuple(nodes))


def shorten(tree: Tree, max_length: int) -> Tree:
    """Shorten the tree to at most `max_length` tokens.

    A fact that alone has no room beside the text is skipped first, so that it does not push out shorter ones.

    InputRefused: not even [CLS] and [SEP] have room.
    """
    if len(tree) <= max_length:
        return tree
    room = max_length - tree.trunk_length
    fitting = [branch for branch in tree.branches if len(branch.pieces) <= room]
    excess = sum(len(branch.pieces) for branch in fitting) - room
    while excess > 0 and fitting:
        excess -= len(fitting.pop().pieces)
    numbers = {branch.number for branch in fitting}
    nodes = tuple(
        replace(node, branches=tuple(branch for branch in node.branches if branch.number in numbers))
        for node in tree.nodes
    )
    return Tree(nodes, tree.is_shortened) if room >= 0 else _cut_trunk(nodes, max_length)


def _cut_trunk(nodes: Sequence[Node], max_length: int) -> Tree:
    """Take the last token from the longest text between separators until all fit; of equal texts from the later."""
    texts: list[list[int]] = [[]]
    for index, node in enumerate(nodes):
        if node.word.is_tag and node.word.text in SEPARATORS:
            texts.append([])
        else:
            texts[-1].append(index)
    lengths = [sum(len(nodes[index].pieces) for index in text) for text in texts]
    for _ in range(sum(len(node.pieces) for node in nodes) - max_length):
        longest = max(range(len(lengths)), key=lambda text: (lengths[text], text))
        if not lengths[longest]:
            raise InputRefused(f"{' and '.join(SEPARATORS)} alone are more than {max_length} tokens")
        lengths[longest] -= 1
    sizes = [len(node.pieces) for node in nodes]
    for text, length in zip(texts, lengths, strict=True):
        for index in text:
            sizes[index] = min(sizes[index], length)
            length -= sizes[index]
    cut = (replace(node, pieces=node.pieces[:size]) for node, size in zip(nodes, sizes, strict=True) if size)
    return Tree(tuple(cut), is_shortened=True)
