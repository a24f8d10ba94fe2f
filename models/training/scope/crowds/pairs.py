"""Training pairs of look-alike names, of relations that stand side by side, and of words that a fact may lack."""

import random
from collections.abc import Callable, Sequence

from more_itertools import map_reduce

from models.training.kit.plan import Plan
from models.training.scope.crowds.coverage import SUBJECT as GAP
from models.training.scope.crowds.crowd import Crowd, draw_crowd, two_of
from models.training.scope.crowds.same_name import same_name
from models.training.scope.facts import TrainingPair
from models.training.scope.pairs import Draws, Source
from models.training.texts.relations import RelationText

OF_TYPE = 0.7  # share of the crowds that are asked about relations of their type
ONE_WORDING = 0.35  # share of two names that are asked about in one wording
OTHER_SPELLING = 0.35  # share of the names that are written otherwise
FROM_CROWD = 0.5  # share of the names of families and of covered words that are of crowds
SIMPLE = [
    "What is the {label} of {name}?",
    "Who is the {label} of {name}?",
    "{label} of {name}",
    "{name} {label}",
]
IN_SIMPLE_WORDS = 0.12  # share of the questions that are made of the relation's label


class CrowdPairs(Draws):
    """Draws such pairs."""

    def __init__(self, source: Source, plan: Plan, rng: random.Random) -> None:
        super().__init__(source, plan, rng)
        self._every = [*source.relations.values(), *source.families.relations.values()]
        self._by_type = map_reduce(self._every, lambda relation: relation.subject)

    def draw(self, count: int) -> list[TrainingPair]:
        """Draw pairs of each kind in the shares of the plan, which are of all pairs of the training."""
        mix = self.mix
        kinds: dict[Callable[[bool], TrainingPair], float] = {
            self.about_names: mix.crowds,
            self.about_relations: mix.families,
            self.about_words: mix.coverage,
        }
        makers = self.rng.choices(list(kinds), list(kinds.values()), k=count)
        return [make(self.rng.random() < mix.same) for make in makers]

    def about_names(self, is_same: bool) -> TrainingPair:
        """Draw a pair about one name of a crowd, at times in two spellings, or about two."""
        rng, crowd = self.rng, draw_crowd(self.rng, self.source.real)
        relation = self._relation_for(crowd)
        name, other = two_of(crowd, rng)
        spelling = other if not is_same else name
        if rng.random() < OTHER_SPELLING:
            spelling = same_name(spelling, crowd, rng)
        first = self._ask_beside(relation, name)
        is_one_wording = not is_same and rng.random() < ONE_WORDING
        second = (
            first.replace(name, spelling) if is_one_wording else self._ask_beside(relation, spelling, first)
        )
        kind = "same_name" if is_same else "crowd"
        return TrainingPair(first, self.noisy(second, spelling if is_same else ""), is_same, kind).turn(rng)

    def about_relations(self, is_same: bool) -> TrainingPair:
        """Draw a pair about one relation of a family, or about two that stand side by side."""
        types, ids = self.rng.choice([group for group in self.source.families.groups if len(group[1]) > 1])
        first, other = (self.source.families.relations[id] for id in self.rng.sample(ids, 2))
        name = self._name(self.rng.choice(types))
        question = self._ask_beside(first, name)
        second = self._ask_beside(first if is_same else other, name, question)
        return TrainingPair(question, self.noisy(second), is_same, "family").turn(self.rng)

    def about_words(self, is_same: bool) -> TrainingPair:
        """Draw a pair of questions for one thing, or of two that one word tells apart."""
        question = self.rng.choice(self.source.coverage.questions)
        name = self._name(self.rng.choice(question.types))
        first, second = (
            text.replace(GAP, name) for text in self.source.coverage.ask(question, self.rng, is_same=is_same)
        )
        return TrainingPair(first, self.noisy(second), is_same, "covered").turn(self.rng)

    def _relation_for(self, crowd: Crowd) -> RelationText:
        options: Sequence[RelationText] = ()
        if self.rng.random() < OF_TYPE:
            options = [relation for type in crowd.types for relation in self._by_type.get(type, ())]
        return self.rng.choice(options or self._every)

    def _name(self, type: str) -> str:
        if self.rng.random() < FROM_CROWD:
            return self.names.draw(type, self.rng)
        return self.rng.choice(draw_crowd(self.rng, self.source.real).names)

    def _ask_beside(self, relation: RelationText, name: str, beside: str = "") -> str:
        """Ask for a relation of a name, if possible in other words than `beside`."""
        question = self._word(relation, name)
        return self._word(relation, name) if question == beside else question

    def _word(self, relation: RelationText, name: str) -> str:
        if self.rng.random() < IN_SIMPLE_WORDS:
            return self.rng.choice(SIMPLE).format(label=relation.label, name=name)
        return self.ask(relation, name)
