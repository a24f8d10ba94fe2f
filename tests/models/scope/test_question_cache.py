"""A cached question opens what it opens when read anew, at every version, and the least recently used makes room."""

from collections.abc import Sequence

import torch

from models.memory import Block
from models.nkb.reader import Reader
from models.scope.gates import Gates, match_gates
from models.scope.keys import QuestionKeys
from models.scope.question_cache import QuestionCache
from models.scope.slot_table import SlotTable

QUESTIONS = ["What is the capital of Peru?", "Which element has number 26?", "What is the capital of Peru?"]
EDITS = ["Peru's capital?", "capital of Chile", "Who wrote Hamlet?", "What is the capital of Peru?"]


def edit(reader: Reader, order: int, question: str) -> Block:
    keys = reader.read([question]).question_keys
    tensors = {"keys": keys.keys.cpu(), "numbers": keys.numbers.cpu(), "steps": torch.zeros(1, 8)}
    return Block(f"edit/{order}", order, "gated", tensors)


def read_anew(reader: Reader, gates: Gates) -> list[str | None]:
    matches = match_gates(reader.scope, reader.read(QUESTIONS).question_keys, [gates] * len(QUESTIONS))
    return [match and match.edit for match in matches]


def test_cached_questions_open_what_they_open_when_read_anew_whatever_the_order_of_versions(
    reader: Reader,
) -> None:
    table = SlotTable(reader.scope, reader.subjects)
    cache = QuestionCache(reader.scope, lambda questions: reader.read(questions).question_keys)
    blocks = [edit(reader, order, question) for order, question in enumerate(EDITS, 1)]
    views = [table.gates(blocks[:count]) for count in range(len(blocks) + 1)]
    edits = [[match and match.edit for match in cache.match(QUESTIONS, view)[0]] for view in views]
    assert edits == [read_anew(reader, view) for view in views]
    assert edits[0] == [None] * 3
    assert edits[-1] == ["4", None, "4"]
    assert [match and match.edit for match in cache.match(QUESTIONS, views[1], views[0])[0]] == edits[1]


def test_the_least_recently_used_makes_room(reader: Reader) -> None:
    batches: list[list[str]] = []

    def read(questions: Sequence[str]) -> QuestionKeys:
        batches.append(list(questions))
        return reader.read(questions).question_keys

    cache, gates = (
        QuestionCache(reader.scope, read, size=2),
        SlotTable(reader.scope, reader.subjects).gates([]),
    )
    for question in ("a?", "b?", "a?", "c?", "a?", "b?"):
        cache.match([question], gates)
    assert batches == [["a?"], ["b?"], ["c?"], ["b?"]]
