"""Documents made of the pack's facts, whose questions need other segments.

There are three kinds beside plain ones: `alias`, where a document gives names to its subjects at the start and states
facts under these names much later, side by side; `steps`, where a question describes its subject by a fact that is
stated elsewhere; and `unanswerable`, where only the fact is missing. Paragraphs of documents written by hand stand
between. Facts under given names are false: their values are exchanged, so that only the text has them.
"""

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from more_itertools import flatten, map_reduce

from models.packs.pack import Entity, Pack, Relation
from models.training.reading.written.texts import Question, Split, Text, read_texts, split_of
from models.training.texts.phrasings import Phrasings, read_phrasings, without

HANDS = {"train": (1,), "choose": (2,), "test": (3,)}  # writers whose phrasings each split uses
INTRODUCTIONS = (
    "In these notes {subject} is called {alias}.",
    "{alias} is the name under which {subject} appears below.",
    "For short, {subject} will be {alias}.",
    "Wherever {alias} is written, {subject} is meant.",
)
SYLLABLES = ("ba", "del", "fo", "gri", "ka", "lun", "mar", "nes", "or", "pel", "ri", "sto", "ta", "vin", "zu")
SUBJECTS = 3  # subjects that share a relation in one document
PLAIN_FACTS = 5  # facts under their own names
STATED_SHARE = 0.75  # share of questions in steps whose second fact the document states
MOST_FILLER = 700  # characters of a filler
# The fewest and the most paragraphs that have nothing to do with a document's facts: before the first clue, and again
# behind the last fact, of a document that is trained on, of an exam, and of some 2,000 tokens
SHORT, MIDDLE, LONG = (0, 1), (1, 3), (12, 15)
BETWEEN = (0, 1)  # paragraphs between clues and facts, which are at most some five segments apart


@dataclass(frozen=True)
class Fact:
    """A subject's only value of a relation."""

    subject: Entity
    relation: Relation
    value: str
    value_id: str | None


@dataclass(frozen=True)
class World:
    """The material of one split's documents."""

    by_relation: Mapping[str, Sequence[Fact]]  # facts about the split's subjects
    by_subject: Mapping[str, Sequence[Fact]]  # the same facts
    phrasings: Mapping[str, Phrasings]  # ways to ask, by relation
    fillers: Sequence[str]  # paragraphs of documents of the split

    def ask(self, relation: Relation, subject: str, rng: random.Random) -> str:
        """Return a question for a relation of a subject, in one of the split's phrasings."""
        return rng.choice(self.phrasings[relation.id].questions).replace("{subject}", subject)

    def part(self, number: int, count: int) -> "World":
        """Return one of several parts without a common subject, so that their documents agree with each other."""
        by_subject = {
            id: facts for place, (id, facts) in enumerate(self.by_subject.items()) if place % count == number
        }
        by_relation = map_reduce(flatten(by_subject.values()), lambda fact: fact.relation.id)
        return replace(self, by_relation=by_relation, by_subject=by_subject)


def build_world(pack: Pack, split: Split) -> World:
    """Collect the facts whose subject belongs to a split and has one value only."""
    values: dict[tuple[str, str], list[Fact]] = defaultdict(list)
    for fact in pack.facts:
        relation = pack.relations[fact.relation_id]
        entry = Fact(pack.entities[fact.subject_id], relation, fact.object, fact.object_id)
        values[fact.subject_id, fact.relation_id].append(entry)
    single = [
        group[0] for (subject, _), group in values.items() if len(group) == 1 and split_of(subject) == split
    ]
    by_relation, by_subject = defaultdict(list), defaultdict(list)
    for entry in single:
        by_relation[entry.relation.id].append(entry)
        by_subject[entry.subject.id].append(entry)
    phrasings = read_phrasings(HANDS[split])
    if split != "train":
        phrasings = without(phrasings, read_phrasings(HANDS["train"]))
    paragraphs = [part for text in read_texts(split) for part in text.text.split("\n\n")]
    fillers = [part for part in paragraphs if 80 < len(part) < MOST_FILLER]
    return World(by_relation, by_subject, phrasings, fillers)


