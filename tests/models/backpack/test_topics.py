"""Topic control: scores, multipliers, and annealing that looks back alone."""

import torch

from models.backpack.network import Backpack
from models.backpack.topics import TopicControl, score_senses
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


def test_a_control_never_looks_ahead_and_a_cache_changes_nothing(backpack: Backpack) -> None:
    control = TopicControl.of(backpack, [7, 12], 3)
    whole = backpack(IDS, edits=control)
    torch.testing.assert_close(whole.logits[:, :3], backpack(IDS[:, :3], edits=control).logits)
    first = backpack(IDS[:, :3], edits=control)
    second = backpack(IDS[:, 3:], edits=control, past=first.cache)
    torch.testing.assert_close(second.logits, whole.logits[:, 3:], atol=1e-5, rtol=1e-5)
