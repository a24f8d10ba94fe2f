"""Pairs of questions to learn from: two questions for one fact, or for two facts whose questions resemble each other.

Pairs by other writers stand beside made pairs: templates of relations, and questions changed in one thing.
"""

import random
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from more_itertools import map_reduce

from models.packs.pack import Pack
from models.training.kit.plan import Plan
from models.training.scope.crowds.coverage import Coverage
from models.training.scope.crowds.crowd import RealCrowds
from models.training.scope.crowds.families import Families, read_families
from models.training.scope.facts import Natural, TrainingPair
from models.training.scope.names import ANY, Names
from models.training.scope.order.frames import Frames, Sort, split_figures, split_frames
from models.training.scope.relations import SUBJECT
from models.training.scope.rewrites import Rewriter
from models.training.scope.wordnet import FOLDER as WORDNET
from models.training.scope.wordnet import WordNet
from models.training.scope.written import WrittenFact
from models.training.texts.relations import RelationText

# Shares of the pairs that ask for the same; the rest differ in a slip
TEMPLATE, PARAPHRASE, DISFLUENT = 0.5, 0.35, 0.08
AS_SENTENCE = 0.8  # share of the sides of a pair whose sentences have to be completed
OTHER_NAMES = 0.4  # share of the pairs about written facts with another name
NEAR_NEAR, OTHER_SUBJECT = 0.12, 0.15  # shares of different pairs: two near questions; two subjects
FUNCTION_WORD = 0.3  # share of the different pairs about facts with a possessive, a modal and their like
FROM_PEOPLE = 0.6  # share of the changed questions that people wrote
OTHER_WORDS = 0.3  # share of the pairs with one side in other words
NOISE = 0.3  # share of the pairs with one side as people write


def read_forms() -> dict[str, list[str]]:
    """Read the sentences that are made of a relation and its names."""
    return tomllib.loads((Path(__file__).parent / "forms.toml").read_text("utf-8"))


@dataclass(frozen=True)
class Source:
    """What pairs are drawn from."""

    relations: Mapping[str, RelationText]  # relations to learn from, by id
    of_pack: Sequence[RelationText]  # relations of the pack
    facts: Sequence[WrittenFact]  # facts to learn from
    natural: Natural
    names: Names
    forms: Mapping[str, list[str]]
    rewriter: Rewriter
    families: Families
    coverage: Coverage
    real: RealCrowds
    frames: Frames
    sorts: Sequence[Sort]

    @staticmethod
    def read(
        pack: Pack,
        seed: int,
        relations: Mapping[str, RelationText],
        facts: Sequence[WrittenFact],
        sets: Path,
        wordnet: Path = WORDNET,
    ) -> "Source":
        """Read the rest beside relations and facts to learn from; `sets` is the folder of the editing sets."""
        forms = read_forms()
        names = Names(pack, "train", forms)
        return Source(
            relations,
            [relation for id, relation in relations.items() if id in pack.relations],
            facts,
            Natural(sets),
            names,
            forms,
            Rewriter(forms, WordNet(wordnet)),
            read_families(seed),
            Coverage.read(),
            RealCrowds(names.by_type),
            split_frames(seed)[0],
            split_figures(seed)[0],
        )


class Draws:
    """What makers of pairs share: a source, the numbers of the plan, and the source of chance."""

    def __init__(self, source: Source, plan: Plan, rng: random.Random) -> None:
        self.source, self.mix, self.rng = source, plan.mix, rng
        self.plan, self.names, self.rewriter = plan, source.names, source.rewriter

    def ask(self, relation: RelationText, name: str) -> str:
        """Ask for a relation of a name."""
        return self.rng.choice(relation.phrasings).replace(SUBJECT, name)

    def noisy(self, question: str, name: str = "") -> str:
        """Write some of the questions as people do; a slip may be in the name."""
        is_noisy = self.rng.random() < NOISE
        return self.rewriter.as_people_write(question, self.rng, name) if is_noisy else question


