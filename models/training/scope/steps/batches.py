"""The pairs of the judge's training as batches of token ids, made by processes while the device learns."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from models.encoder.weights import find
from models.packs.pack import Pack
from models.scope.judge import MAX_TOKENS
from models.scope.readings import pack_tokens
from models.scope.values import spell_values
from models.scope.wordings.mentions import N_MARKS, NO_MARK, mark_mentions
from models.scope.wordings.names import NameWeights, WordReader
from models.training.kit.plan import Plan
from models.training.scope.crowds.pairs import CrowdPairs
from models.training.scope.facts import TrainingPair
from models.training.scope.order.pairs import OrderPairs
from models.training.scope.pairs import PairMaker, Source
from models.training.scope.wordnet import FOLDER as WORDNET
from models.training.scope.written import WrittenFact
from models.training.texts.relations import RelationText

WAITING = 32  # batches that each process has ready
Ids = Sequence[Sequence[int]]


class Batch(NamedTuple):
    """Pairs as token ids, in both orders of their texts."""

    ids: Int[Tensor, "2 pair token"]  # ids of both texts, one behind the other; 0 at padding
    marks: Int[Tensor, "2 pair token"]  # number of the mark of each token; 0 for none
    first: Int[Tensor, "2 pair"]  # tokens of the text that stands first
    length: Int[Tensor, " pair"]  # tokens of both
    is_same: Float[Tensor, " pair"]  # whether they ask for the same

    def to(self, device: torch.device) -> "Batch":
        """Return the batch on a device."""
        return Batch(*(part.to(device, non_blocking=True) for part in self))


class PoolMaker:
    """Makes pools of pairs in the shares of the plan, and batches of them."""

    def __init__(self, plan: Plan, source: Source, names: NameWeights, rng: random.Random) -> None:
        self._plan, self._rng, self._tokenizer = plan, rng, find().tokenizer()
        self._pairs, self._near = PairMaker(source, plan, rng), CrowdPairs(source, plan, rng)
        self._order = OrderPairs(source, plan, rng)
        self._words = WordReader(self._tokenizer, find().weights["embeddings.word_embeddings.weight"], names)

    def draw(self) -> list[TrainingPair]:
        """Draw a pool."""
        mix, size = self._plan.mix, self._plan.pool
        shares = (mix.crowds + mix.families + mix.coverage, mix.order, mix.figures)
        n_near, n_order, n_figures = (round(size * share) for share in shares)
        return [
            *self._pairs.draw(size - n_near - n_order - n_figures),
            *self._near.draw(n_near),
            *self._order.draw(n_order, n_figures),
        ]

    def batches(self) -> list[Batch]:
        """Draw a pool as batches in random order; pairs of similar length are in one batch."""
        pairs, size = self.draw(), self._plan.batch
        rows = sorted(
            zip(*read_tokens(self._tokenizer, pairs), pairs, strict=True),
            key=lambda row: len(row[0]) + len(row[1]),
        )
        parts = [list(zip(*rows[start : start + size], strict=True)) for start in range(0, len(rows), size)]
        batches = [
            write_batch(a, b, self._mark(a, b), [pair.is_same for pair in part]) for a, b, part in parts
        ]
        self._rng.shuffle(batches)
        return batches

    def _mark(self, first: Ids, second: Ids) -> list[tuple[bytes, bytes]]:
        """Mark the mentions of pairs in both orders, in random order: no mark means more than another."""
        rows = []
        for texts in zip(first, second, strict=True):
            words = [self._words.read(pack_tokens(ids)) for ids in texts]
            order = bytes([NO_MARK, *self._rng.sample(range(1, N_MARKS + 1), N_MARKS)]).ljust(256)
            rows.append(
                (mark_mentions(*words).translate(order), mark_mentions(*words[::-1]).translate(order))
            )
        return rows


def read_tokens(tokenizer: Tokenizer, pairs: Sequence[TrainingPair]) -> tuple[Ids, Ids]:
    """Read both texts of each pair as the judge does."""

    def read(texts: list[str]) -> Ids:
        rows = [encoding.ids for encoding in tokenizer.encode_batch([*map(spell_values, texts)])]
        return [ids if len(ids) <= MAX_TOKENS else [*ids[: MAX_TOKENS - 1], ids[-1]] for ids in rows]

    return read([pair.first for pair in pairs]), read([pair.second for pair in pairs])


def write_batch(
    first: Ids, second: Ids, marks: Sequence[tuple[bytes, bytes]], is_same: Sequence[bool]
) -> Batch:
    """Write the tokens of pairs, and the marks of both orders, into one tensor each."""
    orders = (first, second), (second, first)
    rows = [torch.tensor([*a, *b]) for texts in orders for a, b in zip(*texts, strict=True)]
    n_tokens = torch.tensor([[len(ids) for ids in texts] for texts in (first, second)])
    ids = pad_sequence(rows, batch_first=True).view(2, len(first), -1)
    turns = [torch.tensor(list(turn)) for order in zip(*marks, strict=True) for turn in order]
    of_tokens = pad_sequence(turns, batch_first=True).view_as(ids)
    return Batch(ids, of_tokens, n_tokens, n_tokens.sum(0), torch.tensor(is_same).float())


@dataclass
class Batches(IterableDataset[Batch]):
    """Endless batches; each process draws others. `start` tells the runs of a training apart."""

    plan: Plan
    pack: Path
    relations: Mapping[str, RelationText]
    facts: Sequence[WrittenFact]
    names: NameWeights  # by which words are marked as mentions
    sets: Path
    start: int = 0
    wordnet: Path = WORDNET

    def source(self) -> Source:
        """Read what pairs are drawn from."""
        pack = Pack.load(self.pack)
        return Source.read(pack, self.plan.seed, self.relations, self.facts, self.sets, self.wordnet)

    def __iter__(self) -> Iterator[Batch]:
        process = get_worker_info()
        rng = random.Random(f"{self.plan.seed}/{self.start}/{process.id if process else 0}")
        maker = PoolMaker(self.plan, self.source(), self.names, rng)
        while True:
            yield from maker.batches()

    def load(self, processes: int) -> DataLoader[Batch]:
        """Return the batches of `processes` processes; with none, they are made in this one."""
        context, ahead = ("spawn", WAITING) if processes else (None, None)
        return DataLoader(
            self,
            batch_size=None,
            num_workers=processes,
            multiprocessing_context=context,
            prefetch_factor=ahead,
        )
