"""Held-out texts are held out: no held phrasing and no injected fact reaches the training of the base."""

import pytest

from models.packs.pack import Pack
from models.training.nkb.texts import split_items
from models.training.texts.pieces import train


@pytest.fixture(scope="module")
def pack() -> Pack:
    return Pack.load()


def test_the_split_covers_every_fact_once(pack: Pack) -> None:
    parts = split_items(pack, 1500, 1500, 1234)
    count = len(list(pack.items()))
    assert sorted([*parts.base, *parts.injected_items]) == list(range(count))
    assert len(parts.injected_items) == 1500
    assert len(parts.base) - len(parts.replayed_items) == 1500
    assert set(parts.replayed_items) < set(parts.base)


def test_the_answer_tokenizer_spells_any_text() -> None:
    tokenizer = train(["Lima", "Cusco", "Buenos Aires"], 300)
    for text in ("Lima", "東京都", "naïve café", "🙂", "Ω≈ç√", "tab\tand\nline"):
        assert tokenizer.decode(tokenizer.encode(text).ids).strip() == text
