"""A cached read equals a new read, and a process that only answers caches nothing."""

import pytest
import torch

from models.nkb.reader import ReadCache, Reader


def test_a_cached_read_is_what_reading_gives(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    cache, questions = ReadCache(reader), ["capital of Chile", "What is the capital of Peru?"]
    read = cache.read(questions)
    cache.keep(questions, read)
    monkeypatch.setattr(Reader, "read", None)
    for asks, rows in ((questions, [0, 1]), (questions[::-1], [1, 0]), (questions[:1], [0])):
        hit = cache.read(asks)
        assert torch.equal(hit.readings.vectors, read.readings.vectors[rows])
        assert torch.equal(hit.readings.wordings, read.readings.wordings[rows])
        assert torch.equal(hit.familiarity, read.familiarity[rows])
        for place, row in enumerate(rows):
            assert torch.equal(hit.states[place][hit.mask[place]], read.states[row][read.mask[row]])


def test_nothing_is_cached_before_a_cached_read_is_asked_for(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache, questions = ReadCache(reader), ["capital of Chile"]
    cache.keep(questions, reader.read(questions))
    monkeypatch.setattr(Reader, "read", lambda *_: pytest.fail("read anew", pytrace=False))
    with pytest.raises(pytest.fail.Exception, match="read anew"):
        cache.read(questions)
