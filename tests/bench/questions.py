"""What the bench asks: real questions of the pack, in many phrasings, drawn once with a seed."""

import random

from models.packs.pack import Pack


def questions(count: int, seed: int = 7) -> list[str]:
    return [question for question, _ in asked(count, seed)]


def asked(count: int, seed: int = 7) -> list[tuple[str, str]]:
    """Each with the id of its subject."""
    rng = random.Random(seed)
    items = rng.sample(list(Pack.load().items()), count)
    return [(one.relation.question(one.subject.label, rng.randrange(5)), one.subject.id) for one in items]
