"""Questions as people type them."""

import random
import re

from models.training.scope.rewrites import misspell

WORD = re.compile(r"(?<!\{)\b[A-Za-z]{4,}\b(?!\})")


def retype(template: str, slip: float, bare: float, rng: random.Random) -> str:
    """Return a template of a question as it may be typed; the place of the subject stays as it is."""
    if rng.random() < slip and (words := WORD.findall(template)):
        word = rng.choice(words)
        pattern = rf"(?<!\{{)\b{word}\b(?!\}})"
        template = re.sub(pattern, lambda _: misspell(word, rng), template, count=1)
    return template.rstrip("?.") if rng.random() < bare else template
