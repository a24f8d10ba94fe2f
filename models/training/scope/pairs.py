"""Pairs of questions to learn from: two questions for one fact, or for two facts whose questions resemble each other.

Pairs by other writers stand beside made pairs: templates of relations, and questions changed in one thing.
"""

import random
import re
import tomllib
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from models.training.scope.facts import WrittenFact
from models.training.scope.names import ANY, Names
from models.training.scope.natural import Natural
from models.training.scope.plan import FOLDER, Mix
from models.training.scope.relations import SUBJECT, AskedRelation
from models.training.scope.rewrites import Rewriter

DIFFERENT = {  # weight of each kind among pairs that ask for different things
    "unrelated": 10, "near_miss": 16, "swapped_words": 3, "other_word": 8, "other_question_word": 6, "negation": 5,
    "time": 5, "qualified": 4, "contained": 5, "unit": 3, "other_name": 5, "other_relation": 20, "alike_name": 12,
    "other_subject": 8, "yes_no": 4, "reversal": 4, "why": 4, "comparison": 3, "containing": 8,
}  # fmt: skip
FORMS = ("yes_no", "reversal", "why", "comparison", "containing")
TEMPLATE, PARAPHRASE, DISFLUENT = (
    0.5,
    0.35,
    0.08,
)  # shares of the pairs that ask for the same; the rest differ in a slip
AS_SENTENCE = 0.8  # share of the sides of a pair whose sentences have to be completed
OTHER_NAMES = 0.4  # share of the pairs about written facts with another name
NEAR_NEAR, OTHER_SUBJECT = (
    0.12,
    0.15,
)  # shares of different pairs: two near questions; a wording about two subjects
FROM_PEOPLE = 0.6  # share of the changed questions that people wrote
OTHER_WORDS, NOISE = (
    0.3,
    0.3,
)  # shares of pairs with one side in other words, and with one side as people write


@dataclass(frozen=True)
class TrainingPair:
    first: str
    second: str
    is_same: bool
    kind: str

    def flip(self) -> "TrainingPair":
        return TrainingPair(self.second, self.first, self.is_same, self.kind)

    def turn(self, rng: random.Random) -> "TrainingPair":
        """Return the pair in one of its two orders."""
        return self if rng.random() < 0.5 else self.flip()


def read_forms() -> dict[str, list[str]]:
    return tomllib.loads((FOLDER / "forms.toml").read_text("utf-8"))


