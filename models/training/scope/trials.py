"""Trials of the judge: active edits, and questions with the edit that each asks for.

QAEdit and CounterFact are read from the folder of the editing sets. Facts are made of relations and names that no
weight was trained on. Near questions, by a writer who has not seen the judge's training, come from a file with one
JSON object a line: `edit`, `question`, `follows`, `kind`.
"""

import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path

import torch
from errata.wire.wording import normalize_question
from jaxtyping import Int
from more_itertools import map_reduce
from torch import Tensor

from models.packs.pack import Entity, Pack
from models.scope.active import NO_EDIT
from models.scope.spelling import resembling
from models.training.scope.crowds.crowd import Crowd
from models.training.scope.relations import SUBJECT, ById
from models.training.scope.rewrites import misspell
from models.training.scope.written import WrittenFact, read_groups, read_rows
from models.training.texts.relations import RelationText

FOLLOWS, OTHER_FACT = "follows", "unrelated"
SAME_SUBJECT, PLAIN_FACT = "same subject, other relation", "unedited fact"
ABSENT, OTHER_OF_NAME = "absent name", "another fact of the name"
NEIGHBOUR = "another name one letter away"
SUBJECTS = 12  # subjects of each type
MIN_LETTERS = 6  # letters of a word that is misspelt
FOLDER = Path(__file__).parent
NEAR, CROWDS = FOLDER / "near.jsonl", FOLDER / "crowds" / "open.jsonl"
N_CROWDS = 40  # crowds that a judge is chosen by
REPEATS = FOLDER / "repeats.txt"  # digests of questions, since the sets must not be copied


@dataclass(frozen=True)
class TrialQuestion:
    """A question with the place of the edit that it asks for, None if no edit may answer."""

    text: str
    edit: int | None
    kind: str


@dataclass
class Trial:
    """Edits that are active at once, with questions."""

    name: str
    edits: list[str] = field(default_factory=list)  # question that each edit was made with
    questions: list[TrialQuestion] = field(default_factory=list)
    # That question with other names, for each edit; () if none are known
    other_names: Sequence[tuple[str, ...]] = ()

    def edit(self, text: str, paraphrases: Iterable[str]) -> None:
        """Add an edit, and questions that ask for it."""
        self.questions += [TrialQuestion(question, len(self.edits), FOLLOWS) for question in paraphrases]
        self.edits.append(text)

    def ask(self, kind: str, texts: Iterable[str]) -> None:
        """Add questions that no edit may answer."""
        self.questions += [TrialQuestion(text, None, kind) for text in texts]

    @property
    def wordings(self) -> list[tuple[str, ...]]:
        """Wordings of each edit."""
        other_names = self.other_names or ((),) * len(self.edits)
        return [(edit, *names) for edit, names in zip(self.edits, other_names, strict=True)]

    @cached_property
    def expected_edits(self) -> Int[Tensor, " question"]:
        """Edit of each question; NO_EDIT if no edit may answer."""
        return torch.tensor([NO_EDIT if q.edit is None else q.edit for q in self.questions])


def read_qaedit(sets: Path) -> Trial:
    """Read the open half of QAEdit."""
    rows = read_rows(sets / "qaedit.open.jsonl")
    other_questions = [other["question"] for row in rows for other in row["unrelated"]]
    return _from_set("QAEdit", [(row["question"], row["paraphrase"]) for row in rows], other_questions)


def read_counterfact(sets: Path) -> Trial:
    """Read the open half of CounterFact."""
    rows = read_rows(sets / "counterfact.open.jsonl")
    pairs = [(row["prompt"], row["paraphrase"]) for row in rows]
    return _from_set("CounterFact", pairs, [row["neighbour"] for row in rows])


def _from_set(name: str, edits: Sequence[tuple[str, str]], other_questions: Sequence[str]) -> Trial:
    """Make a trial of edits, each a question and a paraphrase, and of other questions.

    A question is left out if it asks for another edit of the set, word for word or in the judgement of a person.
    """
    repeats = {*REPEATS.read_text("utf-8").split(), *(_digest(question) for question, _ in edits)}
    trial = Trial(name)
    for question, paraphrase in edits:
        trial.edit(question, [paraphrase])
    trial.ask(OTHER_FACT, (text for text in other_questions if _digest(text) not in repeats))
    return trial


def _digest(question: str) -> str:
    return sha256(normalize_question(question).encode()).hexdigest()[:16]


def read_near() -> Trial:
    """Read near questions by a writer who had not seen what the judge learns from."""
    rows = read_rows(NEAR)
    places = {edit: place for place, edit in enumerate(dict.fromkeys(row["edit"] for row in rows))}
    questions = [
        TrialQuestion(row["question"], places[row["edit"]] if row["follows"] else None, row["kind"])
        for row in rows
    ]
    return Trial("near questions", list(places), questions)


def read_crowds() -> Trial:
    """Read crowds of names by another hand: some are edited, and all are asked about."""
    rows, trial = read_rows(CROWDS), Trial("crowds of names")
    for row in rows:
        if "question" in row:
            trial.edit(row["question"], row["paraphrases"])
            trial.ask(OTHER_OF_NAME, row["others"])
    trial.ask(ABSENT, (text for row in rows for text in row.get("absent", ())))
    return trial


def edit_crowds(relations: ById, draw: Callable[[random.Random], Crowd], seed: int) -> Trial:
    """Draw crowds of names, edit a relation of half of each crowd's names, and ask about all of them."""
    rng, trial = random.Random(seed), Trial("crowds for choosing")
    for crowd in (draw(rng) for _ in range(N_CROWDS)):
        names = [*{name.casefold(): name for name in crowd.names}.values()]
        relation, other = rng.sample([*relations.values()], 2)
        for place, name in enumerate(names):
            first, *further = (text.replace(SUBJECT, name) for text in rng.sample(relation.phrasings, 3))
            extra = rng.choice(other.phrasings).replace(SUBJECT, name)
            if place < len(names) // 2:
                trial.edit(first, further)
                trial.ask(OTHER_OF_NAME, [extra])
            else:
                trial.ask(ABSENT, further)
    return trial


