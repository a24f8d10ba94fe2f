"""The grounds of an answer from a document, as JSON values: the document, the spans, and the passage around each."""

from collections.abc import Mapping, Sequence
from itertools import repeat
from typing import Any

from models.documents.document import Document
from models.ernie_doc.windows import Choice
from models.reading.spans import Span

PASSAGE_CHARS = 160  # characters on each side of a span, up to the next space


def explain(
    id: str | None,
    document: Document,
    spans: Sequence[Span],
    scores: Sequence[float],
    choice: Choice,
    n_windows: int,
    n_tokens: int,
) -> Mapping[str, Any]:
    """Describe the windows that were read and the spans that were found."""
    return {
        "document": describe_document(id, document, n_windows, n_tokens),
        "asked_windows": [
            {"window": number, "cosine": cosine}
            for number, cosine in zip(choice.numbers, choice.cosines or repeat(None), strict=False)
        ],
        "spans": [_describe(span, score, document.text) for span, score in zip(spans, scores, strict=True)],
    }


def describe_document(id: str | None, document: Document, n_windows: int, n_tokens: int) -> Mapping[str, Any]:
    """Describe a document and its size."""
    return {
        "id": id,
        "title": document.title,
        "digest": document.digest,
        "edits": list(document.edits),
        "characters": len(document.text),
        "tokens": n_tokens,
        "windows": n_windows,
    }


def _describe(span: Span, score: float, text: str) -> Mapping[str, Any]:
    start, end = find_passage(text, span.start, span.end)
    return {
        "text": span.text,
        "start": span.start,
        "end": span.end,
        "score": score,
        "window": span.window,
        "passage": {"text": text[start:end], "start": start, "end": end},
    }


def find_passage(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the characters around a span that are worth showing: whole words of the paragraph it stands in."""
    first, last = max(0, start - PASSAGE_CHARS), min(len(text), end + PASSAGE_CHARS)
    before, after = text[first:start], text[end:last]
    if "\n" in before:
        before = before[before.rindex("\n") + 1 :]
    elif first:
        before = before[before.find(" ") + 1 :]
    if "\n" in after:
        after = after[: after.index("\n")]
    elif last < len(text):
        after = after[: after.rfind(" ") if " " in after else 0]
    return start - len(before), end + len(after)
