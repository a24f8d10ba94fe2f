"""Trains SERAC's scope classifier (methods/nearest.py): `python -m tests.bench.editing_methods.serac`.

It learns from what the judge of the scope learns from too: groups and pairs of the editing sets, and trained phrasings
of the pack. No held phrasing, and no set of sets.py, is among them.
"""

import argparse
import gzip
import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from torch import Tensor

from models.encoder.minilm import MiniLM
from models.packs.pack import Pack
from models.training.scope.facts import read_groups
from models.training.scope.natural import FILE as PAIRS
from tests.bench.editing_methods.draw import canonical_question, trained_phrasings
from tests.bench.editing_methods.methods.nearest import WEIGHTS, classify
from tests.bench.editing_methods.sets import SETS

HIDDEN, DROPOUT, RATE, DECAY = 128, 0.2, 1e-3, 1e-2
EPOCHS, BATCH, ENCODED = 30, 256, 64
N_GROUPS, N_PAIRS, N_FACTS = 500, 3_000, 500
CHANCE_PAIRS = 1  # pairs of two groups for each pair of one

Pair = tuple[str, str, float]


def draw_pairs(sets: Path, rng: random.Random) -> list[Pair]:
    """Return pairs of texts, with 1.0 for those that ask for the same."""
    pairs: list[Pair] = []
    groups = rng.sample(read_groups(sets), N_GROUPS)
    for group in groups:
        pairs += [(group.question, text, 1.0) for text in (group.question, *group.same)]
        pairs += [(group.question, text, 0.0) for _, text in group.near]
    with gzip.open(sets / PAIRS, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    pairs += [(row["a"], row["b"], float(row["same"])) for row in rng.sample(rows, N_PAIRS)]
    pairs += _draw_pack_pairs(rng)
    texts = [group.question for group in groups]
    return pairs + [(*rng.sample(texts, 2), 0.0) for _ in range(CHANCE_PAIRS * len(pairs))]


def _draw_pack_pairs(rng: random.Random) -> Iterator[Pair]:
    """Yield each fact with a trained phrasing, with its relation of another subject, and with another relation."""
    pack = Pack.load()
    items = list(pack.items())
    for item in rng.sample(items, N_FACTS):
        question = canonical_question(item)
        yield question, question, 1.0
        yield question, rng.choice(trained_phrasings(item)[1:]), 1.0
        other_subject = rng.choice(items).subject.label
        yield question, item.relation.question(other_subject), float(other_subject == item.subject.label)
        relation = rng.choice(list(pack.relations.values()))
        yield question, relation.question(item.subject.label), float(relation.id == item.relation.id)


@torch.inference_mode()
def _encode(texts: Sequence[str]) -> dict[str, Tensor]:
    encoder, vectors = MiniLM(), dict[str, Tensor]()
    by_length = sorted(set(texts), key=len)
    for start in range(0, len(by_length), ENCODED):
        batch = by_length[start : start + ENCODED]
        vectors.update(zip(batch, encoder.encode(batch).sentences.clone(), strict=True))
        if not start // ENCODED % 20:
            print(f"{start:,} of {len(by_length):,} texts are read", flush=True)
    return vectors


def train(pairs: Sequence[Pair], seed: int = 0) -> dict[str, Tensor]:
    """Train a classifier on pairs of texts and return its weights."""
    vectors = _encode([text for first, second, _ in pairs for text in (first, second)])
    u, v = (torch.stack([vectors[pair[side]] for pair in pairs]) for side in (0, 1))
    same = torch.tensor([pair[2] for pair in pairs])
    generator = torch.Generator().manual_seed(seed)
    torch.manual_seed(seed)
    width = 2 * u.shape[1]
    weights = {
        "W": torch.randn(HIDDEN, width, generator=generator) / width**0.5,
        "b": torch.zeros(HIDDEN),
        "w": torch.randn(HIDDEN, generator=generator) / HIDDEN**0.5,
        "c": torch.zeros(()),
    }
    optimiser = torch.optim.AdamW([w.requires_grad_() for w in weights.values()], RATE, weight_decay=DECAY)
    for epoch in range(EPOCHS):
        total = 0.0
        for batch in torch.randperm(len(pairs), generator=generator).split(BATCH):
            log_odds = classify(weights, u[batch], v[batch], DROPOUT)
            loss = F.binary_cross_entropy_with_logits(log_odds, same[batch])
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            total += float(loss) * len(batch)
        print(f"epoch {epoch + 1}: {total / len(pairs):.4f}", flush=True)
    return {name: weight.detach() for name, weight in weights.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description="Train SERAC's scope classifier.")
    parser.add_argument("--sets", type=Path, default=SETS, help="the editing sets")
    pairs = draw_pairs(parser.parse_args().sets, random.Random(0))
    print(f"{len(pairs):,} pairs", flush=True)
    weights = train(pairs)
    save_file({name: weight.half().contiguous() for name, weight in weights.items()}, WEIGHTS)


if __name__ == "__main__":
    main()
