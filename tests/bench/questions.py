"""The questions of the bench: real questions of the pack, in many phrasings, drawn once with a seed."""

import random

from models.packs.pack import Pack


def questions(count: int, seed: int = 7) -> list[str]:
    return [question for question, _ in questions_and_subjects(count, seed)]


def questions_and_subjects(count: int, seed: int = 7) -> list[tuple[str, str]]:
    """Return questions, each with the id of its subject."""
    rng = random.Random(seed)
    items = rng.sample(list(Pack.load().items()), count)
    return [(item.relation.question(item.subject.label, rng.randrange(5)), item.subject.id) for item in items]
