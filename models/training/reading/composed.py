"""Passages made of the pack's facts, with questions.

Values are often exchanged and names often invented, so that only the passage tells the answer.
"""

import random
from collections.abc import Mapping, Sequence

from models.packs.pack import Fact, Pack
from models.training.kit.plan import Plan
from models.training.reading.written.texts import Question, Split, Text, split_of
from models.training.thu_ernie.question import ask_as_people_write

STATEMENTS = (3, 7)  # facts of a passage
SAME_RELATION, SAME_SUBJECT = 0.4, 0.3  # shares of the further facts that are easily taken for the right one
EXCHANGE_SHARE = 0.4  # share of passages whose values are exchanged
MISSING_SHARE = 0.25  # share of passages that do not say the answer


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

    def compose(self, rng: random.Random) -> tuple[Text, Question]:
        """Write a passage of a few statements, and ask for one of them, or for one that it lacks.

        The title is the name that is asked about.
        """
        fact = rng.choice(self._by_relation[rng.choice(self._relations)])
        facts = self._beside(fact, rng)
        values = {id(other): other.object for other in (fact, *facts)}
        if rng.random() < EXCHANGE_SHARE:
            values[id(fact)] = rng.choice(self._by_relation[fact.relation_id]).object
        is_missing = rng.random() < MISSING_SHARE
        statements = [*facts] if is_missing and facts else [fact, *facts]
        rng.shuffle(statements)
        text, start = "", None
        for other in statements:
            template = rng.choice(self._pack.relations[other.relation_id].statements)
            template = template.replace("{subject}", self._label(other))
            if other is fact:
                start = len(text) + template.index("{object}")
            text += template.replace("{object}", values[id(other)]) + " "
        name, template = self._label(fact), rng.choice(self._templates[fact.relation_id])
        question = ask_as_people_write(template, name, self._mixture, rng).text
        answer = None if start is None else values[id(fact)]
        return Text(name, text.rstrip(), ()), Question(question, answer, start, "plain")

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
