"""The measures on a network that knows the answers, on one that does not, and on senses made for it."""

from pathlib import Path

import pytest
import torch
from torch import Tensor

from models.backpack.answering.prompt import Speller, write_exchange
from models.training.backpack.card import add_figures
from models.training.backpack.learning import Batches
from models.training.backpack.measure import Outcome, perplexity, put
from models.training.backpack.texts import Question, Texts


class Parrot:
    """Predicts each token of the documents that it was given, by the two tokens before it."""

    def __init__(self, rows: list[list[int]], vocab: int) -> None:
        self.embedding = torch.zeros(vocab, 4)
        self._next = {tuple(row[:place]): row[place] for row in rows for place in range(1, len(row))}

    def predict(self, ids: Tensor, is_real: Tensor) -> Tensor:
        logits = torch.zeros(*ids.shape, len(self.embedding))
        for row in range(len(ids)):
            tokens = ids[row][is_real[row]].tolist()
            places = is_real[row].nonzero().squeeze(1).tolist()
            for n_read, place in enumerate(places, 1):
                token = self._next.get(tuple(tokens[:n_read]))
                if token is not None:
                    logits[row, place, token] = 30.0
        return logits


@pytest.fixture
def questions(texts: Texts) -> list[Question]:
    return texts.questions("trained", 12)


@pytest.fixture
def parrot(batches: Batches, questions: list[Question]) -> Parrot:
    rows = [batches.encode(write_exchange(question.text, question.answer)) for question in questions]
    return Parrot(rows, 320)


def test_a_network_that_knows_all_is_right_and_sure(
    parrot: Parrot, batches: Batches, speller: Speller, questions: list[Question]
) -> None:
    outcomes = put(parrot, speller, questions)
    assert all(outcome.is_right for outcome in outcomes)
    assert all(abs(sum(outcome.logprobs)) < 1e-6 for outcome in outcomes)
    documents = [write_exchange(question.text, question.answer) for question in questions]
    _, answers = perplexity(parrot, batches, documents)
    assert answers == pytest.approx(1, abs=1e-6)


def test_an_answer_about_an_unknown_name_is_never_right(parrot: Parrot, speller: Speller) -> None:
    (outcome,) = put(parrot, speller, [Question("Who is that?", "")])
    assert not outcome.is_right
    assert not Outcome(Question("Who is that?", ""), "", (0.0,), True).is_right


def test_the_card_has_a_column_for_each_network(tmp_path: Path) -> None:
    add_figures(tmp_path, "backpack", {"parameters": 8_000_000.0})
    add_figures(tmp_path, "plain", {"parameters": 8_100_000.0})
    add_figures(tmp_path, "backpack", {"best_sense": 0.9})
    card = (tmp_path / "README.md").read_text()
    assert "| measured | backpack | plain |" in card
    assert "| parameters | 8,000,000 | 8,100,000 |" in card
    assert "| the same: best sense | 0.9 |  |" in card
