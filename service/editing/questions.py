"""Ask a system many questions on one view, in batches, off the event loop."""

from __future__ import annotations

from collections.abc import Sequence

from models.system import Ask, Reply, System, View

BATCH = 32


def ask(system: System, view: View, questions: Sequence[str]) -> list[Reply]:
    replies: list[Reply] = []
    for start in range(0, len(questions), BATCH):
        some = [Ask(question) for question in questions[start : start + BATCH]]
        replies += system.answer(some, [view] * len(some))
    return replies