class PairMaker:
    """Draws pairs to learn from.

    Args:
        relations: Relations by id.
        names: Names of subjects.
        natural: Pairs and questions that other people wrote.
        facts: Written facts.
        rewriter: Changes questions in one thing.
        forms: Sentences that are made of a relation and its names.
        rng: Source of all draws.
    """

    def __init__(
        self,
        relations: Mapping[str, AskedRelation],
        names: Names,
        natural: Natural,
        facts: Sequence[WrittenFact],
        rewriter: Rewriter,
        forms: Mapping[str, list[str]],
        rng: random.Random,
    ) -> None:
        self._relations, self._names, self._natural, self._facts = relations, names, natural, facts
        self._rewriter, self._forms, self._rng = rewriter, forms, rng
        self._of_pack = [relation for relation in relations.values() if relation.is_of_pack]
        self._pack, self._weights = 0.0, dict(DIFFERENT)
        self._by_subject: dict[str, list[AskedRelation]] = defaultdict(list)
        for relation in relations.values():
            self._by_subject[relation.subject].append(relation)
        label = self._label
        self._changes: dict[str, Callable[[str], str | None]] = {
            "other_word": lambda text: rewriter.other_word(text, rng),
            "other_question_word": lambda text: rewriter.other_question_word(text, rng),
            "negation": lambda text: rewriter.negate(text, rng),
            "time": lambda text: rewriter.at_another_time(text, rng),
            "qualified": lambda text: rewriter.qualify(text, rng),
            "unit": lambda text: rewriter.in_a_unit(text, rng),
            "contained": lambda text: rewriter.contain(text, label(), rng),
            "other_name": lambda text: rewriter.other_name(text, natural.names, rng),
        }

    def draw(self, count: int, mix: Mix) -> list[TrainingPair]:
        """Draw pairs in the shares of `mix`."""
        self._pack, self._weights = mix.pack, DIFFERENT | {"other_relation": mix.other_relation}
        n_written = round(mix.fact_share * count)
        pairs = [
            self.same() if self._rng.random() < mix.same else self.different()
            for _ in range(count - n_written)
        ]
        pairs = [self._as_sentences(pair) if self._rng.random() < mix.sentences else pair for pair in pairs]
        pairs = [self._precede(pair) if self._rng.random() < mix.with_statement else pair for pair in pairs]
        return pairs + [self.about_written_fact(self._rng.random() < mix.same) for _ in range(n_written)]

    def same(self) -> TrainingPair:
        share = self._rng.random()
        if share < TEMPLATE:
            relation, name = self._draw_fact()
            second = self._rewriter.as_people_write(self._ask(relation, name), self._rng, name)
            return TrainingPair(self._ask(relation, name), second, True, "template")
        if share < TEMPLATE + PARAPHRASE:
            pair = self._rng.choice(self._natural.paraphrases)
            return TrainingPair(
                pair.first, self._rewriter.as_people_write(pair.second, self._rng), True, pair.kind
            )
        if share < TEMPLATE + PARAPHRASE + DISFLUENT:
            pair = self._rng.choice(self._natural.disfluent)
            return TrainingPair(pair.first, pair.second, True, pair.kind)
        question = self._rng.choice(self._natural.questions)
        return TrainingPair(question, self._rewriter.as_people_write(question, self._rng), True, "slip")

    def different(self) -> TrainingPair:
        """Draw a pair of a kind drawn by weight; if the kind does not apply, of another one."""
        while True:
            kind = self._rng.choices(list(self._weights), list(self._weights.values()))[0]
            pair = self._different(kind)
            if pair is not None and pair.first.casefold() != pair.second.casefold():
                return pair.turn(self._rng)

    def about_written_fact(self, is_same: bool) -> TrainingPair:
        """Draw a pair about a fact that a person wrote, often with another name in its place."""
        fact = self._rng.choice(self._facts)
        pair = self._same_fact(fact) if is_same else self._near_fact(fact)
        if fact.names and self._rng.random() < OTHER_NAMES:
            pair = rename(pair, fact.names[0], self._names.draw(ANY, self._rng))
        pair = replace(pair, second=self._noisy(pair.second))
        return pair.turn(self._rng)

    def _same_fact(self, fact: WrittenFact) -> TrainingPair:
        first, second = self._rng.sample(fact.wordings, 2)
        first = fact.question if second != fact.question and self._rng.random() < 0.4 else first
        return TrainingPair(first, second, True, "fact")

    def _near_fact(self, fact: WrittenFact) -> TrainingPair:
        """Draw a wording beside a question near it, two questions near it, or a wording about another subject."""
        (kind, near), (other_kind, other) = self._rng.sample(fact.near, 2)
        wording = fact.question if self._rng.random() < 0.5 else self._rng.choice(fact.same)
        share = self._rng.random()
        if share < NEAR_NEAR and kind != other_kind:
            return TrainingPair(near, other, False, kind)
        if share > 1 - OTHER_SUBJECT and fact.names:
            elsewhere = _put_name(
                self._rng.choice(fact.wordings), fact.names[0], self._other_name(fact.names[0])
            )
            if elsewhere is not None:
                return TrainingPair(wording, elsewhere, False, "other_subject")
        return TrainingPair(wording, near, False, kind)

    def _other_name(self, name: str) -> str:
        is_alike = self._rng.random() < 0.5
        return (self._names.alike if is_alike else self._names.other)(name, ANY, self._rng)

    def _different(self, kind: str) -> TrainingPair | None:
        if kind in ("near_miss", "swapped_words"):
            natural = self._natural.different if kind == "near_miss" else self._natural.swaps
            pair = self._rng.choice(natural)
            return TrainingPair(pair.first, pair.second, pair.is_same, kind)
        if kind == "unrelated":
            return TrainingPair(self._any_question(), self._any_question(), False, kind)
        if kind in self._changes:
            question = self._any_question()
            first = self._natural.other_words.get(question, question)
            changed = self._changes[kind](question)
            first = first if self._rng.random() < OTHER_WORDS else question
            return None if changed is None else TrainingPair(first, self._noisy(changed), False, kind)
        relation, name = self._draw_fact()
        return TrainingPair(self._ask(relation, name), self._near(kind, relation, name), False, kind)

    def _near(self, kind: str, relation: AskedRelation, name: str) -> str:
        if kind == "alike_name":
            return self._ask(relation, self._names.alike(name, relation.subject, self._rng))
        if kind == "other_subject":
            return self._noisy(self._ask(relation, self._names.other(name, relation.subject, self._rng)))
        if kind == "other_relation":
            return self._noisy(self._ask(self._mate(relation), name))
        form = self._rng.choice(self._forms[kind])
        names = [self._names.draw(type, self._rng) for type in (relation.object, relation.subject)]
        parts = {"subject": name, "label": relation.label, "outer": self._label()}
        return self._noisy(form.format(object=names[0], other=names[1], **parts))

    def _mate(self, relation: AskedRelation) -> AskedRelation:
        """Draw another relation of the subject: its opposite, a relation with answers of the same kind, or any."""
        opposite = [self._relations[id] for id in relation.opposite if id in self._relations]
        siblings = [other for other in self._by_subject[relation.subject] if other is not relation]
        alike = [other for other in siblings if other.object == relation.object]
        for options in (opposite, alike):
            if options and self._rng.random() < 0.5:
                return self._rng.choice(options)
        return self._rng.choice(siblings or [r for r in self._relations.values() if r is not relation])

    def _any_question(self) -> str:
        if self._rng.random() < FROM_PEOPLE:
            return self._rng.choice(self._natural.questions)
        return self._ask(*self._draw_fact())

    def _draw_fact(self) -> tuple[AskedRelation, str]:
        is_of_pack = self._rng.random() < self._pack
        relation = self._rng.choice(self._of_pack if is_of_pack else list(self._relations.values()))
        return relation, self._names.draw(relation.subject, self._rng)

    def _ask(self, relation: AskedRelation, name: str) -> str:
        return self._rng.choice(relation.phrasings).replace(SUBJECT, name)

    def _label(self) -> str:
        return self._rng.choice(list(self._relations.values())).label

    def _noisy(self, question: str) -> str:
        is_noisy = self._rng.random() < NOISE
        return self._rewriter.as_people_write(question, self._rng) if is_noisy else question

    def _as_sentences(self, pair: TrainingPair) -> TrainingPair:
        """Turn both sides, or at times one, into sentences to complete."""
        first, second = (
            self._rewriter.as_sentence(text) if self._rng.random() < AS_SENTENCE else text
            for text in (pair.first, pair.second)
        )
        return TrainingPair(first, second, pair.is_same, pair.kind)

    def _precede(self, pair: TrainingPair) -> TrainingPair:
        statement = self._rng.choice(self._natural.statements)
        with_statement = TrainingPair(pair.first, f"{statement} {pair.second}", pair.is_same, pair.kind)
        return with_statement if self._rng.random() < 0.5 else with_statement.flip()


def rename(pair: TrainingPair, name: str, other: str) -> TrainingPair:
    """Replace the name in both texts. A pair that asks for the same stays as it is if a text lacks the name."""
    first, second = (_put_name(text, name, other) for text in (pair.first, pair.second))
    if pair.is_same and (first is None or second is None):
        return pair
    return replace(pair, first=first or pair.first, second=second or pair.second)


def _put_name(text: str, name: str, other: str) -> str | None:
    """Return the text with another name, in lower case if the first one was; None if the text lacks the name."""
    pattern = re.compile(rf"\b{re.escape(name)}\b", re.IGNORECASE)
    if not pattern.search(text):
        return None
    return pattern.sub(lambda match: other.lower() if match[0].islower() else other, text)
