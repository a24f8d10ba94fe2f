"""Passages made of the pack's facts, with questions.

Values are often exchanged and names often invented, so that only the passage tells the answer.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from models.packs.pack import Fact, Pack
from models.training.kit.plan import Plan
from models.training.reading.written.texts import Split, split_of
from models.training.thu_ernie.question import Question, ask, ask_as_people_write

STATEMENTS = (3, 7)  # facts of a passage
SAME_RELATION, SAME_SUBJECT = 0.4, 0.3  # shares of the further facts that are easily taken for the right one
EXCHANGE_SHARE = 0.4  # share of passages whose values are exchanged
MISSING_SHARE = 0.25  # share of passages that do not say the answer


@dataclass(frozen=True)
class Passage:
    """A passage with a question."""

    text: str  # the passage
    question: Question  # the question; its name is empty if it mentions no known one
    name: str  # the name in it
    entity: str  # entity of the name, "" if unknown
    # First character of the answer and the one behind it; None if the passage does not say
    answer: tuple[int, int] | None

    @property
    def expected(self) -> str | None:
        """Return the answer."""
        return None if self.answer is None else self.text[slice(*self.answer)]


class PassageMaker:
    """Composes passages of the facts whose subjects belong to a split.

    `templates` are ways to ask, by relation; `mixture` has the shares of slips.
    """

    def __init__(
        self, pack: Pack, templates: Mapping[str, Sequence[str]], mixture: Plan, split: Split
    ) -> None:
        self._pack, self._templates, self._mixture = pack, templates, mixture
        self._facts = [fact for fact in pack.facts if split_of(fact.subject_id) == split]
        self._by_relation: dict[str, list[Fact]] = {}
        self._by_subject: dict[str, list[Fact]] = {}
        for fact in self._facts:
            self._by_relation.setdefault(fact.relation_id, []).append(fact)
            self._by_subject.setdefault(fact.subject_id, []).append(fact)
        self._relations = [relation for relation in self._by_relation if relation in templates]

    def compose(self, rng: random.Random, slips: bool = True) -> Passage:
        """Write a passage of a few statements, and ask for one of them, or for one that it lacks."""
        fact = rng.choice(self._by_relation[rng.choice(self._relations)])
        facts = self._beside(fact, rng)
        values = {id(other): other.object for other in (fact, *facts)}
        if rng.random() < EXCHANGE_SHARE:
            values[id(fact)] = rng.choice(self._by_relation[fact.relation_id]).object
        is_missing = rng.random() < MISSING_SHARE
        statements = [*facts] if is_missing and facts else [fact, *facts]
        rng.shuffle(statements)
        text, answer = "", None
        for other in statements:
            template = rng.choice(self._pack.relations[other.relation_id].statements)
            template = template.replace("{subject}", self._label(other))
            if other is fact:
                begin = len(text) + template.index("{object}")
                answer = (begin, begin + len(values[id(other)]))
            text += template.replace("{object}", values[id(other)]) + " "
        name, template = self._label(fact), rng.choice(self._templates[fact.relation_id])
        question = ask_as_people_write(template, name, self._mixture, rng) if slips else ask(template, name)
        return Passage(text.rstrip(), question, name, fact.subject_id, answer)

    def _label(self, fact: Fact) -> str:
        return self._pack.entities[fact.subject_id].label

    def _beside(self, fact: Fact, rng: random.Random) -> list[Fact]:
        """Return other facts: of the same relation, of the same subject, or any."""
        facts: dict[tuple[str, str], Fact] = {}
        for _ in range(rng.randint(*STATEMENTS) - 1):
            draw = rng.random()
            if draw < SAME_RELATION:
                other = rng.choice(self._by_relation[fact.relation_id])
            elif draw < SAME_RELATION + SAME_SUBJECT:
                other = rng.choice(self._by_subject[fact.subject_id])
            else:
                other = rng.choice(self._facts)
            facts[other.subject_id, other.relation_id] = other
        facts.pop((fact.subject_id, fact.relation_id), None)
        return list(facts.values())
