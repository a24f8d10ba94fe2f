"""Scores of given answers: the log-probability of each as a whole, the end of its line included."""

from collections.abc import Sequence

import torch

from models.backpack.generate import collate
from models.backpack.network import Backpack, SenseEdits

TOO_LONG = -1e6  # below the log-probability of any text that the network reads


def score_candidates(
    model: Backpack,
    prompt: Sequence[int],
    candidates: Sequence[Sequence[int]],
    edits: SenseEdits | None = None,
) -> list[float]:
    """Return the log-probability of each candidate behind a prompt.

    Args:
        model: The network.
        prompt: Tokens of the question.
        candidates: Tokens of each answer, its end included.
        edits: Edited senses, the same for all candidates.

    Returns:
        The scores; TOO_LONG for a candidate that leaves no room for the prompt.
    """
    return [_score(model, prompt, candidate, edits) for candidate in candidates]


def _score(
    model: Backpack, prompt: Sequence[int], candidate: Sequence[int], edits: SenseEdits | None
) -> float:
    room = model.config.positions - len(candidate)
    if room < 1:
        return TOO_LONG
    question = list(prompt)[-room:]
    ids, _ = collate(model, [[*question, *candidate]])
    logits = model(ids[:, :-1], None, edits).logits[0, len(question) - 1 :]
    logprobs = model.mask_padding(logits).log_softmax(-1)
    return float(logprobs.gather(-1, ids[0, len(question) :, None]).double().sum())


def rank(scores: Sequence[float]) -> tuple[list[int], list[float]]:
    """Return the places of candidates, the best first and equal ones in their order, and the share of each."""
    order = sorted(range(len(scores)), key=lambda place: -scores[place])
    shares = torch.tensor(scores, dtype=torch.float64).softmax(-1).tolist()
    return order, [shares[place] for place in order]
