"""What a question costs, in short questions: the measure by which limits charge, requests are bounded and batches end.

A system reads texts, so its time goes with their characters, and each candidate is read beside the question. On two
cores (2026-11-23) a question of 30 characters takes nkb 3.5 ms in a batch and kbert 2.0, one of 500 characters 25 and
23, one of 2,000 30 and 55, a candidate of 10 characters 4.5, `explain` 15 of nkb and up to 24 readings of kbert,
`top_k` 10 of nkb 11.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any

from service.errors import TooLarge

CHARS = 100  # of a short question
MAX_SENTENCES = 64  # of a context that are read one by one
EXPLANATION = 8  # times the work of the answer
ALTERNATIVES = 3  # that cost as much as a question
DOCUMENT = 64  # of a document of 1,000 words; more than a batch, so that it is read by itself and in steps
MAX_WORK = 6_000  # of one request: 256 questions of the longest text fit


def measure(
    question: str,
    context: str = "",
    candidates: Sequence[str] = (),
    top_k: int = 1,
    explain: bool = False,
    n_names: int = 0,
    reads_document: bool = False,
) -> int:
    """Return the work of one question.

    Args:
        reads_document: The question names a document, whose length is not known here.
        n_names: Names of the graph in the question, for each of which it is read once more.
    """
    n_sentences = min(MAX_SENTENCES, sum(map(context.count, ".!?\n")))
    readings = [len(question) + len(context), *[len(question)] * (n_names + n_sentences)]
    readings += [len(question) + len(candidate) for candidate in candidates]
    work = sum(ceil(n_chars / CHARS) for n_chars in readings) + (DOCUMENT if reads_document else 0)
    return work * (EXPLANATION if explain else 1) + (top_k - 1) // ALTERNATIVES


def measure_request(request: Mapping[str, Any]) -> int:
    """Return the work of a question as it crosses the wire or a handle."""
    return measure(
        request["question"],
        request.get("context") or "",
        request.get("candidates") or (),
        request.get("top_k", 1),
        request.get("explain", False),
        reads_document=request.get("document") is not None,
    )


def check_work(work: int) -> None:
    """Raise TooLarge for more than one request may ask for."""
    if work > MAX_WORK:
        detail = (
            f"the request has the work of {work:,} short questions (each 100 characters of a question, and of a "
            f"candidate beside its question); {MAX_WORK:,} is the most: send less, in several requests"
        )
        raise TooLarge(detail, limit=MAX_WORK)