class Draft:
    """A text that grows, and the places of the facts stated in it."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.questions: list[Question] = []
        self.length = 0

    def add(self, text: str) -> int:
        """Append a piece and return where it begins."""
        start = self.length
        self.parts.append(text)
        self.length += len(text)
        return start

    def state(self, fact: Fact, name: str, rng: random.Random) -> int:
        """Append a sentence that states a fact under a name, and return where its value begins."""
        template = rng.choice(fact.relation.statements)
        before = template.split("{object}")[0].replace("{subject}", name)
        start = self.add(template.replace("{subject}", name).replace("{object}", fact.value) + " ")
        return start + len(before)

    def fill(self, world: World, bounds: tuple[int, int], rng: random.Random) -> None:
        """Append paragraphs that have nothing to do with the facts."""
        count = min(rng.randint(*bounds), len(world.fillers))
        self.add("\n\n" + "\n\n".join(rng.sample(world.fillers, count)) + "\n\n")


def compose_long(world: World, n_parts: int, rng: random.Random) -> Text:
    """Write one document of some 2,500 tokens a part; each part is about other subjects."""
    texts = [compose(world.part(number, n_parts), LONG, rng) for number in range(n_parts)]
    parts: list[str] = []
    questions: list[Question] = []
    length = 0
    for text in texts:
        questions += [question.shift(length) for question in text.questions]
        parts.append(text.text + "\n\n")
        length += len(parts[-1])
    return Text("Notes", "".join(parts), tuple(questions))


def compose(world: World, around: tuple[int, int], rng: random.Random) -> Text:
    """Write one document with some ten questions."""
    draft = Draft()
    plain = [rng.choice(rng.choice(list(world.by_subject.values()))) for _ in range(PLAIN_FACTS)]
    steps = draw_steps(world, rng)
    facts, missing = draw_aliased(world, rng)
    aliases = {fact.subject.id: invent(rng) for fact in [*facts, missing]}
    draft.fill(world, around, rng)
    for fact in rng.sample([*facts, missing], SUBJECTS + 1):
        introduction = rng.choice(INTRODUCTIONS).replace("{alias}", aliases[fact.subject.id])
        draft.add(introduction.replace("{subject}", fact.subject.label) + " ")
    if steps:
        draft.state(steps[0], steps[0].subject.label, rng)
    draft.fill(world, BETWEEN, rng)
    add_plain(draft, world, plain, rng)
    for fact in rng.sample(facts, SUBJECTS):
        start = draft.state(fact, aliases[fact.subject.id], rng)
        question = world.ask(fact.relation, fact.subject.label, rng)
        draft.questions.append(Question(question, fact.value, start, "alias"))
    question = world.ask(missing.relation, missing.subject.label, rng)
    draft.questions.append(Question(question, None, None, "unanswerable"))
    if steps:
        add_steps(draft, world, *steps, rng)
    draft.fill(world, around, rng)
    return Text("Notes", "".join(draft.parts), tuple(draft.questions))


def draw_aliased(world: World, rng: random.Random) -> tuple[list[Fact], Fact]:
    """Draw facts of one relation with exchanged values, and one more that the document will not state."""
    while True:
        facts = rng.choice(list(world.by_relation.values()))
        by_value = {fact.value: fact for fact in rng.sample(facts, min(len(facts), 40))}
        by_subject = {fact.subject.id: fact for fact in by_value.values()}
        if len(by_subject) > SUBJECTS:
            *group, missing = rng.sample(list(by_subject.values()), SUBJECTS + 1)
            values = rng.sample([fact.value for fact in group], SUBJECTS)
            return [replace(fact, value=value) for fact, value in zip(group, values, strict=True)], missing


def draw_steps(world: World, rng: random.Random) -> tuple[Fact, Fact] | None:
    """Draw a fact and a fact about its value, or None if the draw meets no such pair soon."""
    for _ in range(200):
        first = rng.choice(rng.choice(list(world.by_subject.values())))
        following = world.by_subject.get(first.value_id or "", ())
        if following and world.phrasings[first.relation.id].nouns:
            return first, rng.choice(following)
    return None


def add_plain(draft: Draft, world: World, facts: Sequence[Fact], rng: random.Random) -> None:
    """State facts under their own names, and ask for them and for one that is not stated."""
    for fact in facts:
        start = draft.state(fact, fact.subject.label, rng)
        draft.questions.append(
            Question(world.ask(fact.relation, fact.subject.label, rng), fact.value, start, "plain")
        )
    in_text = {(fact.subject.id, fact.relation.id) for fact in facts}
    relation = rng.choice(facts).relation
    subject = rng.choice(facts).subject
    if (subject.id, relation.id) not in in_text:
        question = world.ask(relation, subject.label, rng)
        draft.questions.append(Question(question, None, None, "unanswerable"))


def add_steps(draft: Draft, world: World, first: Fact, second: Fact, rng: random.Random) -> None:
    """Ask for the second fact by the first, which was stated before; the second is sometimes left out."""
    noun = rng.choice(world.phrasings[first.relation.id].nouns).replace("{subject}", first.subject.label)
    question = world.ask(second.relation, noun, rng)
    if rng.random() < STATED_SHARE:
        start = draft.state(second, second.subject.label, rng)
        draft.questions.append(Question(question, second.value, start, "steps"))
    else:
        draft.questions.append(Question(question, None, None, "unanswerable"))


def invent(rng: random.Random) -> str:
    """Make a name that does not exist."""
    return "".join(rng.choice(SYLLABLES) for _ in range(rng.randint(2, 3))).capitalize()
