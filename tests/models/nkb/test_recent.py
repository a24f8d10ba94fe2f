"""What is remembered of a question is what reading it anew gives, at every version, and old ones make room."""

import pytest
import torch

from models.memory import Block
from models.nkb import recent
from models.nkb.opened import opened
from models.nkb.reader import Reader
from models.nkb.recent import RecentQuestions
from models.nkb.remembered import RecentReads
from models.nkb.slots import Gates, SlotTable

QUESTIONS = ["What is the capital of Peru?", "Which element has number 26?", "What is the capital of Peru?"]
EDITED = ["Peru's capital?", "capital of Chile", "Who wrote Hamlet?", "What is the capital of Peru?"]


def edit(reader: Reader, order: int, question: str) -> Block:
    keyed = reader.read([question]).keyed
    tensors = {"keys": keyed.keys.clone(), "numbers": keyed.numbers.clone(), "steps": torch.zeros(1, 8)}
    return Block(f"edit/{order}", order, "gated", tensors)


def anew(reader: Reader, gates: Gates) -> list[str | None]:
    found = opened(reader.scope, reader.read(QUESTIONS).keyed, [gates] * len(QUESTIONS))
    return [one and one.edit for one in found]


def test_they_open_what_they_open_when_read_anew_whatever_the_order_of_versions(reader: Reader) -> None:
    table, remembered = SlotTable(reader.scope, reader.taught), RecentQuestions(RecentReads(reader))
    blocks = [edit(reader, order, question) for order, question in enumerate(EDITED, 1)]
    views = [table.gates(blocks[:count]) for count in range(len(blocks) + 1)]
    told = [[one and one.edit for one in remembered.chosen(QUESTIONS, view)[0]] for view in views]
    assert told == [anew(reader, view) for view in views]
    assert told[0] == [None] * 3
    assert told[-1] == ["4", None, "4"]
    assert [one and one.edit for one in remembered.chosen(QUESTIONS, views[1], views[0])[0]] == told[1]


def test_the_one_asked_longest_ago_makes_room(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent, "KEPT", 2)
    remembered, asked = RecentQuestions(RecentReads(reader)), []
    read, gates = Reader.read, SlotTable(reader.scope, reader.taught).gates([])
    monkeypatch.setattr(Reader, "read", lambda self, some: asked.append(list(some)) or read(self, some))
    for question in ("a?", "b?", "a?", "c?", "a?", "b?"):
        remembered.chosen([question], gates)
    assert asked == [["a?"], ["b?"], ["c?"], ["b?"]]


def test_a_read_that_is_kept_is_what_reading_gives(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    reads, questions = RecentReads(reader), ["capital of Chile", "What is the capital of Peru?"]
    read = reads.of(questions)
    reads.keep(questions, read)
    monkeypatch.setattr(Reader, "read", None)
    for asked, rows in ((questions, [0, 1]), (questions[::-1], [1, 0]), (questions[:1], [0])):
        kept = reads.of(asked)
        assert torch.equal(kept.keyed.keys, read.keyed.keys[rows])
        assert torch.equal(kept.keyed.numbers, read.keyed.numbers[rows])
        assert torch.equal(kept.familiarity, read.familiarity[rows])
        for one, row in zip(range(len(rows)), rows, strict=True):
            assert torch.equal(kept.states[one][kept.mask[one]], read.states[row][read.mask[row]])


def test_nothing_is_kept_where_nobody_asks_for_it(reader: Reader) -> None:
    reads, questions = RecentReads(reader), ["capital of Chile"]
    reads.keep(questions, reader.read(questions))
    assert not reads._kept
