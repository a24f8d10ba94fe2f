"""Held-out texts are held out: no held phrasing and no injected fact reaches the training of the base.

States are taken from the folder only when they are whole and of the very texts asked for.
"""

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from models.encoder.minilm import WIDTH, Encoded, MiniLM
from models.packs.pack import Pack
from models.training.nkb.states import States, load_or_encode
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


TEXTS = ["Where is Lima?", "Where was Ada born?", "capital of Peru"]
SAME_LENGTHS = ["Where is Rome?", "Where was Bob born?", "capital of Chad"]


class Speller(MiniLM):
    """An encoder of words: a token for each, its state the sum of its letters. Fails at a text it is told to."""

    def __init__(self, fails_at: str | None = None) -> None:
        self.fails_at, self.encoded = fails_at, 0

    def tokens(self, text: str) -> tuple[list[int], bool]:
        return [sum(map(ord, word)) for word in text.split()], False

    def encode(self, texts: Sequence[str]) -> Encoded:
        if self.fails_at in texts:
            raise KeyboardInterrupt
        self.encoded += len(texts)
        rows = [torch.tensor(self.tokens(text)[0], dtype=torch.float) for text in texts]
        packed = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
        states = packed[..., None].expand(-1, -1, WIDTH)
        return Encoded(states, packed.long(), packed > 0, (False,) * len(texts))


def load(folder: Path, texts: Sequence[str], encoder: MiniLM) -> States:
    return load_or_encode(folder, texts, encoder, lambda line: None)


def test_states_left_whole_are_not_computed_again(tmp_path: Path) -> None:
    first, again = Speller(), Speller()
    first_states, second_states = load(tmp_path, TEXTS, first), load(tmp_path, TEXTS, again)
    assert (first.encoded, again.encoded) == (len(TEXTS), 0)
    assert torch.equal(first_states.batch([0, 1, 2])[0], second_states.batch([0, 1, 2])[0])


@pytest.mark.parametrize("other", [SAME_LENGTHS, [TEXTS[0], *TEXTS[:0:-1]], TEXTS[:2]])
def test_states_of_other_texts_are_computed_though_as_many_tokens_long(
    tmp_path: Path, other: list[str]
) -> None:
    load(tmp_path, TEXTS, Speller())
    encoder = Speller()
    states, mask = load(tmp_path, other, encoder).batch(range(len(other)))
    assert encoder.encoded == len(other)
    assert states[mask][:, 0].tolist() == [token for text in other for token in encoder.tokens(text)[0]]


def test_an_encoding_that_was_interrupted_is_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("models.training.nkb.states.BATCH", 1)
    with pytest.raises(KeyboardInterrupt):
        load(tmp_path, TEXTS, Speller(fails_at=TEXTS[1]))
    again = Speller()
    states, mask = load(tmp_path, TEXTS, again).batch([1])
    assert again.encoded == len(TEXTS)
    expected = torch.tensor(again.tokens(TEXTS[1])[0]).float()
    assert torch.equal(states[mask][:, 0], expected)
