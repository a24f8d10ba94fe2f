"""Phrasings of relations by three writers who had not seen the pack's templates.

The files lie in the folder of the pack `world`, one for each writer. Splits are by writer, never within a file.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from more_itertools import unique_everseen

from models.graph.knowledge import Entity, Mention
from models.packs.pack import WORLD, Pack, Relation
from models.system import Ask

FOLDER = WORLD / "phrasings"
HANDS = (1, 2, 3)
TRAIN_HANDS, CHOOSE_HANDS, TEST_HANDS = (1,), (2,), (3,)  # writers of each split
SLOT = "{subject}"
NOUN_FRAMES = ("What is {noun}?", "{noun}")  # questions that a noun phrase makes
PRACTICE = "p_"  # prefix of the ids of relations for practice


@dataclass(frozen=True)
class Phrasings:
    """Phrasings of one relation; each text has `{subject}` once."""

    questions: tuple[str, ...]  # questions for its value
    nouns: tuple[str, ...]  # noun phrases that stand for its value inside a longer question


def read_phrasings(hands: Iterable[int] = HANDS, folder: Path = FOLDER) -> Mapping[str, Phrasings]:
    """Read the phrasings of the given writers.

    Returns:
        Relation id -> phrasings, in the order of the writers; ids of relations for practice have no prefix.

    Raises:
        FileNotFoundError: A writer has no file.
    """
    questions: dict[str, list[str]] = defaultdict(list)
    nouns: dict[str, list[str]] = defaultdict(list)
    for hand in hands:
        for line in (folder / f"hand{hand}.jsonl").read_text("utf-8").splitlines():
            row = json.loads(line)
            relation = row["relation"].removeprefix(PRACTICE)
            questions[relation] += row["q"]
            nouns[relation] += row["n"]
    return {id: Phrasings(tuple(questions[id]), tuple(nouns[id])) for id in questions}


def without(
    phrasings: Mapping[str, Phrasings], known_phrasings: Mapping[str, Phrasings]
) -> Mapping[str, Phrasings]:
    """Leave out phrasings that other writers wrote, too; case and final punctuation do not count.

    A relation whose noun phrases are all shared keeps them, for a path over it could not be asked for without any.
    """
    return {
        id: Phrasings(
            leave_out(entry.questions, known_phrasings[id].questions),
            leave_out(entry.nouns, known_phrasings[id].nouns) or entry.nouns,
        )
        for id, entry in phrasings.items()
    }


def reword(pack: Pack, hands: Iterable[int]) -> Pack:
    """Return a pack whose trained phrasings are its own and the first writer's, and whose held ones are by others.

    The phrasings that the pack holds out are trained on, too, for they nearly equal its trained ones. A relation for
    which there are no writers stays as it is.
    """
    train, held_by_writer = read_phrasings(TRAIN_HANDS), read_phrasings(hands)
    return replace(
        pack,
        relations={
            id: _reword(relation, train[id], held_by_writer[id])
            if id in train and id in held_by_writer
            else relation
            for id, relation in pack.relations.items()
        },
    )


def _reword(relation: Relation, train: Phrasings, held_phrasings: Phrasings) -> Relation:
    nouns = [frame.replace("{noun}", noun) for noun in train.nouns for frame in NOUN_FRAMES]
    every = (*relation.phrasings, *relation.held_out, *train.questions, *nouns)
    phrasings = tuple(unique_everseen(every, key=_fold))
    return replace(relation, phrasings=phrasings, held_out=leave_out(held_phrasings.questions, phrasings))


def leave_out(texts: Iterable[str], known_texts: Iterable[str]) -> tuple[str, ...]:
    """Leave out texts that are known, whatever their case and final punctuation."""
    keys = set(map(_fold, known_texts))
    return tuple(text for text in texts if _fold(text) not in keys)


def _fold(text: str) -> str:
    return text.casefold().rstrip(" .?!")


def fill(template: str, names: Mapping[str, Entity]) -> Ask:
    """Put the labels of entities into the slots of a question; those with an id are mentions, in the text's order."""
    mentions: list[Mention] = []
    for slot in sorted(names, key=template.index):
        at, entity = template.index(slot), names[slot]
        template = template.replace(slot, entity.label)
        if entity.id:
            mentions.append(Mention(at, at + len(entity.label), (entity,)))
    return Ask(template, mentions=tuple(mentions))
