"""The sense that carries the difference between two words, and the effect of a multiplier on it.

Hewitt et al., arXiv:2305.16765, section 5.3. With f on the weight of sense l at the places J of some words,

    o_t(f) = o_t + (f - 1) sum over j in J of alpha[l, t, j] C(x_j)_l

and alpha does not change, so each text is read once for all senses and multipliers. The authors' sense belongs to one
checkpoint; here it is the one whose part of the pair's log-odds is largest. Their measure is the average over prompts
of max(p(a) / p(b), p(b) / p(a)).
"""

import math
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from more_itertools import chunked
from torch import Tensor

from models.backpack.generate import collate
from models.backpack.network import Backpack, SenseEdits
from models.senses import BiasPoint, SenseShare

BATCH = 32  # texts that are read together


@dataclass(frozen=True)
class Parts:
    """Texts, with the parts of some words' senses in each output.

    Attributes:
        ids: The tokens, padded on the left [text token].
        is_real: False at padding [text token].
        output: Output o of the network [text token width].
        parts: What each sense of the words adds to it [text sense token width].
    """

    ids: Int[Tensor, "text token"]
    is_real: Bool[Tensor, "text token"]
    output: Float[Tensor, "text token width"]
    parts: Float[Tensor, "text sense token width"]

    def multiply(self, sense: int, multiplier: float) -> Float[Tensor, "text token width"]:
        """Return the output with a multiplier on one sense of the words."""
        return self.output + (multiplier - 1) * self.parts[:, sense]


def read_parts(
    model: Backpack, texts: Sequence[Sequence[int]], words: Set[int], edits: SenseEdits | None
) -> Iterator[Parts]:
    """Read texts, those of similar length together.

    Args:
        model: The network.
        texts: Tokens of each text.
        words: Tokens whose senses are taken apart.
        edits: Edits of senses that act on all texts.
    """
    tokens = torch.tensor(sorted(words), device=model.embedding.device)
    for batch in chunked(sorted(texts, key=len), BATCH):
        ids, is_real = collate(model, batch)
        reading = model(ids, is_real, edits)
        is_word = (torch.isin(ids, tokens) & is_real).to(reading.senses.dtype)
        word_senses = reading.senses * is_word[..., None, None]
        parts = torch.einsum("bltj,bjld->bltd", reading.alpha, word_senses)
        yield Parts(ids, is_real, reading.output, parts)


def share_difference(
    model: Backpack, prompts: Sequence[Parts], pair: tuple[int, int]
) -> tuple[SenseShare, ...]:
    """Return the part of each sense of the words in the log-odds of a pair after the prompts, the largest first."""
    direction = model.embedding[pair[0]] - model.embedding[pair[1]]
    shares = torch.cat([prompt.parts[:, :, -1] @ direction for prompt in prompts])
    rows = zip(shares.mean(0).tolist(), shares.abs().mean(0).tolist(), strict=True)
    return tuple(
        sorted(
            (SenseShare(sense, mean, size) for sense, (mean, size) in enumerate(rows)),
            key=lambda share: -share.mean_size,
        )
    )


def measure_multiplier(
    model: Backpack,
    prompts: Sequence[Parts],
    sentences: Sequence[Parts],
    pair: tuple[int, int],
    sense: int,
    multiplier: float,
) -> BiasPoint:
    """Measure the effect of a multiplier on a sense of the words on a pair and on all other words."""
    ratios: list[float] = []
    shifts: list[float] = []
    for prompt in prompts:
        before, after = (
            _predict(model, output[:, -1]) for output in (prompt.output, prompt.multiply(sense, multiplier))
        )
        ratios += (after[:, pair[0]] - after[:, pair[1]]).abs().exp().tolist()
        differences = (after.exp() - before.exp()).abs()
        differences[:, list(pair)] = 0
        shifts += (differences.sum(-1) / 2).tolist()
    median = torch.tensor(ratios, dtype=torch.float64).quantile(0.5)
    return BiasPoint(
        multiplier,
        sum(ratios) / len(ratios),
        float(median),
        _measure_perplexity(model, sentences, sense, multiplier),
        sum(shifts) / len(shifts),
    )


def _measure_perplexity(model: Backpack, sentences: Sequence[Parts], sense: int, multiplier: float) -> float:
    """Return the perplexity of all tokens but the first of each sentence."""
    total, count = 0.0, 0
    for sentence in sentences:
        logprobs = _predict(model, sentence.multiply(sense, multiplier)[:, :-1])
        losses = -logprobs.gather(-1, sentence.ids[:, 1:, None]).squeeze(-1)
        is_counted = sentence.is_real[:, :-1]
        total += float(losses[is_counted].double().sum())
        count += int(is_counted.sum())
    return math.exp(total / max(1, count))


def _predict(model: Backpack, output: Float[Tensor, "*place width"]) -> Float[Tensor, "*place vocab"]:
    """Return the log-probabilities of the next words in double precision."""
    logprobs: Tensor = model.mask_padding(output @ model.embedding.T).double().log_softmax(-1)
    return logprobs
