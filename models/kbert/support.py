"""What the facts and the context say for a candidate: how much of the pointer's belief it names."""

import math
from collections.abc import Iterator, Sequence

from models.kbert.options import Option, Options
from models.kbert.words import inside_word

LEAST = 0.01  # of belief: less is no evidence either way


def supports(read: Options | None, candidates: Sequence[str]) -> list[float]:
    """Log of the belief in what a candidate names over the belief in what it does not; 0 without any."""
    if read is None or not read.found:
        return [0.0] * len(candidates)
    top = max(read.nothing, read.found[0].logit)
    weights = [math.exp(option.logit - top) for option in read.found]
    total = sum(weights) + math.exp(read.nothing - top)
    shares = [weight / total for weight in weights]
    return [_support(read.found, shares, candidate) for candidate in candidates]


def _support(found: Sequence[Option], shares: Sequence[float], candidate: str) -> float:
    named = [says_one_of(candidate, option) for option in found]
    pro = sum(share for share, yes in zip(shares, named, strict=True) if yes)
    contra = sum(share for share, yes in zip(shares, named, strict=True) if not yes)
    return math.log(pro + LEAST) - math.log(contra + LEAST)


def says_one_of(candidate: str, option: Option) -> bool:
    """The candidate holds the answer, or one of the objects that make it up."""
    text = candidate.casefold()
    return any(says(text, name.casefold()) for name in _names(option))


def says(text: str, name: str) -> bool:
    """The name stands in the text as whole words."""
    at = text.find(name) if name else -1
    while at >= 0:
        end = at + len(name)
        if not inside_word(text, at) and not inside_word(text, end):
            return True
        at = text.find(name, at + 1)
    return False


def _names(option: Option) -> Iterator[str]:
    yield option.answer
    if option.hung is not None:
        yield from (fact.object for fact in option.hung.values)
