"""A question with its chosen facts as a row: the sentence tree of one question, alone or beside a second text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from models.kbert.choice import Chosen, Hung
from models.kbert.config import ReadingConfig
from models.kbert.errors import InputRefused
from models.kbert.graph import Fact
from models.kbert.row import Row, row
from models.kbert.tags import CLS, SEP
from models.kbert.tokens import Tokens
from models.kbert.tree import grow
from models.kbert.truncate import trunk_first
from models.kbert.words import Word, tag


@dataclass(frozen=True)
class Planted:
    """objects[i]: first and last place in the row of the object of hung[i], which is read as a whole or not at all."""

    row: Row
    hung: tuple[Hung, ...]
    objects: tuple[tuple[int, int], ...]

    @property
    def shortened(self) -> bool:
        return bool(self.row.tree.shortened)


@dataclass(frozen=True)
class _Facts:
    """K-Query was answered before: the facts of each mention by its number."""

    of: Mapping[str, Sequence[Fact]]

    def facts(self, key: str) -> Sequence[Fact]:
        return self.of.get(key, ())


def plant(
    question: str, second: str | None, chosen: Sequence[Chosen], tokens: Tokens, config: ReadingConfig
) -> Planted:
    """InputRefused when a text holds no token."""
    words = [tag(CLS), *_words(question, chosen)]
    if second is not None:
        words += [tag(SEP), replace(_chunk(second, 0, len(second), ""), part=1), tag(SEP, part=1)]
    facts = _Facts({str(n): [hung.branch for hung in one.hung] for n, one in enumerate(chosen)})
    tree = trunk_first(grow(words, facts, tokens, config.max_entities), config.max_length)
    read = {node.word.part for node in tree.nodes if not node.word.tag}
    if len(read) < (1 if second is None else 2):
        raise InputRefused("the question, a candidate or the context holds no token")
    texts = (question,) if second is None else (question, second)
    made = row(tree, "single" if second is None else "pair", texts)
    by_branch = {id(hung.branch): hung for one in chosen for hung in one.hung}
    return Planted(made, tuple(by_branch[id(fact)] for fact in tree.facts), _objects(made))


def _words(question: str, chosen: Sequence[Chosen]) -> list[Word]:
    """Mentions, and what stands between them. Trunk tokens all see each other, so longer words change nothing."""
    words: list[Word] = []
    at = 0
    for number, one in enumerate(chosen):
        words += [_chunk(question, at, one.start, ""), _chunk(question, one.start, one.end, str(number))]
        at = one.end
    words.append(_chunk(question, at, len(question), ""))
    return [word for word in words if word.text]


def _chunk(text: str, start: int, end: int, key: str) -> Word:
    return Word(text[start:end], key, range(start, end))


def _objects(made: Row) -> tuple[tuple[int, int], ...]:
    """For each branch the places of the tokens behind its label."""
    facts = made.tree.facts
    begins = [len(fact.text) - len(fact.triple.object) for fact in facts]
    first, last = [0] * len(facts), [0] * len(facts)
    for place, token in enumerate(made.tokens):
        if token.branch and token.start >= begins[token.branch - 1]:
            first[token.branch - 1] = first[token.branch - 1] or place
            last[token.branch - 1] = place
    return tuple(zip(first, last, strict=True))
