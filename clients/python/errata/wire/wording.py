"""When two questions count as the same one: what decides which of two edits speaks, and which fact test is void.

The service decides by it, and whoever sends a file of corrections finds repetitions by it: both have to agree.
"""

from __future__ import annotations

from functools import lru_cache

END = " ?!.\u037e\u061f\uff1f"
CACHE_SIZE = 100_000  # wordings; the fact tests of every edit pass here at each commit


@lru_cache(CACHE_SIZE)
def normalize_question(question: str) -> str:
    """Equal for questions that differ in case, spaces and final punctuation alone."""
    return " ".join(question.split()).casefold().rstrip(END)
