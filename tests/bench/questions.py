"""The questions of the bench: real questions of the pack, in many phrasings, drawn once with a seed."""

import random

from models.packs.pack import Pack


def questions(count: int, seed: int = 7) -> list[str]:
    rng = random.Random(seed)
    items = rng.sample(list(Pack.load().items()), count)
    return [item.relation.question(item.subject.label, rng.randrange(5)) for item in items]
