"""When two questions count as the same one: it decides which of two edits answers, and which fact test is superseded.

The service and whoever sends a file of corrections both use it, so that they agree on what is a duplicate.
"""

from __future__ import annotations

from functools import lru_cache

END = " ?!.\u037e\u061f\uff1f"
CACHE_SIZE = 100_000  # wordings; the fact tests of every edit pass here at each commit


@lru_cache(CACHE_SIZE)
def normalize_question(question: str) -> str:
    """Equal for questions that differ in case, spaces and final punctuation alone. Cached."""
    return " ".join(question.split()).casefold().rstrip(END)
