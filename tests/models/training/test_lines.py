"""Held-out texts are held out: no held phrasing and no injected fact reaches the training of the base."""

from collections import Counter
from dataclasses import replace

import pytest

from models.packs.pack import Pack
from models.training.lines import MASK, Line, lines, split
from models.training.phrasings import CHOOSE_HANDS, TEST_HANDS, reword
from models.training.plan import DEFAULT
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


@pytest.fixture(scope="module")
def every(pack: Pack) -> list[Line]:
    return lines(reword(pack, CHOOSE_HANDS), reword(pack, TEST_HANDS), DEFAULT.wordings, 1)


def test_no_text_that_is_trained_on_is_a_tuning_or_a_held_one(every: list[Line]) -> None:
    trained = {line.text for line in every if line.form in ("trained", "masked")}
    for form in ("tuning", "held"):
        assert not trained & {line.text for line in every if line.form == form}


def test_each_fact_is_asked_for_in_a_few_phrasings_the_canonical_one_among_them(
    pack: Pack, every: list[Line]
) -> None:
    counts = Counter((line.item, line.form) for line in every)
    items = list(pack.items())
    n_trained = DEFAULT.wordings.n_trained
    assert {counts[index, "trained"] for index in range(len(items))} == {n_trained}
    assert {counts[index, form] for index in range(len(items)) for form in ("tuning", "held")} == {1}
    first = [line for line in every if line.form == "trained"][::n_trained]
    assert [line.text for line in first] == [item.relation.question(item.subject.label) for item in items]


def test_some_texts_are_typed_with_slips(pack: Pack, every: list[Line]) -> None:
    texts = {line.text for line in every if line.form == "trained"}
    clean = lines(
        reword(pack, CHOOSE_HANDS),
        reword(pack, TEST_HANDS),
        replace(DEFAULT.wordings, slip=0.0, bare=0.0),
        1,
    )
    assert 0.05 < 1 - len(texts & {line.text for line in clean}) / len(texts) < 0.9


def test_a_masked_statement_shows_the_mask_where_the_answer_was(every: list[Line]) -> None:
    masked = [line for line in every if line.form == "masked"]
    assert masked
    assert all(line.text.count(MASK) == 1 for line in masked)


def test_the_answer_tokenizer_spells_any_text() -> None:
    tokenizer = train(["Lima", "Cusco", "Buenos Aires"], 300)
    for text in ("Lima", "東京都", "naïve café", "🙂", "Ω≈ç√", "tab\tand\nline"):
        assert tokenizer.decode(tokenizer.encode(text).ids).strip() == text
