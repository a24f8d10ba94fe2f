"""What is held back is held back: no held phrasing and no injected fact reaches the training of the base."""

import pytest

from models.packs.pack import Pack
from models.training.lines import MASK, lines, split
from models.training.tokens import train


@pytest.fixture(scope="module")
def pack() -> Pack:
    return Pack.load()


def test_the_split_covers_every_fact_once(pack: Pack) -> None:
    parts = split(pack, 1500, 1500, 1234)
    count = len(list(pack.items()))
    assert sorted([*parts.base, *parts.injected_items]) == list(range(count))
    assert len(parts.injected_items) == 1500
    assert len(parts.base) - len(parts.replayed_items) == 1500
    assert set(parts.replayed_items) < set(parts.base)


def test_the_split_is_the_seeds(pack: Pack) -> None:
    assert split(pack, 100, 50, 1) == split(pack, 100, 50, 1)
    assert split(pack, 100, 50, 1) != split(pack, 100, 50, 2)


def test_no_text_that_is_trained_on_is_a_held_one(pack: Pack) -> None:
    every = lines(pack)
    trained = {line.text for line in every if line.form != "held"}
    assert not trained & {line.text for line in every if line.form == "held"}


def test_a_masked_statement_shows_the_mask_where_the_answer_was(pack: Pack) -> None:
    masked = [line for line in lines(pack) if line.form == "masked"]
    assert masked
    assert all(line.text.count(MASK) == 1 for line in masked)


def test_the_answer_tokenizer_spells_any_text() -> None:
    tokenizer = train(["Lima", "Cusco", "Buenos Aires"], 300)
    for text in ("Lima", "東京都", "naïve café", "🙂", "Ω≈ç√", "tab\tand\nline"):
        assert tokenizer.decode(tokenizer.encode(text).ids).strip() == text
