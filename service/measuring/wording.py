"""How alike two questions are: the same but for their spelling, or with many words in common."""

from __future__ import annotations

import re
from functools import lru_cache

from errata.wire.wording import normalize_question as plain

__all__ = ["plain", "words"]

WORD = re.compile(r"\w+")
KEPT = 100_000  # wordings; the fact tests of every edit pass here at each commit


@lru_cache(KEPT)
def words(question: str) -> frozenset[str]:
    return frozenset(WORD.findall(question.casefold()))
