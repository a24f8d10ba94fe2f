"""The training text: documents of questions with their answers and of statements, made of a pack's facts.

A document is about one subject: it asks for a fact or states it, and may continue with other facts of the same
subject. Each epoch has one document for each fact, in newly drawn phrasings. A document never has a fact twice, for a
second mention could be copied from the first one and would teach nothing.
"""

import random
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Literal

from more_itertools import map_reduce
from tokenizers import Tokenizer

from models.backpack.speller import write_exchange
from models.packs.pack import Pack
from models.system import Ask
from models.training.kit.exam import Question
from models.training.kit.plan import Plan
from models.training.texts.phrasings import leave_out, read_phrasings
from models.training.texts.pieces import learn_pieces

Split = Literal["trained", "other", "held", "choosing", "test"]
SPLITS: tuple[Split, ...] = ("trained", "other", "held", "choosing", "test")


def learn_tokenizer(texts: Iterable[str], size: int) -> Tokenizer:
    """Learn a tokenizer whose end of a text is id 0; the end of a line is one piece."""
    return learn_pieces(texts, size, ["<|end|>"], starts_with_space=False)


class Texts:
    """The texts of a pack; the seed is that of all draws."""

    def __init__(self, pack: Pack, plan: Plan, seed: int) -> None:
        self._plan, self._seed, self._pack = plan, seed, pack
        self.items = tuple(pack.items())
        self._trained_phrasings, self._test_phrasings = (
            read_phrasings(plan.hands),
            read_phrasings(plan.held_hands),
        )

    def documents(self, epoch: int) -> list[str]:
        """Return the documents of one epoch, the one of each fact at the fact's place."""
        return [
            self._document(place, random.Random(f"{self._seed} {epoch} {place}"))
            for place in range(len(self.items))
        ]

    def questions(self, split: Split, limit: int) -> list[Question]:
        """Return questions of a test, at most `limit`, always the same.

        The splits are `trained`, phrasings that the fact was trained with; `other`, those that only other facts were
        trained with; `held`, the pack's held phrasings, which are near-copies of trained ones; `choosing`, the held
        writers' phrasings of every second relation; and `test`, those of the other relations.
        """
        rng = random.Random(f"{self._seed} {split}")
        places = [place for place in range(len(self.items)) if self._is_in(place, split)]
        sample = rng.sample(places, min(limit, len(places)))
        return [self._question(place, rng.choice(self.ways(place, split))) for place in sample]

    def strangers(self, split: Literal["tune", "test"], limit: int) -> list[Question]:
        """Return questions about names that the pack does not hold, in held phrasings."""
        rng = random.Random(f"{self._seed} strangers {split}")
        strangers = [stranger for stranger in self._pack.strangers if stranger.split == split]
        sample = rng.sample(strangers, min(limit, len(strangers)))
        held_phrasings = [rng.choice(self._pack.relations[s.relation_id].held_out) for s in sample]
        return [
            Question(Ask(phrasing.replace("{subject}", stranger.subject)), None)
            for phrasing, stranger in zip(held_phrasings, sample, strict=True)
        ]

    def _document(self, place: int, rng: random.Random) -> str:
        subject = self._by_subject[self.items[place].subject.id]
        further = [other for other in rng.sample(subject, len(subject)) if other != place]
        places = [place]
        while further and len(places) < self._plan.longest and rng.random() < self._plan.p_continue:
            places.append(further.pop())
        rng.shuffle(places)
        return "".join(self._line(other, rng) for other in places)

    def _line(self, place: int, rng: random.Random) -> str:
        item = self.items[place]
        if rng.random() < self._plan.p_statement:
            statement = rng.choice(item.relation.statements)
            return statement.replace("{subject}", item.subject.label).replace("{object}", item.answer) + "\n"
        question = rng.choice(self.ways(place, "trained")).replace("{subject}", item.subject.label)
        return write_exchange(question, item.answer)

    def _question(self, place: int, phrasing: str) -> Question:
        item = self.items[place]
        return Question(Ask(phrasing.replace("{subject}", item.subject.label)), item.answer)

    def _is_sparse(self, place: int) -> bool:
        return place % int(self._plan.sparse) == 0

    def _is_in(self, place: int, split: Split) -> bool:
        if split == "other":
            return self._is_sparse(place)
        if split in ("choosing", "test"):
            return self._relations.index(self.items[place].relation.id) % 2 == (split == "test")
        return True

    def ways(self, place: int, split: Split) -> Sequence[str]:
        """Return the phrasings of a fact in one split."""
        relation = self.items[place].relation
        every = (*relation.phrasings, *self._trained_phrasings[relation.id].questions)
        if split in ("held", "choosing", "test"):
            ways = relation.held_out if split == "held" else self._test_phrasings[relation.id].questions
            return leave_out(ways, every)
        if not self._is_sparse(place):
            return every
        return every[1::2] if split == "other" else every[::2]

    @cached_property
    def _relations(self) -> list[str]:
        return sorted({item.relation.id for item in self.items})

    @cached_property
    def _by_subject(self) -> dict[str, list[int]]:
        """The places of each subject's facts."""
        return map_reduce(range(len(self.items)), lambda place: self.items[place].subject.id)
