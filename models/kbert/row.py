"""A sentence tree as one row of tokens, and rows as one block of tensors.

Liu et al., K-BERT, AAAI 2020 (arXiv:1909.07606), sections "Embedding layer" (soft positions) and "Seeing layer" (the
visible matrix). A fact counts on from its word, and each fact of a word begins at the same position; the sentence
counts on as if there were no facts. The hard-position index of the paper is the place of a token in its row.

Padding is [PAD] at the last position of the block. It sees no token and no token sees it, so it changes none.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from models.kbert.query import InjectedRelation, Link
from models.kbert.tree import InputRefused, Tree, grow, shorten
from models.kit.text import CLS, SEP, Tokens, Word

TRUNK = 0  # the branch of the sentence itself; facts are branches 1, 2, ...


def visible(
    branch: Int[Tensor, "*batch token"], anchor: Int[Tensor, "*batch token"]
) -> Bool[Tensor, "*batch query key"]:
    """Return True where `query` may attend to `key` (equation 4). Symmetric, and every token sees itself.

    A fact hangs from one word of the sentence. Its tokens see each other and that word and nothing else, so an
    injected fact cannot bend the meaning of the rest of the sentence.
    """
    query, key = branch[..., :, None], branch[..., None, :]
    same_word = anchor[..., :, None] == anchor[..., None, :]
    on_trunk = (query == TRUNK) | (key == TRUNK)
    return (query == key) | (same_word & on_trunk)


@dataclass(frozen=True, slots=True)
class Token:
    """A token of a row."""

    text: str
    id: int
    position: int  # its soft position
    branch: int  # see `visible`
    anchor: int  # see `visible`
    # First of the characters that it stands for, in the text (part `part`) or in its fact; -1 for a tag
    start: int
    end: int  # character behind the last one
    part: int
    is_tag: bool

    @property
    def is_injected(self) -> bool:
        return self.branch != TRUNK


@dataclass(frozen=True)
class Row:
    """One input of the encoder. Segments are BERT's, from 1; in a pair 2 follows the first [SEP], through all facts."""

    tokens: tuple[Token, ...]
    segments: tuple[int, ...]
    tree: Tree

    def __len__(self) -> int:
        return len(self.tokens)

    @cached_property
    def table(self) -> Int[Tensor, "token 5"]:
        """The id, position, segment, branch and anchor of each token; a batch is made of these."""
        pairs = zip(self.tokens, self.segments, strict=True)
        return torch.tensor([(token.id, token.position, s, token.branch, token.anchor) for token, s in pairs])


def lay_out(tree: Tree, is_pair: bool) -> Row:
    """Lay the tree out as a row: word, its facts one after the other, next word."""
    tokens: list[Token] = []
    last_position, branch = -1, TRUNK
    for anchor, node in enumerate(tree.nodes):
        word, start = node.word, node.word.start
        for piece in node.pieces:
            last_position += 1
            span = (-1, -1) if word.is_tag else (start + piece.start, start + piece.end)
            tokens.append(
                Token(piece.text, piece.id, last_position, TRUNK, anchor, *span, word.part, word.is_tag)
            )
        for fact in node.branches:
            branch += 1
            tokens += [
                Token(
                    piece.text, piece.id, position, branch, anchor, piece.start, piece.end, word.part, False
                )
                for position, piece in enumerate(fact.pieces, start=last_position + 1)
            ]
    ends = [place for place, token in enumerate(tokens) if token.is_tag and token.text == SEP]
    first_end = ends[0] if is_pair and ends else len(tokens)
    return Row(tuple(tokens), tuple(1 if place <= first_end else 2 for place in range(len(tokens))), tree)


@dataclass(frozen=True)
class QuestionRow:
    """A question with its facts as a row, alone or beside a second text."""

    row: Row
    relations: tuple[InjectedRelation, ...]  # relations that are read, in the order of branches 1, 2, ..

    @cached_property
    def objects(self) -> list[tuple[int, int]]:
        """The first and last place in the row of each relation's object; (0, 0) for an object that was cut off."""
        begins = [len(relation.text) - len(relation.values[0].object) for relation in self.relations]
        objects = [(0, 0)] * len(self.relations)
        for place, token in enumerate(self.row.tokens):
            index = token.branch - 1
            if token.is_injected and token.start >= begins[index]:
                objects[index] = (objects[index][0] or place, place)
        return objects


def build_row(
    question: str, second: str | None, links: Sequence[Link], tokens: Tokens, max_length: int
) -> QuestionRow:
    """Build the sentence tree of a question: [CLS] question, or [CLS] question [SEP] second [SEP].

    The text between two mentions is one word: trunk tokens all see each other, so longer words change nothing.

    InputRefused: a text holds no token.
    """
    words, position = [Word(CLS, is_tag=True)], 0
    facts: list[list[str]] = [[]]  # facts of each word
    for link in links:
        words.append(Word(question[position : link.start], position))
        words.append(Word(question[link.start : link.end], link.start))
        facts += [[], [relation.text for relation in link.relations]]
        position = link.end
    words.append(Word(question[position:], position))
    if second is not None:
        words += [Word(SEP, is_tag=True), Word(second, 0, part=1), Word(SEP, part=1, is_tag=True)]
    tree = shorten(grow(words, facts + [[]] * (len(words) - len(facts)), tokens), max_length)
    if len({node.word.part for node in tree.nodes if not node.word.is_tag}) < (1 if second is None else 2):
        raise InputRefused("the question, a candidate or the context holds no token")
    row = lay_out(tree, second is not None)
    all_relations = [relation for link in links for relation in link.relations]
    relations = tuple(all_relations[branch.number] for branch in tree.branches)
    return QuestionRow(row, relations)


@dataclass(frozen=True)
class Batch:
    """Rows of different lengths."""

    ids: Int[Tensor, "batch token"]
    positions: Int[Tensor, "batch token"]
    segments: Int[Tensor, "batch token"]  # segment of each token, 0 at padding
    branch: Int[Tensor, "batch token"]  # see `visible`; TRUNK at padding
    anchor: Int[Tensor, "batch token"]  # see `visible`; 0 at padding
    is_real: Bool[Tensor, "batch token"]  # false at padding
    visible: Bool[Tensor, "batch query key"]  # true where a query may attend to a key


def collate(
    rows: Sequence[Row], padding: int, length: int | None = None, device: torch.device | str = "cpu"
) -> Batch:
    """Pad the rows with the id `padding` to `length`, or to the longest of them."""
    length = max(map(len, rows)) if length is None else length
    lengths = torch.tensor([len(row) for row in rows], device=device)
    is_real = torch.arange(length, device=device) < lengths[:, None]
    block = torch.tensor([padding, length - 1, 0, TRUNK, 0], device=device).repeat(len(rows), length, 1)
    block[is_real] = torch.cat([row.table for row in rows]).to(device)
    ids, positions, segments, branch, anchor = block.unbind(-1)
    return Batch(
        ids=ids,
        positions=positions,
        segments=segments,
        branch=branch,
        anchor=anchor,
        is_real=is_real,
        visible=visible(branch, anchor) & is_real[:, :, None] & is_real[:, None, :],
    )
