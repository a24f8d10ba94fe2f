"""What is given up when a sentence tree is too long (specs/kbert.md, section 3.4).

`trunk_first` gives up facts before it gives up text: whole facts, from the end of the text backwards. Only a text
that is too long without any fact is cut, of a pair the longer one, and [CLS] and [SEP] stay. `blind` cuts the row
as the authors do, through facts and separators alike; it is there for parity.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from models.kbert.errors import InputRefused
from models.kbert.row import Row
from models.kbert.tags import KEPT
from models.kbert.tree import Branch, LeftOut, Node, Tree

Truncate = Literal["trunk_first", "blind"]


def trunk_first(tree: Tree, max_length: int) -> Tree:
    """The tree with at most `max_length` tokens, and with what that took in its report.

    A fact that alone has no room beside the text is skipped first, so that it does not push out shorter ones.
    InputRefused when not even [CLS] and [SEP] have room.
    """
    excess = len(tree) - max_length
    if excess <= 0:
        return tree
    room = max_length - tree.trunk_length
    hung = [branch for node in tree.nodes for branch in node.branches]
    fitting = [branch for branch in hung if len(branch.pieces) <= room]
    excess -= sum(len(branch.pieces) for branch in hung) - sum(len(branch.pieces) for branch in fitting)
    while excess > 0 and fitting:
        excess -= len(fitting.pop().pieces)
    return _cut_trunk(_with_only(tree, fitting), max_length)


def blind(row: Row, max_length: int) -> Row:
    """The first `max_length` tokens of the row, whatever they are."""
    if len(row) <= max_length:
        return row
    lost = row.tokens[max_length:]
    hurt = {token.branch for token in lost if token.injected}
    gone = {token.anchor for token in lost if not token.injected}
    found = [(node.word, branch.fact) for node in row.tree.nodes for branch in node.branches]
    left_out = [LeftOut(*pair, "room") for number, pair in enumerate(found, start=1) if number in hurt]
    words = [row.tree.nodes[anchor].word for anchor in sorted(gone)]
    tree = replace(
        row.tree,
        left_out=(*row.tree.left_out, *left_out),
        shortened=(*row.tree.shortened, *words),
    )
    return replace(row, tokens=row.tokens[:max_length], segments=row.segments[:max_length], tree=tree)


def _with_only(tree: Tree, kept: Sequence[Branch]) -> Tree:
    ids = {id(branch) for branch in kept}
    nodes: list[Node] = []
    left_out = list(tree.left_out)
    for node in tree.nodes:
        nodes.append(replace(node, branches=tuple(hung for hung in node.branches if id(hung) in ids)))
        left_out += [LeftOut(node.word, hung.fact, "room") for hung in node.branches if id(hung) not in ids]
    return replace(tree, nodes=tuple(nodes), left_out=tuple(left_out))


def _cut_trunk(tree: Tree, max_length: int) -> Tree:
    """The longest text loses its last token until all of them fit; a tie falls on the later one."""
    if tree.trunk_length <= max_length:
        return tree
    texts = _texts(tree.nodes)
    lengths = [sum(len(tree.nodes[place].pieces) for place in text) for text in texts]
    for _ in range(tree.trunk_length - max_length):
        longest = max(range(len(lengths)), key=lambda text: (lengths[text], text), default=None)
        if longest is None or not lengths[longest]:
            raise InputRefused(f"{' and '.join(KEPT)} alone are more than {max_length} tokens")
        lengths[longest] -= 1
    sizes = [len(node.pieces) for node in tree.nodes]
    for text, length in zip(texts, lengths, strict=True):
        for place in text:
            sizes[place] = min(sizes[place], length)
            length -= sizes[place]
    return _resized(tree, sizes)


def _texts(nodes: Sequence[Node]) -> list[list[int]]:
    """Places of the nodes between [CLS] and [SEP], which no cut may touch."""
    texts: list[list[int]] = [[]]
    for place, node in enumerate(nodes):
        if node.word.tag and node.word.text in KEPT:
            texts.append([])
        else:
            texts[-1].append(place)
    return [text for text in texts if text]


def _resized(tree: Tree, sizes: Sequence[int]) -> Tree:
    """Each word with so many tokens only; a word with none goes."""
    pairs = list(zip(tree.nodes, sizes, strict=True))
    shortened = [node.word for node, size in pairs if size < len(node.pieces)]
    nodes = [replace(node, pieces=node.pieces[:size]) for node, size in pairs if size]
    return replace(tree, nodes=tuple(nodes), shortened=(*tree.shortened, *shortened))
