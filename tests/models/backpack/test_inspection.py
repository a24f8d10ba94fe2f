"""Senses as a person sees them: words by senses, the sense that carries a difference, the effect of a multiplier."""

from typing import Any

import pytest
import torch

from models.backpack.answering.reader import Reader
from models.backpack.editing.rows import TextEdits
from models.backpack.editing.sense import SenseChange
from models.backpack.inspection.bias import measure_multiplier, read_parts, share_difference
from models.backpack.inspection.study import load_pack
from models.backpack.memory import SENSES, SensesMemory, SensesView
from models.backpack.system import BackpackSystem
from models.memory import FieldsChange
from models.senses import BadInquiry, BiasInquiry, HasSenses, SensesInquiry
from tests.models.backpack.test_system import view_of

WORDS = ("a", "of")
PROMPTS = ("The name {word} the river", "Who is {word} poet, and what is the capital {word}")


@pytest.fixture(scope="module")
def base(memory: SensesMemory) -> dict[str, SensesView]:
    return view_of(memory)


def weigh(name: str, word: str, factor: float, *senses: int) -> FieldsChange:
    return FieldsChange(
        name, "sense", SenseChange(word=word, action="factor", factor=factor, senses=senses or ())
    )


@pytest.fixture(scope="module")
def pair(reader: Reader) -> tuple[str, str]:
    """Two words of the vocabulary."""
    texts = [reader.speller.read([token]) for token in range(300, 400)]
    first, second, *_ = [text for text in texts if text.startswith(" ") and text.strip().isalpha()]
    return first, second


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


def test_what_the_senses_of_all_words_carry_is_the_log_odds(reader: Reader) -> None:
    texts = [reader.speller.spell(text) for text in ("The name of a river", "Who is", "capital of a poet")]
    model, pair = reader.model, (320, 350)
    with torch.inference_mode():
        parts = list(read_parts(model, texts, set(range(400)), None))
        shares = share_difference(model, parts, pair)
        odds = [
            float(logits[pair[0]] - logits[pair[1]])
            for logits in (
                model(torch.tensor([text], device=model.embedding.device)).logits[0, -1] for text in texts
            )
        ]
    assert sum(share.mean for share in shares) == pytest.approx(sum(odds) / len(odds), abs=1e-3)
    assert [share.mean_size for share in shares] == sorted((s.mean_size for s in shares), reverse=True)


@pytest.mark.parametrize("multiplier", [0.0, 0.4, 1.0])
def test_a_multiplier_does_what_an_edit_with_the_factor_does(
    memory: SensesMemory, reader: Reader, multiplier: float
) -> None:
    texts = [reader.speller.spell(text) for text in ("The name of a river", "Who is the poet of", "Peru")]
    (token,) = reader.speller.spell(" of")
    model, pair, sense = reader.model, (320, 350), 2
    view = view_of(memory, weigh("e", " of", multiplier, sense))[SENSES]
    with torch.inference_mode():
        plain = list(read_parts(model, texts, {token}, None))
        edited_parts = list(read_parts(model, texts, {token}, TextEdits(view.overlay)))
        foreseen = measure_multiplier(model, plain, plain, pair, sense, multiplier)
        real = measure_multiplier(model, edited_parts, edited_parts, pair, sense, 1.0)
    assert foreseen.ratio == pytest.approx(real.ratio, rel=1e-3)
    assert foreseen.perplexity == pytest.approx(real.perplexity, rel=1e-3)
    assert (foreseen.shift == 0) is (multiplier == 1)


def test_a_report_names_the_sense_that_carries_most(
    system: BackpackSystem, base: dict[str, SensesView], pair: tuple[str, str]
) -> None:
    inquiry = BiasInquiry((pair,), WORDS, PROMPTS, ("The name of the river.",), (1.0, 0.0))
    report = system.measure_bias(inquiry, base)
    assert report.words == (" a", " of")
    assert report.prompts[1] == "The name of the river"
    assert (report.n_sentences, report.note) == (1, "")
    (result,) = report.pairs
    assert result.pair == pair
    assert result.sense == result.shares[0].sense
    assert [point.multiplier for point in result.points] == [1.0, 0.0]
    assert result.points[0].shift == 0
    assert result.points[1].shift > 0
    assert result.points[0].ratio >= 1
    other = system.measure_bias(
        BiasInquiry((pair,), WORDS, PROMPTS, (), (0.0,), sense=result.shares[-1].sense), base
    )
    assert other.pairs[0].sense == result.shares[-1].sense
    assert other.n_sentences > 50


@pytest.mark.parametrize(
    ("changes", "field", "text"),
    [
        (
            {"multipliers": (1.0, -0.5)},
            "multipliers",
            "a multiplier is -0.5: weights of senses are never neg",
        ),
        ({"multipliers": (float("nan"),)}, "multipliers", "a multiplier is nan"),
        ({"sense": 4}, "sense", "the senses are 0 to 3"),
        ({"prompts": ()}, "prompts", "there is no prompt"),
        ({"prompts": ("{word} of", "")}, "prompts", "number 3 has no token"),
        ({"words": (), "prompts": ("a {word}",)}, "words", "there is no word"),
        ({"words": ("Zanzibarian",)}, "words", "no word of the vocabulary"),
        ({"pairs": ((" of", "of"),)}, "pairs", "both sides of a pair"),
        ({"prompts": ("Who is Emma",)}, "prompts", "no prompt has ' a', ' of'"),
        ({"sentences": ("Who", " ")}, "sentences", "number 2 has no token"),
        ({"prompts": ("Who is {word} " * 200,)}, "prompts", "tokens, and 128 are read: shorten it"),
        ({"prompts": PROMPTS * 200}, "prompts", "800 prompts with their words: 512"),
    ],
)
def test_an_inquiry_that_cannot_be_answered_says_why(
    system: BackpackSystem,
    base: dict[str, SensesView],
    pair: tuple[str, str],
    changes: dict[str, Any],
    field: str,
    text: str,
) -> None:
    fields = {"pairs": (pair,), "words": WORDS, "prompts": PROMPTS} | changes
    with pytest.raises(BadInquiry, match=text) as error:
        system.measure_bias(BiasInquiry(**fields), base)
    assert error.value.field == field


def test_a_word_that_no_prompt_has_is_named(
    system: BackpackSystem, base: dict[str, SensesView], pair: tuple[str, str]
) -> None:
    report = system.measure_bias(BiasInquiry((pair,), WORDS, ("Who is of",)), base)
    assert report.warnings == ("no prompt has ' a'",)


def test_without_pairs_a_vocabulary_without_occupations_is_told(
    system: BackpackSystem, base: dict[str, SensesView]
) -> None:
    with pytest.raises(BadInquiry, match="too few of the pack's occupations and names"):
        system.measure_bias(BiasInquiry(), base)
    assert not any(" he " in statement for r in load_pack().relations.values() for statement in r.statements)
