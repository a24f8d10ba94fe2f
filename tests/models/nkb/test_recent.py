"""Keys that are remembered are the keys that reading gives, and old ones make room."""

import pytest
import torch

from models.nkb import recent
from models.nkb.reader import Reader
from models.nkb.recent import RecentKeys

QUESTIONS = ["What is the capital of Peru?", "Which element has number 26?", "What is the capital of Peru?"]


@pytest.fixture(scope="module")
def reader() -> Reader:
    return Reader.load()


def test_they_are_what_reading_gives_each_time(reader: Reader) -> None:
    keys = RecentKeys(reader)
    read = reader.read(QUESTIONS)
    for _ in range(2):
        found, numbers = keys.of(QUESTIONS)
        torch.testing.assert_close(found, read.keys)
        assert torch.equal(numbers, read.numbers)


def test_the_one_asked_longest_ago_makes_room(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent, "KEPT", 2)
    keys, asked = RecentKeys(reader), []
    read = Reader.read
    monkeypatch.setattr(Reader, "read", lambda self, some: asked.append(list(some)) or read(self, some))
    for question in ("a?", "b?", "a?", "c?", "a?", "b?"):
        keys.of([question])
    assert asked == [["a?"], ["b?"], ["c?"], ["b?"]]
