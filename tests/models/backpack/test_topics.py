"""Topic control: scores, multipliers, and annealing that looks back alone."""

import pytest
import torch

from models.backpack.network import Backpack
from models.backpack.topics import TopicControl, multipliers, score_senses
from tests.models.backpack.conftest import CONFIG

IDS = torch.tensor([[5, 9, 30, 5, 12]])


def test_the_senses_that_point_at_the_topic_score_highest(backpack: Backpack) -> None:
    topic = [7, 12]
    scores = score_senses(backpack, topic)
    logits = backpack.senses_of(torch.tensor(9)) @ backpack.embedding.T
    expected = logits[:, topic].sum(-1) / logits.amax(-1)
    torch.testing.assert_close(scores[9], torch.where(logits.amax(-1) > 0, expected, 0.0))
    assert not scores[CONFIG.end].any()
    assert not scores[CONFIG.words :].any()


def test_multipliers_follow_the_quantiles_of_the_scores() -> None:
    scores = torch.arange(101.0)[:, None]
    table = multipliers(scores, 3).squeeze(1)
    assert table[[100, 95, 94, 80, 79, 60]].tolist() == pytest.approx([3.3, 3.3, 3.3, 3.3, 3.0, 3.0])
    assert multipliers(scores, 2).squeeze(1)[[95, 94, 60, 59]].tolist() == pytest.approx([2.2, 2.2, 1.5, 1.0])
    assert multipliers(scores, 2, strict=True).squeeze(1)[[60, 61]].tolist() == pytest.approx([1.0, 1.5])


def test_no_strength_changes_nothing(backpack: Backpack) -> None:
    control = TopicControl.of(backpack, [7], 0)
    torch.testing.assert_close(backpack(IDS, edits=control).logits, backpack(IDS).logits)


def test_a_control_never_looks_ahead_and_a_cache_changes_nothing(backpack: Backpack) -> None:
    control = TopicControl.of(backpack, [7, 12], 3)
    whole = backpack(IDS, edits=control)
    torch.testing.assert_close(whole.logits[:, :3], backpack(IDS[:, :3], edits=control).logits)
    first = backpack(IDS[:, :3], edits=control)
    second = backpack(IDS[:, 3:], edits=control, past=first.cache)
    torch.testing.assert_close(second.logits, whole.logits[:, 3:], atol=1e-5, rtol=1e-5)


def test_an_unknown_topic_and_strength_are_refused(backpack: Backpack) -> None:
    with pytest.raises(ValueError, match="no word that the vocabulary knows"):
        score_senses(backpack, [CONFIG.words, -1])
    with pytest.raises(ValueError, match="0, 1, 2 or 3"):
        multipliers(torch.zeros(2, 2), 4)