def read_groups_trial(sets: Path) -> Trial:
    """Read the 75 groups that thresholds are chosen on: `near.open.jsonl` of the editing sets."""
    return ask_written(read_groups([sets / "near.open.jsonl"]), "near groups")


def edit_half(relations: ById, names: Sequence[str], seed: int) -> Trial:
    """Edit half of the facts: each other fact has edited facts of its subject and of its relation beside it."""
    facts = _make_facts(relations, names, seed)
    edited_places = set(random.Random(seed).sample(range(len(facts)), len(facts) // 2))
    return _ask_facts("half of the facts edited", facts, edited_places)


def edit_one_each(relations: ById, names: Sequence[str], seed: int) -> Trial:
    """Edit one fact of each subject."""
    facts, rng = _make_facts(relations, names, seed), random.Random(seed)
    by_name = map_reduce(range(len(facts)), lambda place: facts[place][1])
    return _ask_facts("one fact of each subject edited", facts, {rng.choice(p) for p in by_name.values()})


def ask_written(facts: Sequence[WrittenFact], name: str = "written facts") -> Trial:
    """Edit every fact by its question, and ask for it in the other ways and for facts near it."""
    trial = Trial(name)
    for fact in facts:
        trial.edit(fact.question, fact.same)
        trial.questions += [TrialQuestion(text, None, kind) for kind, text in fact.near]
    return trial


def misspell_names(relations: ById, names: Sequence[str], seed: int) -> Trial:
    """Edit every fact, and ask for it with a wrong letter in a word of the name with MIN_LETTERS or more."""
    rng, slips = random.Random(seed), list[tuple[RelationText, str, str]]()
    for relation, name in _make_facts(relations, names, seed):
        if words := re.findall(rf"[^\W\d_]{{{MIN_LETTERS},}}", name):
            slips.append((relation, name, name.replace(word := rng.choice(words), misspell(word, rng), 1)))
    return _ask_otherwise("one letter wrong in a name", slips, rng)


def ask_neighbours(relations: ById, names: Sequence[str], seed: int) -> Trial:
    """Edit a fact of one of two real names that a letter tells apart, and ask for the other's."""
    rng, trial = random.Random(seed), Trial("another real name one letter away")
    by_spelling = {name.casefold(): name for name in names}
    pairs = sorted(
        (name, by_spelling[other])
        for spelling, name in by_spelling.items()
        for other in resembling(spelling)
        if spelling < other and other in by_spelling
    )
    for name, other in pairs:
        phrasings = rng.choice([*relations.values()]).phrasings
        trial.edit(phrasings[0].replace(SUBJECT, name), ())
        trial.ask(NEIGHBOUR, (phrasing.replace(SUBJECT, other) for phrasing in phrasings))
    return trial


def ask_by_alias(relations: ById, pack: Pack, seed: int) -> Trial:
    """Edit facts of the pack's entities, and ask for them by another name that the graph has.

    An edit holds for every name of the graph, as the editor makes it.
    """
    rng = random.Random(seed)
    by_type: dict[str, list[Entity]] = defaultdict(list)
    for entity in pack.entities.values():
        if entity.aliases:
            by_type[entity.type].append(entity)
    facts = [
        (relation, entity)
        for relation in relations.values()
        for entity in rng.sample(by_type[relation.subject], min(SUBJECTS, len(by_type[relation.subject])))
    ]
    aliases = [(relation, entity.label, rng.choice(entity.aliases)) for relation, entity in facts]
    other_names = tuple(
        tuple(relation.phrasings[0].replace(SUBJECT, alias) for alias in entity.aliases)
        for relation, entity in facts
    )
    return replace(_ask_otherwise("another name of the graph", aliases, rng), other_names=other_names)


def _ask_otherwise(name: str, facts: Sequence[tuple[RelationText, str, str]], rng: random.Random) -> Trial:
    """Make a trial of facts that are edited under one name and asked for under another."""
    trial = Trial(name)
    for relation, label, other in facts:
        question = rng.choice(relation.phrasings).replace(SUBJECT, other)
        trial.edit(relation.phrasings[0].replace(SUBJECT, label), [question])
    return trial


def _make_facts(relations: ById, names: Sequence[str], seed: int) -> list[tuple[RelationText, str]]:
    """Join every relation with SUBJECTS names of each type of subject, which are dealt from `names`."""
    by_subject = map_reduce(relations.values(), lambda relation: relation.subject)
    free_names = iter(random.Random(seed).sample(list(names), len(names)))
    return [
        (relation, name)
        for type in sorted(by_subject)
        for name in [next(free_names) for _ in range(SUBJECTS)]
        for relation in by_subject[type]
    ]


def _ask_facts(name: str, facts: Sequence[tuple[RelationText, str]], edited_places: Set[int]) -> Trial:
    """Make each edit with one phrasing of its relation, and ask for every fact in the others."""
    trial, edited_names = Trial(name), {facts[place][1] for place in edited_places}
    for place, (relation, subject) in enumerate(facts):
        first, *further = (phrasing.replace(SUBJECT, subject) for phrasing in relation.phrasings)
        if place in edited_places:
            trial.edit(first, further)
        else:
            trial.ask(SAME_SUBJECT if subject in edited_names else PLAIN_FACT, (first, *further))
    return trial
