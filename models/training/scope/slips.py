"""How slips differ from other names (models/scope/wordings)."""

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from tokenizers import Tokenizer

from models.confidence import Confidence, fit, quantile_threshold
from models.scope.spelling import resembling
from models.scope.vocabulary import MIN_LETTERS
from models.scope.wordings.slips import NO_SLIPS, Slips
from models.training.scope.crowds.crowd import invent_crowd
from models.training.scope.rewrites import misspell

N_PAIRS = 600  # pairs of words of each kind
LOSS = 0.04  # share of the slips that are taken for other names
SLIP_DECAY, SLIP_STEPS = 1e-4, 200
Pair = tuple[str, str]


def fit_slips(names: Sequence[str], tokenizer: Tokenizer, rng: random.Random) -> Confidence:
    """Fit the weights by which a word is a slip for a name, and the score from which it is taken for one."""
    slips = Slips(tokenizer, NO_SLIPS)
    rows = [
        [slips.describe(*pair) for pair in islice(pairs, N_PAIRS)]
        for pairs in (_misspell(names, tokenizer, rng), _find_neighbours(tokenizer, rng))
    ]
    is_slip = [place == 0 for place, group in enumerate(rows) for _ in group]
    scale = fit([*rows[0], *rows[1]], is_slip, decay=SLIP_DECAY, max_iterations=SLIP_STEPS)
    return replace(scale, threshold=quantile_threshold([scale.score(row) for row in rows[0]], LOSS))


def _misspell(names: Sequence[str], tokenizer: Tokenizer, rng: random.Random) -> Iterator[Pair]:
    """Yield misspelt words of names, and the words."""
    while True:
        words = re.findall(rf"[^\W\d_]{{{MIN_LETTERS},}}", rng.choice(names).lower())
        if words:
            slip = misspell(word := rng.choice(words), rng)
            if slip != word and _is_in_pieces(slip, tokenizer):
                yield slip, word


def _find_neighbours(tokenizer: Tokenizer, rng: random.Random) -> Iterator[Pair]:
    """Yield words of invented names, and those of other names of the crowd that are one slip from them."""
    while True:
        words = {word for name in invent_crowd(rng).names for word in name.lower().split() if word.isalpha()}
        for word in sorted(words):
            rest = [other for other in words if other[0] == word[0] and abs(len(other) - len(word)) < 2]
            if len(rest) > 1 and len(word) >= MIN_LETTERS and _is_in_pieces(word, tokenizer):
                near = set(resembling(word))
                yield from ((word, name) for name in sorted(rest) if name in near)


def _is_in_pieces(word: str, tokenizer: Tokenizer) -> bool:
    """Return whether the encoder reads a word in several pieces: only such a word may be misspelt."""
    return len(tokenizer.encode(word, add_special_tokens=False).ids) > 1
