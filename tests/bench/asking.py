"""Questions with the answers that are expected, and what a model said to them over HTTP."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx

AUTO = "auto"
BATCH = 64
TIMEOUT_S = 120.0


@dataclass(frozen=True)
class Question:
    """A question of one kind. expected: "" where an answer has to be withheld. fields: more of the request."""

    kind: str
    text: str
    expected: str
    fields: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Reply:
    """What one model said to a question; a refusal, as of an input that it does not read, says nothing."""

    question: Question
    answer: str | None

    @property
    def is_right(self) -> bool:
        return (self.answer or "") == self.question.expected


def put(http: httpx.Client, model: str, questions: Sequence[Question]) -> list[Reply]:
    """Ask all questions, many at once; replies come in the order of the questions."""
    results: list[dict[str, Any]] = []
    for start in range(0, len(questions), BATCH):
        part = questions[start : start + BATCH]
        items = [{"question": q.text, "model": model, **q.fields} for q in part]
        response = http.post("/v1/answers/batch", json={"questions": items}).raise_for_status()
        results += response.json()["results"]
    answers = [(result["answer"] or {}).get("answer") for result in results]
    return [Reply(question, answer) for question, answer in zip(questions, answers, strict=True)]


def share_right(replies: Sequence[Reply]) -> float:
    return 100 * sum(reply.is_right for reply in replies) / max(1, len(replies))
