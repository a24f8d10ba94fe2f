"""How relations are ranked: by what their labels say, once and for all."""

import torch

from models.encoder.minilm import WIDTH, MiniLM
from models.kbert.relevance import Relevance, masked
from models.kbert.remembered import Remembered


def test_the_mention_is_masked() -> None:
    assert masked("Where was Kim born?", 10, 13) == "Where was X born?"


def test_a_relation_that_nobody_trained_on_is_ranked_by_its_label() -> None:
    question = "Who wrote X?"
    labels = ["birthday", "author", "price", "author"]
    (ranks,) = Relevance(MiniLM()).ranks([(question, labels)])
    assert list(ranks) == ["birthday", "author", "price"]
    assert max(ranks, key=lambda label: ranks[label]) == "author"
    assert all(-1 <= rank <= 1 for rank in ranks.values())


def test_a_question_without_labels_has_no_ranks() -> None:
    assert Relevance(MiniLM()).ranks([("Who wrote X?", [])]) == [{}]


def test_texts_are_read_once_and_the_oldest_are_forgotten() -> None:
    read: list[str] = []

    def vectors(texts: list[str]) -> torch.Tensor:
        read.extend(texts)
        return torch.zeros(len(texts), WIDTH)

    known = Remembered(vectors, most=2)  # type: ignore[arg-type]
    known.of(["a", "b", "a"])
    known.of(["b", "c"])
    known.of(["a"])
    assert read == ["a", "b", "c", "a"]