class PairMaker(Draws):
    """Draws pairs about relations, written facts, and questions of other people."""

    def __init__(self, source: Source, plan: Plan, rng: random.Random) -> None:
        super().__init__(source, plan, rng)
        rewriter, self._relations = self.rewriter, list(source.relations.values())
        self._weights = plan.different.numbers
        self._by_subject: dict[str, list[RelationText]] = map_reduce(
            self._relations, lambda relation: relation.subject
        )
        self._changes: dict[str, Callable[[str, random.Random], str | None]] = {
            "other_word": rewriter.other_word,
            "other_question_word": rewriter.other_question_word,
            "function_word": rewriter.other_function_word,
            "negation": rewriter.negate,
            "time": rewriter.at_another_time,
            "qualified": rewriter.qualify,
            "unit": rewriter.in_a_unit,
            "contained": lambda text, rng: rewriter.contain(text, self._label(), rng),
            "other_name": lambda text, rng: rewriter.other_name(text, source.natural.names, rng),
        }

    def draw(self, count: int) -> list[TrainingPair]:
        """Draw pairs in the shares of the plan."""
        mix, rng = self.mix, self.rng
        n_written = round(mix.fact_share * count)
        pairs = [
            self.same() if rng.random() < mix.same else self.different() for _ in range(count - n_written)
        ]
        pairs = [self._as_sentences(pair) if rng.random() < mix.sentences else pair for pair in pairs]
        pairs = [self._precede(pair) if rng.random() < mix.with_statement else pair for pair in pairs]
        return pairs + [self.about_written_fact(rng.random() < mix.same) for _ in range(n_written)]

    def same(self) -> TrainingPair:
        """Draw a pair that asks for the same."""
        natural, rng = self.source.natural, self.rng
        share, write = rng.random(), self.rewriter.as_people_write
        if share < TEMPLATE:
            relation, name = self._draw_fact()
            second = write(self.ask(relation, name), rng, name)
            return TrainingPair(self.ask(relation, name), second, True, "template")
        if share < TEMPLATE + PARAPHRASE:
            pair = rng.choice(natural.paraphrases)
            return replace(pair, second=write(pair.second, rng), is_same=True)
        if share < TEMPLATE + PARAPHRASE + DISFLUENT:
            return replace(rng.choice(natural.disfluent), is_same=True)
        question = rng.choice(natural.questions)
        return TrainingPair(question, write(question, rng), True, "slip")

    def different(self) -> TrainingPair:
        """Draw a pair of a kind drawn by weight; if the kind does not apply, of another one."""
        while True:
            kind = self.rng.choices(list(self._weights), list(self._weights.values()))[0]
            pair = self._different(kind)
            if pair is not None and pair.first.casefold() != pair.second.casefold():
                return pair.turn(self.rng)

    def about_written_fact(self, is_same: bool) -> TrainingPair:
        """Draw a pair about a fact that a person wrote, often with another name in its place."""
        fact = self.rng.choice(self.source.facts)
        pair = self._same_fact(fact) if is_same else self._near_fact(fact)
        if fact.names and self.rng.random() < OTHER_NAMES:
            pair = rename(pair, fact.names[0], self.names.draw(ANY, self.rng))
        return replace(pair, second=self.noisy(pair.second)).turn(self.rng)

    def _same_fact(self, fact: WrittenFact) -> TrainingPair:
        first, second = self.rng.sample(fact.wordings, 2)
        first = fact.question if second != fact.question and self.rng.random() < 0.4 else first
        return TrainingPair(first, second, True, "fact")

    def _near_fact(self, fact: WrittenFact) -> TrainingPair:
        """Draw a wording beside a question near it, two questions near it, or a wording about another subject."""
        rng = self.rng
        (kind, near), (other_kind, other) = rng.sample(fact.near, 2)
        wording = fact.question if rng.random() < 0.5 else rng.choice(fact.same)
        share = rng.random()
        changed = self.rewriter.other_function_word(rng.choice(fact.wordings), rng)
        if changed and rng.random() < FUNCTION_WORD:
            return TrainingPair(wording, changed, False, "function_word")
        if share < NEAR_NEAR and kind != other_kind:
            return TrainingPair(near, other, False, kind)
        if share > 1 - OTHER_SUBJECT and fact.names:
            text, change = rng.choice(fact.wordings), self.names.other
            if rng.random() < 0.5:
                change = self.names.alike
            elsewhere = put_name(text, fact.names[0], change(fact.names[0], ANY, rng))
            if elsewhere is not None:
                return TrainingPair(wording, elsewhere, False, "other_subject")
        return TrainingPair(wording, near, False, kind)

    def _different(self, kind: str) -> TrainingPair | None:
        natural, rng = self.source.natural, self.rng
        if kind in ("near_miss", "swapped_words"):
            return replace(rng.choice(natural.different if kind == "near_miss" else natural.swaps), kind=kind)
        if kind == "unrelated":
            return TrainingPair(self._any_question(), self._any_question(), False, kind)
        if kind in self._changes:
            question = self._any_question()
            first, changed = natural.other_words.get(question, question), self._changes[kind](question, rng)
            first = first if rng.random() < OTHER_WORDS else question
            return None if changed is None else TrainingPair(first, self.noisy(changed), False, kind)
        relation, name = self._draw_fact()
        return TrainingPair(self.ask(relation, name), self._near(kind, relation, name), False, kind)

    def _near(self, kind: str, relation: RelationText, name: str) -> str:
        rng, names, subject = self.rng, self.names, relation.subject
        if kind == "alike_name":
            return self.ask(relation, names.alike(name, subject, rng))
        if kind == "other_subject":
            return self.noisy(self.ask(relation, names.other(name, subject, rng)))
        if kind == "other_relation":
            return self.noisy(self.ask(self._mate(relation), name))
        form = rng.choice(self.source.forms[kind])
        object, other = names.draw(relation.object, rng), names.draw(subject, rng)
        parts = {"subject": name, "label": relation.label, "outer": self._label()}
        return self.noisy(form.format(object=object, other=other, **parts))

    def _mate(self, relation: RelationText) -> RelationText:
        """Draw another relation of the subject: its opposite, a relation with answers of the same kind, or any."""
        relations = self.source.relations
        opposite = [relations[id] for id in relation.opposite if id in relations]
        siblings = [other for other in self._by_subject.get(relation.subject, ()) if other is not relation]
        alike = [other for other in siblings if other.object == relation.object]
        for options in (opposite, alike):
            if options and self.rng.random() < 0.5:
                return self.rng.choice(options)
        return self.rng.choice(siblings or [r for r in self._relations if r is not relation])

    def _any_question(self) -> str:
        if self.rng.random() < FROM_PEOPLE:
            return self.rng.choice(self.source.natural.questions)
        return self.ask(*self._draw_fact())

    def _draw_fact(self) -> tuple[RelationText, str]:
        is_of_pack = self.rng.random() < self.mix.pack
        relation = self.rng.choice(self.source.of_pack if is_of_pack else self._relations)
        return relation, self.names.draw(relation.subject, self.rng)

    def _label(self) -> str:
        return self.rng.choice(self._relations).label

    def _as_sentences(self, pair: TrainingPair) -> TrainingPair:
        """Turn both sides, or at times one, into sentences to complete."""
        first, second = (
            self.rewriter.as_sentence(text) if self.rng.random() < AS_SENTENCE else text
            for text in (pair.first, pair.second)
        )
        return replace(pair, first=first, second=second)

    def _precede(self, pair: TrainingPair) -> TrainingPair:
        statement = self.rng.choice(self.source.natural.statements)
        return replace(pair, second=f"{statement} {pair.second}").turn(self.rng)


def rename(pair: TrainingPair, name: str, other: str) -> TrainingPair:
    """Replace the name in both texts. A pair that asks for the same stays as it is if a text lacks the name."""
    first, second = (put_name(text, name, other) for text in (pair.first, pair.second))
    if pair.is_same and (first is None or second is None):
        return pair
    return replace(pair, first=first or pair.first, second=second or pair.second)


def put_name(text: str, name: str, other: str) -> str | None:
    """Return the text with another name, in lower case if the first one was; None if the text lacks the name."""
    pattern = re.compile(rf"\b{re.escape(name)}\b", re.IGNORECASE)
    if not pattern.search(text):
        return None
    return pattern.sub(lambda match: other.lower() if match[0].islower() else other, text)
