"""Scores of given answers: the log-probability of each as a whole, the end of its line included.

The question is read once for all candidates, and they are read behind it in batches.
"""

from collections.abc import Sequence

import torch
from more_itertools import chunked

from models.backpack.generate import collate
from models.backpack.network import Backpack, Reading, SenseEdits

TOO_LONG = -1e6  # below the log-probability of any text that the network reads
BATCH = 32  # candidates that are read together; each has a copy of the question's cache


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
        The scores; TOO_LONG for a candidate that leaves no room for the prompt. One that leaves too little room is
        read behind the end of the prompt.
    """
    room = model.config.positions - len(prompt)
    fitting = [place for place, candidate in enumerate(candidates) if len(candidate) <= room]
    scores = {
        place: _score_alone(model, prompt, candidate, edits)
        for place, candidate in enumerate(candidates)
        if len(candidate) > room
    }
    question = _read(model, prompt, edits) if fitting else None
    # Candidates of one length have no padding between them.
    for places in chunked(sorted(fitting, key=lambda place: len(candidates[place])), BATCH):
        assert question is not None, "some candidate fits"
        batch = [candidates[place] for place in places]
        scores |= dict(zip(places, _score_together(model, question, batch, edits), strict=True))
    return [scores[place] for place in range(len(candidates))]


def _read(model: Backpack, tokens: Sequence[int], edits: SenseEdits | None) -> Reading:
    ids, _ = collate(model, [tokens])
    reading: Reading = model(ids, None, edits)
    return reading


def _score_together(
    model: Backpack, question: Reading, candidates: Sequence[Sequence[int]], edits: SenseEdits | None
) -> list[float]:
    """Score candidates behind a question that was read."""
    length, device = max(map(len, candidates)), model.embedding.device
    pad = model.config.end
    ids = torch.tensor([[*row, *[pad] * (length - len(row))] for row in candidates], device=device)
    is_real = (
        torch.arange(length, device=device) < torch.tensor(list(map(len, candidates)), device=device)[:, None]
    )
    logits = question.logits[:, -1:].expand(len(candidates), -1, -1)
    if length > 1:
        cache = question.cache.select(torch.zeros(len(candidates), dtype=torch.long, device=device))
        logits = torch.cat([logits, model(ids[:, :-1], is_real[:, :-1], edits, cache).logits], 1)
    logprobs = model.mask_padding(logits).log_softmax(-1).gather(-1, ids[..., None]).squeeze(-1)
    scores: list[float] = logprobs.double().masked_fill(~is_real, 0.0).sum(-1).tolist()
    return scores


def _score_alone(
    model: Backpack, prompt: Sequence[int], candidate: Sequence[int], edits: SenseEdits | None
) -> float:
    """Score a candidate that leaves no room for the whole prompt."""
    room = model.config.positions - len(candidate)
    if room < 1:
        return TOO_LONG
    return _score_together(model, _read(model, list(prompt)[-room:], edits), [candidate], edits)[0]


def rank(scores: Sequence[float]) -> tuple[list[int], list[float]]:
    """Return the places of candidates, the best first and equal ones in their order, and the share of each."""
    order = sorted(range(len(scores)), key=lambda place: -scores[place])
    shares = torch.tensor(scores, dtype=torch.float64).softmax(-1).tolist()
    return order, [shares[place] for place in order]
