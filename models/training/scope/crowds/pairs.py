"""Training pairs of look-alike names, of relations that stand side by side, and of words that a fact may lack."""

import random
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from models.training.scope.crowds.coverage import SUBJECT as GAP
from models.training.scope.crowds.coverage import Coverage
from models.training.scope.crowds.crowd import Crowd, RealCrowds, draw_crowd, two_of
from models.training.scope.crowds.families import Families
from models.training.scope.crowds.same_name import same_name
from models.training.scope.names import Names
from models.training.scope.pairs import TrainingPair
from models.training.scope.plan import Mix
from models.training.scope.relations import SUBJECT, AskedRelation
from models.training.scope.rewrites import Rewriter

OF_TYPE = 0.7  # share of the crowds that are asked about relations of their type
ONE_WORDING = 0.35  # share of two names that are asked about in one wording
OTHER_SPELLING = 0.35  # share of the names that are written otherwise
FROM_CROWD = 0.5  # share of the names of families and of covered words that are of crowds
NOISE = 0.3  # share of the second sides that are written as people write
SIMPLE = (
    "What is the {label} of {name}?",
    "Who is the {label} of {name}?",
    "{label} of {name}",
    "{name} {label}",
)
IN_SIMPLE_WORDS = 0.12  # share of the questions that are made of the relation's label


class CrowdPairs:
    """Draws such pairs.

    Args:
        relations: Relations to ask crowds for, by id.
        families: Relations that stand side by side.
        coverage: Questions with a word that a fact may lack.
        names: Names of subjects.
        real: Crowds of real names.
        rewriter: Writes questions as people write them.
        rng: Source of all draws.
    """

    def __init__(
        self,
        relations: Mapping[str, AskedRelation],
        families: Families,
        coverage: Coverage,
        names: Names,
        real: RealCrowds,
        rewriter: Rewriter,
        rng: random.Random,
    ) -> None:
        self._families, self._coverage, self._names, self._real = families, coverage, names, real
        self._rewriter, self._rng = rewriter, rng
        self._every = [*relations.values(), *families.relations.values()]
        self._by_type: dict[str, list[AskedRelation]] = defaultdict(list)
        for relation in self._every:
            self._by_type[relation.subject].append(relation)

    def draw(self, count: int, mix: Mix) -> list[TrainingPair]:
        """Draw pairs of each kind in the shares of `mix`, which are of all pairs of the training."""
        kinds: dict[Callable[[bool], TrainingPair], float] = {
            self.about_names: mix.crowds,
            self.about_relations: mix.families,
            self.about_words: mix.coverage,
        }
        makers = self._rng.choices(list(kinds), list(kinds.values()), k=count)
        return [make(self._rng.random() < mix.same) for make in makers]

    def about_names(self, is_same: bool) -> TrainingPair:
        """Draw a pair about one name of a crowd, at times in two spellings, or about two."""
        rng, crowd = self._rng, draw_crowd(self._rng, self._real)
        relation = self._relation_for(crowd)
        name, other = two_of(crowd, rng)
        spelling = other if not is_same else name
        if rng.random() < OTHER_SPELLING:
            spelling = same_name(spelling, crowd, rng)
        first = self._ask(relation, name)
        is_one_wording = not is_same and rng.random() < ONE_WORDING
        second = first.replace(name, spelling) if is_one_wording else self._ask(relation, spelling, first)
        kind = "same_name" if is_same else "crowd"
        return TrainingPair(first, self._noisy(second, spelling if is_same else ""), is_same, kind).turn(rng)

    def about_relations(self, is_same: bool) -> TrainingPair:
        """Draw a pair about one relation of a family, or about two that stand side by side."""
        types, ids = self._rng.choice([group for group in self._families.groups if len(group[1]) > 1])
        first, other = (self._families.relations[id] for id in self._rng.sample(ids, 2))
        name = self._name(self._rng.choice(types))
        question = self._ask(first, name)
        second = self._ask(first if is_same else other, name, question)
        return TrainingPair(question, self._noisy(second), is_same, "family").turn(self._rng)

    def about_words(self, is_same: bool) -> TrainingPair:
        """Draw a pair of questions for one thing, or of two that one word tells apart."""
        question = self._rng.choice(self._coverage.questions)
        name = self._name(self._rng.choice(question.types))
        first, second = (
            text.replace(GAP, name) for text in self._coverage.ask(question, self._rng, is_same=is_same)
        )
        return TrainingPair(first, self._noisy(second), is_same, "covered").turn(self._rng)

    def _relation_for(self, crowd: Crowd) -> AskedRelation:
        options: Sequence[AskedRelation] = ()
        if self._rng.random() < OF_TYPE:
            options = [relation for type in crowd.types for relation in self._by_type.get(type, ())]
        return self._rng.choice(options or self._every)

    def _name(self, type: str) -> str:
        if self._rng.random() < FROM_CROWD:
            return self._names.draw(type, self._rng)
        return self._rng.choice(draw_crowd(self._rng, self._real).names)

    def _ask(self, relation: AskedRelation, name: str, beside: str = "") -> str:
        """Ask for a relation of a name, if possible in other words than `beside`."""
        question = self._word(relation, name)
        return self._word(relation, name) if question == beside else question

    def _word(self, relation: AskedRelation, name: str) -> str:
        if self._rng.random() < IN_SIMPLE_WORDS:
            return self._rng.choice(SIMPLE).format(label=relation.label, name=name)
        return self._rng.choice(relation.phrasings).replace(SUBJECT, name)

    def _noisy(self, question: str, name: str = "") -> str:
        is_noisy = self._rng.random() < NOISE
        return self._rewriter.as_people_write(question, self._rng, name) if is_noisy else question
