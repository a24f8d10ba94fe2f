"""The mentions of a question: links with rows, or left out with reasons."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from models.graph.knowledge import Entity, Mention
from models.kit.names import keep_longest
from models.thu_ernie.align import OVERLAP, Link, Rejection
from models.thu_ernie.finder import FoundRow, RowFinder

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
