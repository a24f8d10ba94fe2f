"""A question and its answer are spelled as the training text has them, in any script."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.backpack.reader import Reader, Speller, write_exchange

answers = st.text(
    st.characters(exclude_characters="\n", exclude_categories=("Cs", "Zs", "Zl", "Zp", "Cc")), min_size=1
)


@pytest.fixture(scope="module")
def speller(reader: Reader) -> Speller:
    return reader.speller


@given(answer=answers)
def test_prompt_and_answer_are_the_tokens_of_the_exchange(speller: Speller, answer: str) -> None:
    question = "Where  is\nLima?"
    parts = [*speller.ask(question), *speller.answer(answer)]
    assert speller.read(parts) == write_exchange(question, answer) == f"Q: Where is Lima?\nA: {answer}\n"
    assert speller.say(speller.answer(answer)) == answer


@given(answer=answers)
def test_what_is_settled_never_changes(speller: Speller, answer: str) -> None:
    tokens = speller.answer(answer)[:-1]
    texts = [speller.settle(tokens[:count]) for count in range(len(tokens) + 1)]
    for earlier, later in zip(texts, [*texts[1:], answer], strict=True):
        assert later.startswith(earlier)


def test_a_quoted_end_token_is_plain_text(speller: Speller, reader: Reader) -> None:
    tokens = speller.ask("What does <|end|> mean?")
    assert reader.model.config.end not in tokens
    assert speller.read(tokens) == "Q: What does <|end|> mean?\nA:"
