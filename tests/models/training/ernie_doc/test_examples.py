"""A step's documents are drawn by its number, and answers keep their text as tokens."""

from tokenizers import Tokenizer

from models.training.ernie_doc.composed import World
from models.training.ernie_doc.examples import Examples, tokenize_text
from models.training.ernie_doc.plan import DEFAULT
from models.training.reading.written.texts import Question, Text, read_texts


def test_answers_keep_their_text(tokenizer: Tokenizer) -> None:
    text = read_texts("train")[0]
    passage = tokenize_text(text, tokenizer, 32)
    assert len(passage.examples) == len(text.questions)
    for question, example in zip(text.questions, passage.examples, strict=True):
        if question.answer is None:
            assert example.span is None
        else:
            assert example.span is not None
            assert text.text[slice(*passage.document.cut(*example.span))] == question.answer


def test_an_answer_that_is_no_whole_number_of_tokens_is_left_out(tokenizer: Tokenizer) -> None:
    text = Text(
        "a", "the notice", (Question("what?", "tice", 6, "plain"), Question("what?", None, None, "plain"))
    )
    (example,) = tokenize_text(text, tokenizer, 32).examples
    assert example.span is None


def test_a_step_is_drawn_by_its_number(world: World, tokenizer: Tokenizer) -> None:
    first, second = (Examples(world, DEFAULT.mixture, tokenizer, 32, 1) for _ in range(2))
    texts = [passage.document.text for passage in first.step(3)]
    assert texts == [passage.document.text for passage in second.step(3)]
    assert texts != [passage.document.text for passage in second.step(4)]
    mixture = DEFAULT.mixture
    assert len(texts) == mixture.n_composed + mixture.n_excerpts + mixture.n_passages


def test_questions_are_cut_to_their_room(world: World, tokenizer: Tokenizer) -> None:
    passages = Examples(world, DEFAULT.mixture, tokenizer, 5, 1).step(0)
    assert max(len(example.ids) for passage in passages for example in passage.examples) == 5
