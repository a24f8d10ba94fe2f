"""When two questions count as the same one: what decides which of two edits speaks, and which fact test is void."""

from __future__ import annotations

import re
from functools import lru_cache

END = " ?!.\u037e\u061f\uff1f"
WORD = re.compile(r"\w+")
KEPT = 100_000  # wordings; the fact tests of every edit pass here at each commit


@lru_cache(KEPT)
def plain(question: str) -> str:
    """Equal for questions that differ in case, spaces and final punctuation alone."""
    return " ".join(question.split()).casefold().rstrip(END)


@lru_cache(KEPT)
def words(question: str) -> frozenset[str]:
    return frozenset(WORD.findall(question.casefold()))
