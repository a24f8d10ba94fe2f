"""Classes, ranks and tags: what the heads make of the encoder's states, with padding left out."""

from collections.abc import Callable

import pytest
import torch

from models.kbert import Classifier, Encoder, InputRefused, Reader, Tagger, collate
from models.kbert.pool import Pooling, pool
from models.kbert.ranker import rank_candidates, scores
from models.kbert.tagger import token_labels

Build = Callable[..., Encoder]
Read = Callable[..., Reader]
POOLINGS: tuple[Pooling, ...] = ("first", "mean", "max", "last")
HIDDEN = torch.tensor([[[1.0], [-5.0], [3.0], [9.0]], [[-4.0], [-2.0], [9.0], [9.0]]])
REAL = torch.tensor([[True, True, True, False], [True, True, False, False]])


@pytest.mark.parametrize(
    ("how", "without", "padded"),
    [
        ("first", [1, -4], [1, -4]),
        ("mean", [-1 / 3, -3], [2, 3]),
        ("max", [3, -2], [9, 9]),
        ("last", [3, -2], [9, 9]),
    ],
)
def test_pooling_leaves_padding_out_unless_told(
    how: Pooling, without: list[float], padded: list[float]
) -> None:
    torch.testing.assert_close(pool(HIDDEN, REAL, how)[:, 0], torch.tensor(without, dtype=torch.float))
    torch.testing.assert_close(pool(HIDDEN, REAL, how, True)[:, 0], torch.tensor(padded, dtype=torch.float))


@pytest.mark.parametrize("pooling", POOLINGS)
def test_a_class_does_not_depend_on_the_batch(build: Build, reader: Read, pooling: Pooling) -> None:
    model = Classifier(build(), 3, pooling).eval()
    rows = [reader().single(text) for text in ("爱吃苹果哈在北京", "好", "北京好")]
    together = model(collate(rows, 0, 30))
    alone = torch.cat([model(collate([row], 0)) for row in rows])
    torch.testing.assert_close(together, alone, atol=1e-5, rtol=0)


def test_candidates_come_best_first_with_what_was_read(build: Build, reader: Read) -> None:
    torch.manual_seed(1)
    model = Classifier(build(), 2, "first").eval()
    candidates = ["好", "北京", "爱", "好"]
    ranked = rank_candidates(model, reader(), "爱吃苹果", candidates)
    assert [one.candidate for one in ranked] == [candidates[one.place] for one in ranked]
    assert [one.score for one in ranked] == sorted((one.score for one in ranked), reverse=True)
    first, second = (rank for rank, one in enumerate(ranked) if one.candidate == "好")
    assert second == first + 1
    assert ranked[first].place < ranked[second].place, "equal scores keep the order of the request"
    by_candidate = {one.candidate: [fact.text for fact in one.row.tree.facts] for one in ranked}
    assert by_candidate["北京"] == ["产地山东", "属于水果", "是首都"]
    batch = collate([one.row for one in ranked], 0)
    expected = torch.softmax(model(batch), -1)[:, 1]
    torch.testing.assert_close(scores(model, batch), expected)
    assert rank_candidates(model, reader(), "爱", []) == []


def test_an_empty_candidate_is_refused(build: Build, reader: Read) -> None:
    with pytest.raises(InputRefused, match="the second text is empty"):
        rank_candidates(Classifier(build(), 2, "first").eval(), reader(), "爱", ["好", " "])


def test_a_head_without_enough_classes_is_refused(build: Build) -> None:
    with pytest.raises(ValueError, match="two classes or more, not 1"):
        Classifier(build(), 1, "first")
    with pytest.raises(ValueError, match="at least one tag, not 2"):
        Tagger(build(), 2)


def test_the_loss_of_tags_counts_injected_tokens_and_leaves_padding_out() -> None:
    logits = torch.zeros(1, 4, 4)
    logits[0, :, 1] = 2
    loss = Tagger.loss(logits, torch.tensor([[1, 1, 2, 0]]))
    chance = torch.log_softmax(logits[0, 0], -1)
    torch.testing.assert_close(loss, -(2 * chance[1] + chance[2]) / (3 + 1e-6))
    assert Tagger.loss(logits, torch.zeros(1, 4, dtype=torch.long)) == 0


def test_labels_follow_their_characters_around_facts_and_spaces(reader: Read) -> None:
    text, labels = "爱 苹果好", [2, 0, 3, 4, 2]
    row = reader(predicate=False).tagging(text)
    assert "".join(token.text for token in row.tokens) == "爱苹果山东水果好"
    assert token_labels(row, labels) == [2, 3, 4, 1, 1, 1, 1, 2]
    with pytest.raises(ValueError, match="4 labels for a text of 5 characters"):
        token_labels(row, labels[:4])
