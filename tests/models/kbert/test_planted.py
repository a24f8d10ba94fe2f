"""A question and its facts as one row; objects keep their places and stay whole."""

import pytest
from tokenizers import Tokenizer

from models.encoder.weights import find
from models.kbert.choice import Chosen, choose
from models.kbert.config import ReadingConfig
from models.kbert.errors import InputRefused
from models.kbert.planted import Planted, plant
from models.kbert.tokens import Tokens, WordPieces
from models.system import Ask
from tests.models.kbert.told import KIM, linked, with_facts

READING = ReadingConfig(max_length=64, max_entities=6)
RANKS = {"place of birth": 0.9, "occupation": 0.2, "spouse": 0.4, "borders": 0.5}


@pytest.fixture(scope="module")
def pieces() -> Tokens:
    return WordPieces(Tokenizer.from_file(str(find().tokenizer)))


def chosen(ask: Ask) -> list[Chosen]:
    return choose(ask.mentions, [RANKS] * len(ask.mentions), most=6, words=4)


def object_texts(planted: Planted) -> list[str]:
    tokens = planted.row.tokens
    return [
        hung.branch.text[tokens[first].start : tokens[last].end]
        for hung, (first, last) in zip(planted.hung, planted.objects, strict=True)
    ]


def test_facts_hang_on_the_mention_and_count_on_from_it(pieces: Tokens) -> None:
    ask = linked("Where was Kim Lee born?", "Kim Lee", KIM)
    planted = plant(ask.question, None, chosen(ask), pieces, READING)
    trunk = [token.text for token in planted.row.tokens if not token.injected]
    assert trunk == ["[CLS]", "where", "was", "kim", "lee", "born", "?"]
    first = [token for token in planted.row.tokens if token.branch == 1]
    assert [(token.text, token.position) for token in first] == [
        *(("place", 5), ("of", 6), ("birth", 7), ("oslo", 8)),
    ]
    assert object_texts(planted) == ["Oslo", "Ada Berg", "painter"]


def test_a_second_text_follows_the_question(pieces: Tokens) -> None:
    ask = linked("Where was Kim Lee born?", "Kim Lee", KIM)
    planted = plant(ask.question, "In Oslo, they say.", chosen(ask), pieces, READING)
    assert planted.row.kind == "pair"
    assert [t.text for t in planted.row.tokens if t.part == 1 and not t.tag] == [
        "in",
        "oslo",
        ",",
        "they",
        "say",
        ".",
    ]
    assert object_texts(planted) == ["Oslo", "Ada Berg", "painter"]


def test_a_fact_that_has_no_room_is_left_out_whole(pieces: Tokens) -> None:
    long = with_facts(("borders", "borders", "many " * 80), ("spouse", "spouse", "Ada Berg"))
    ask = linked("Where was Kim Lee born?", "Kim Lee", long)
    planted = plant(ask.question, None, chosen(ask), pieces, READING)
    assert object_texts(planted) == ["Ada Berg"]


def test_an_object_without_a_token_has_no_place(pieces: Tokens) -> None:
    ask = linked("Where was Kim Lee born?", "Kim Lee", with_facts(("spouse", "spouse", "\u200b")))
    planted = plant(ask.question, None, chosen(ask), pieces, READING)
    assert planted.objects == ((0, 0),)


@pytest.mark.parametrize("second", [None, "\u200b"])
def test_a_text_without_a_token_is_refused(pieces: Tokens, second: str | None) -> None:
    with pytest.raises(InputRefused, match="holds no token"):
        plant("\u200b" if second is None else "Who?", second, [], pieces, READING)
