"""Decides whether two questions are the same: then the later of two edits answers and supersedes the other's fact test.

The service and the client that sends a file of corrections both use it, so that they agree on duplicates.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

END = " ?!.\u037e\u061f\uff1f"
FIELD = re.compile(r"`(\w+)`")  # how sentences of the service name a field of a request, and a value of one
CACHE_SIZE = 100_000  # wordings; each commit normalizes those of all edits


@lru_cache(CACHE_SIZE)
def normalize_question(question: str) -> str:
    """Return the same text for questions that differ only in case, spaces and final punctuation."""
    return " ".join(question.split()).casefold().rstrip(END)


def name_fields(sentence: str, names: Mapping[str, str]) -> str:
    """Return a sentence, which names fields in backquotes, with the names that its reader knows: flags, labels."""
    return FIELD.sub(lambda match: names.get(match[1], match[0]), sentence)
