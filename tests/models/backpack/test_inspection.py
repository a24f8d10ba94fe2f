"""Senses as a person sees them: words by the words that each sense favours, and by their edits."""

import pytest
import torch

from models.backpack.editing.sense import SenseChange
from models.backpack.memory import SensesMemory, SensesView
from models.backpack.system import BackpackSystem
from models.memory import FieldsChange
from models.senses import BadInquiry, HasSenses, SensesInquiry
from tests.models.backpack.test_system import view_of


@pytest.fixture(scope="module")
def base(memory: SensesMemory) -> dict[str, SensesView]:
    return view_of(memory)


def weigh(name: str, word: str, factor: float, *senses: int) -> FieldsChange:
    return FieldsChange(
        name, "sense", SenseChange(word=word, action="factor", factor=factor, senses=senses or ())
    )


def test_a_sense_is_shown_by_the_words_that_it_favours(
    system: BackpackSystem, base: dict[str, SensesView]
) -> None:
    assert isinstance(system, HasSenses)
    word = system.show_senses(SensesInquiry("of", top_k=3), base)
    assert word.word == " of"
    model = system.reader.model
    assert [sense.number for sense in word.senses] == list(range(model.config.senses))
    rows = model.senses_of(torch.tensor([word.token], device=model.embedding.device))[0]
    for sense, row in zip(word.senses, rows, strict=True):
        logits = model.embedding @ row
        assert sense.top[0].logit == pytest.approx(float(logits.max()), rel=1e-4)
        assert sense.bottom[0].logit == pytest.approx(float(logits.min()), rel=1e-4)
        assert [word.logit for word in sense.top] == sorted((w.logit for w in sense.top), reverse=True)
        assert system.reader.speller.spell(sense.top[0].word)[-1:] != []
        assert (sense.strength, sense.factor, sense.edits) == (pytest.approx(sense.base_strength), 1.0, ())


def test_a_changed_sense_shows_its_edits_and_its_strength(
    memory: SensesMemory, system: BackpackSystem
) -> None:
    view = view_of(memory, weigh("e", " of", 0.5, 2), weigh("f", " of", 0.5), weigh("g", " the", 3.0))
    first, _, third, _ = system.show_senses(SensesInquiry(" of"), view).senses
    assert (first.edits, third.edits) == (("f",), ("e", "f"))
    assert (first.factor, third.factor) == (0.5, 0.25)
    assert third.strength == pytest.approx(third.base_strength / 4)
    (only,) = system.show_senses(SensesInquiry("of", senses=(2,)), view).senses
    assert only == third


def test_a_word_is_the_one_behind_a_space_unless_it_is_meant_exactly(
    system: BackpackSystem, base: dict[str, SensesView]
) -> None:
    behind, exact = (
        system.show_senses(SensesInquiry("a", senses=(0,), exact=is_exact), base)
        for is_exact in (False, True)
    )
    assert (behind.word, exact.word) == (" a", "a")
    assert behind.token != exact.token
    assert "at the start of a text" in behind.warnings[0]
    assert "behind a space" in exact.warnings[0]


@pytest.mark.parametrize(
    ("inquiry", "field", "text"),
    [
        (SensesInquiry("Zanzibarian"), "word", r"pieces \(' .*name one of them, or set first_piece"),
        (SensesInquiry("theee"), "word", "words of the vocabulary like it are 'the'"),
        (SensesInquiry(" "), "word", "the word is empty"),
        (SensesInquiry("of", senses=(9,)), "senses", "there is no sense 9: the senses are 0 to 3"),
        (SensesInquiry("of", senses=(-1,)), "senses", "there is no sense -1"),
    ],
)
def test_what_cannot_be_shown_says_what_could(
    system: BackpackSystem, base: dict[str, SensesView], inquiry: SensesInquiry, field: str, text: str
) -> None:
    with pytest.raises(BadInquiry, match=text) as error:
        system.show_senses(inquiry, base)
    assert error.value.field == field


def test_the_first_of_several_pieces_is_shown_on_request(
    system: BackpackSystem, base: dict[str, SensesView]
) -> None:
    word = system.show_senses(SensesInquiry("Zanzibarian", senses=(0,), first_piece=True), base)
    assert word.token == system.reader.speller.spell(" Zanzibarian")[0]
    assert "first one" in word.warnings[0]
