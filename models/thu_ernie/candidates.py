"""The mentions of a question, links with rows or left out with reasons, and the candidates for the mask.

Candidates are the neighbours of an entity, all known answers, or those of a request. Values of one relation of one
entity are one candidate, for no row could say which of them is meant.

Equation 5 of Zhang et al. (arXiv:1905.07129) is a softmax over dot products with the rows of candidates, among them the
zero row, which stands for no entity and has the logit 0. Here it stands for a question that no candidate answers.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from more_itertools import map_reduce
from torch import Tensor

from models.graph.knowledge import Entity, Fact, Mention
from models.kit.replies import clip
from models.kit.text import keep_longest
from models.thu_ernie.entities.table import TEXT
from models.thu_ernie.reader import FoundRow, RowFinder
from models.thu_ernie.row import OVERLAP, Link, Rejection

NO_VECTOR = "the table has no vector of this entity"
TOO_MANY = "more mentions are tried as the subject than the reader takes"


@dataclass(frozen=True)
class LinkedMention:
    """An entity that words of the question may mean."""

    link: Link  # the score is shared among the entities of one name
    entity: Entity
    row: FoundRow


@dataclass(frozen=True)
class LinkedQuestion:
    """A question with all that its words may mean."""

    text: str
    subjects: tuple[LinkedMention, ...]  # each entity that may be asked about
    rejections: tuple[Rejection, ...]  # mentions that are not read

    def links_for(self, subject: LinkedMention | None) -> list[Link]:
        """Return the links of the question if one mention means `subject`; the others take their likeliest meanings."""
        links: dict[tuple[int, int], Link] = {}
        for mention in self.subjects:
            links.setdefault((mention.link.begin, mention.link.end), mention.link)
        if subject is not None:
            links[subject.link.begin, subject.link.end] = subject.link
        return list(links.values())

    @property
    def vectors(self) -> Mapping[str, FoundRow]:
        """Return the rows by the names under which links have them."""
        return {mention.link.entity: mention.row for mention in self.subjects}


def link_question(text: str, mentions: Sequence[Mention], finder: RowFinder, limit: int) -> LinkedQuestion:
    """Give each mention its row, for at most `limit` subjects; of mentions that overlap the longest counts."""
    subjects: list[LinkedMention] = []
    rejections: list[Rejection] = []
    longest = keep_longest(mentions, lambda mention: mention)
    for mention in sorted(mentions, key=lambda mention: (mention.start - mention.end, mention.start)):
        if not any(mention is other for other in longest):
            rejections += [Rejection(link, OVERLAP) for link, _ in _links(mention)]
    for mention in longest:
        for link, entity in _links(mention):
            row = finder.of_entity(entity)
            if row is None:
                rejections.append(Rejection(link, NO_VECTOR))
            elif len(subjects) == limit:
                rejections.append(Rejection(link, TOO_MANY))
            else:
                subjects.append(LinkedMention(link, entity, row))
    return LinkedQuestion(text, tuple(subjects), tuple(rejections))


def without(question: LinkedQuestion, entity: str) -> LinkedQuestion:
    """Return the question with one entity unlinked."""
    remaining = tuple(mention for mention in question.subjects if mention.entity.id != entity)
    return replace(question, subjects=remaining)


def _links(mention: Mention) -> Iterator[tuple[Link, Entity]]:
    """Yield an entity of a name after the other, the one with the most facts first."""
    share = 1 / max(1, len(mention.entities))
    for entity in sorted(mention.entities, key=lambda entity: (-entity.degree, entity.id)):
        yield Link(entity.id, mention.start, mention.end, share), entity


NO_ROW = "neither the table nor the graph gives a row of it"
FEATURE_LIMIT = 20.0  # bound of a feature, in logits
NO_ANSWER = 0.0  # logit of the zero row


@dataclass(frozen=True)
class Candidate:
    """One possible answer."""

    answer: str
    rows: tuple[FoundRow, ...]  # rows of its objects
    entity: Entity | None = None  # whose facts it is; None where the graph does not say it
    facts: tuple[Fact, ...] = ()

    @property
    def vectors(self) -> Float[Tensor, "object size"]:
        """Return the rows of its objects as a matrix."""
        return torch.stack([row.vector for row in self.rows])

    @property
    def edits(self) -> tuple[str, ...]:
        """Return the edits that wrote its facts or its rows."""
        edits = [*(fact.edit for fact in self.facts), *(row.edit for row in self.rows)]
        return tuple(dict.fromkeys(edit for edit in edits if edit))


@dataclass(frozen=True)
class NoRow:
    """A possible answer that cannot be scored."""

    answer: str
    reason: str = NO_ROW


@dataclass(frozen=True)
class Choice:
    """The candidates that one mask may be aligned with."""

    candidates: tuple[Candidate, ...]
    exclusions: tuple[NoRow, ...] = ()


def list_neighbours(entity: Entity, subject: FoundRow | None, finder: RowFinder) -> Choice:
    """Return the values of each relation of an entity."""
    by_relation = map_reduce(entity.facts, lambda fact: fact.relation)
    candidates, exclusions = [], []
    for facts in by_relation.values():
        rows = [row for fact in facts if (row := finder.of_object(subject, fact)) is not None]
        answer = ", ".join(sorted({fact.object for fact in facts}))
        if rows:
            candidates.append(Candidate(answer, tuple(rows), entity, tuple(facts)))
        else:
            exclusions.append(NoRow(answer))
    return Choice(tuple(candidates), tuple(exclusions))


def list_texts(
    texts: Iterable[str], choices: Sequence[Choice], names: Mapping[str, str], finder: RowFinder
) -> Choice:
    """Return the candidates of a request: each is a neighbour of this name, a known answer (`names`), or its text."""
    rows = {
        fact.object.casefold(): row
        for choice in choices
        for candidate in choice.candidates
        if len(candidate.facts) == len(candidate.rows)
        for fact, row in zip(candidate.facts, candidate.rows, strict=True)
    }
    candidates, exclusions = [], []
    for text in texts:
        key = text.casefold()
        row = rows.get(key) or finder.find(names.get(key, TEXT + text))
        if row is None:
            exclusions.append(NoRow(text))
        else:
            candidates.append(Candidate(text, (row,)))
    return Choice(tuple(candidates), tuple(exclusions))


@dataclass(frozen=True)
class AlignedCandidate:
    """A candidate with its logit."""

    candidate: Candidate
    logit: float  # logarithm of the summed exponentials of its objects' dot products
    subject: int  # number of the subject whose mask it was aligned with


@dataclass(frozen=True)
class Alignment:
    """All candidates of a question, the best first; of equal ones the earlier."""

    entries: tuple[AlignedCandidate, ...]

    @property
    def features(self) -> tuple[float, float]:
        """Return the features of the best answer's confidence: its lead over no answer, and over the second."""
        best = self.entries[0].logit
        second = self.entries[1].logit if len(self.entries) > 1 else best - FEATURE_LIMIT
        return clip(best - NO_ANSWER, FEATURE_LIMIT), clip(best - second, FEATURE_LIMIT)

    def shares(self) -> tuple[list[float], float]:
        """Return the probability of each candidate, and of no answer."""
        logits = torch.tensor([*(entry.logit for entry in self.entries), NO_ANSWER], dtype=torch.float64)
        *shares, no_answer = logits.softmax(0).tolist()
        return shares, no_answer


def align(
    query: Float[Tensor, " size"], candidates: Sequence[Candidate], subject: int
) -> list[AlignedCandidate]:
    """Compare the state at a mask with the rows of candidates."""
    if not candidates:
        return []
    products = (torch.cat([candidate.vectors for candidate in candidates]) @ query).double()
    logits = [
        float(part.logsumexp(0))
        for part in torch.split(products, [len(candidate.rows) for candidate in candidates])
    ]
    pairs = zip(candidates, logits, strict=True)
    return [AlignedCandidate(candidate, logit, subject) for candidate, logit in pairs if math.isfinite(logit)]
