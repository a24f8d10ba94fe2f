"""From text to rows: the one place where a text, a graph and the limits of a deployment meet.

specs/kbert.md, section 3.1: a single text is [CLS] a, without a last [SEP]; a pair is [CLS] a [SEP] b [SEP]; a
text to tag stands alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from models.kbert.config import ReadingConfig
from models.kbert.errors import InputRefused
from models.kbert.graph import NO_GRAPH, Fact, Knowledge
from models.kbert.row import Kind, Row, row
from models.kbert.tags import CLS, KEPT, SEP
from models.kbert.tokens import Tokens
from models.kbert.tree import Rank, Tree, grow
from models.kbert.truncate import blind, trunk_first
from models.kbert.words import Segmenter, Word, tag


@dataclass(frozen=True)
class Reader:
    """Reads texts with one graph. `rank`, when given, chooses the facts of a word instead of their order."""

    config: ReadingConfig
    tokens: Tokens
    segment: Segmenter
    graph: Knowledge
    rank: Rank | None = None

    def single(self, text: str) -> Row:
        """[CLS] text. InputRefused when it is empty."""
        return self._read([tag(CLS), *self.segment(text)], "single", (text,))

    def pair(self, first: str, second: str) -> Row:
        """[CLS] first [SEP] second [SEP]. InputRefused when one is empty."""
        later = [replace(word, part=1) for word in self.segment(second)]
        words = [tag(CLS), *self.segment(first), tag(SEP), *later, tag(SEP, part=1)]
        return self._read(words, "pair", (first, second))

    def tagging(self, text: str) -> Row:
        """The bare text. InputRefused when it is empty."""
        return self._read(self.segment(text), "tagging", (text,))

    def without_graph(self) -> "Reader":
        """The same reader as a plain BERT's; words are still found."""
        return replace(self, graph=NO_GRAPH)

    def _read(self, words: Sequence[Word], kind: Kind, texts: tuple[str, ...]) -> Row:
        tree = grow(words, self.graph, self.tokens, self.config.max_entities, self._ranked_for(texts))
        _check(tree, texts)
        if self.config.truncate == "blind":
            return blind(row(tree, kind, texts), self.config.max_length)
        return row(trunk_first(tree, self.config.max_length), kind, texts)

    def _ranked_for(self, texts: tuple[str, ...]) -> Callable[[Sequence[Fact]], Sequence[float]] | None:
        rank = self.rank
        return None if rank is None else lambda facts: rank(texts, facts)


def _check(tree: Tree, texts: tuple[str, ...]) -> None:
    read = {node.word.part for node in tree.nodes if node.word.text not in KEPT or not node.word.tag}
    for part, text in enumerate(texts):
        if part not in read:
            which = "the text" if len(texts) == 1 else ("the first text", "the second text")[part]
            raise InputRefused(f"{which} is empty: {text[:40]!r} holds no token")
