"""The pairs of the judge's training as batches of token ids, made by processes while the device learns."""

import multiprocessing
import queue
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer

from models.encoder.weights import find
from models.packs.pack import WORLD, Pack
from models.scope.judge import MAX_TOKENS
from models.training.scope.crowds.coverage import Coverage
from models.training.scope.crowds.crowd import RealCrowds
from models.training.scope.crowds.families import read_families
from models.training.scope.crowds.pairs import CrowdPairs
from models.training.scope.facts import WrittenFact
from models.training.scope.names import Names
from models.training.scope.natural import Natural
from models.training.scope.order.figures import split_figures
from models.training.scope.order.frames import split_frames
from models.training.scope.order.pairs import OrderPairs
from models.training.scope.pairs import PairMaker, TrainingPair, read_forms
from models.training.scope.plan import Plan
from models.training.scope.relations import AskedRelation
from models.training.scope.rewrites import Rewriter
from models.training.scope.wordnet import FOLDER as WORDNET
from models.training.scope.wordnet import WordNet

WAITING = 256  # largest number of batches that wait for the device
MEMORY, FEWEST = (
    4_096,
    64,
)  # batches that may be read again, and how many there have to be, while no new one is there


@dataclass(frozen=True)
class Batch:
    """Pairs as token ids, the second text of each behind the first."""

    ids: NDArray[np.int32]  # ids of both texts, 0 at padding
    first: NDArray[np.int32]  # tokens of the first text
    length: NDArray[np.int32]  # tokens of both
    is_same: NDArray[np.float32]  # whether they ask for the same


@dataclass(frozen=True)
class Source:
    """What pairs are made of: relations and facts to learn from, the editing sets, WordNet."""

    relations: Mapping[str, AskedRelation]
    facts: Sequence[WrittenFact]
    sets: Path
    wordnet: Path = WORDNET


class PoolMaker:
    """Makes pools of pairs in the shares of the plan, and batches of them."""

    def __init__(self, plan: Plan, source: Source, rng: random.Random) -> None:
        self._plan, self._rng = plan, rng
        forms = read_forms()
        names, rewriter = Names(Pack.load(WORLD), "train", forms), Rewriter(forms, WordNet(source.wordnet))
        self._pairs = PairMaker(
            source.relations, names, Natural(source.sets), source.facts, rewriter, forms, rng
        )
        families, real = read_families(plan.seed), RealCrowds(names.by_type)
        self._near = CrowdPairs(source.relations, families, Coverage.read(), names, real, rewriter, rng)
        frames, sorts = split_frames(plan.seed)[0], split_figures(plan.seed)[0]
        self._order = OrderPairs(frames, sorts, rewriter, rng)
        self._tokenizer = find().tokenizer()
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()

    def draw(self) -> list[TrainingPair]:
        """Draw a pool."""
        mix = self._plan.mix
        n_near, n_order, n_figures = (
            round(self._plan.pool * share) for share in (mix.near, mix.order, mix.figures)
        )
        n_other = self._plan.pool - n_near - n_order - n_figures
        return [
            *self._pairs.draw(n_other, mix),
            *self._near.draw(n_near, mix),
            *self._order.draw(n_order, n_figures),
        ]

    def batches(self) -> list[Batch]:
        """Draw a pool as batches in random order; pairs of similar length are in one batch."""
        pairs, size = self.draw(), self._plan.batch
        first, second = read_tokens(self._tokenizer, pairs)
        rows = sorted(zip(first, second, pairs, strict=True), key=lambda row: len(row[0]) + len(row[1]))
        batches = [
            write_batch(
                *zip(*((a, b, pair.is_same) for a, b, pair in rows[start : start + size]), strict=True)
            )
            for start in range(0, len(rows), size)
        ]
        self._rng.shuffle(batches)
        return batches


def read_tokens(
    tokenizer: Tokenizer, pairs: Sequence[TrainingPair]
) -> tuple[list[Sequence[int]], list[Sequence[int]]]:
    """Read both texts of each pair as the judge does."""

    def read(texts: list[str]) -> list[Sequence[int]]:
        rows = [encoding.ids for encoding in tokenizer.encode_batch(texts)]
        return [ids if len(ids) <= MAX_TOKENS else [*ids[: MAX_TOKENS - 1], ids[-1]] for ids in rows]

    return read([pair.first for pair in pairs]), read([pair.second for pair in pairs])


def write_batch(
    first: Sequence[Sequence[int]], second: Sequence[Sequence[int]], is_same: Sequence[bool]
) -> Batch:
    """Write the tokens of pairs into one array."""
    lengths = np.array([len(a) + len(b) for a, b in zip(first, second, strict=True)], np.int32)
    ids = np.zeros((len(lengths), int(lengths.max())), np.int32)
    for row, a, b in zip(ids, first, second, strict=True):
        row[: len(a) + len(b)] = [*a, *b]
    return Batch(ids, np.array([len(a) for a in first], np.int32), lengths, np.array(is_same, np.float32))


class Supply:
    """An endless iterator of batches from `processes` processes; with none, they are made in this one.

    While no new batch is there, an earlier one is read again, so that the device never waits for long.
    """

    def __init__(self, plan: Plan, source: Source, processes: int, start: int = 0) -> None:
        self._plan, self._source, self._start = plan, source, start
        context = multiprocessing.get_context("spawn")  # CUDA does not survive a fork
        self._queue: multiprocessing.Queue[Batch] = context.Queue(WAITING)
        self._processes = [
            context.Process(target=_make, args=(plan, source, f"{start}/{n}", self._queue), daemon=True)
            for n in range(processes)
        ]
        self.n_repeated = 0

    def __enter__(self) -> "Supply":
        for process in self._processes:
            process.start()
        return self

    def __exit__(
        self, error: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            process.join()

    def __iter__(self) -> Iterator[Batch]:
        rng = random.Random(f"{self._plan.seed}/{self._start}")
        if not self._processes:
            maker = PoolMaker(self._plan, self._source, rng)
            while True:
                yield from maker.batches()
        memory: list[Batch] = []
        while True:
            try:
                batch = self._queue.get(block=len(memory) < FEWEST)
                if len(memory) < MEMORY:
                    memory.append(batch)
                else:
                    memory[rng.randrange(MEMORY)] = batch
            except queue.Empty:
                batch, self.n_repeated = rng.choice(memory), self.n_repeated + 1
            yield batch


def _make(plan: Plan, source: Source, seed: str, batches: "multiprocessing.Queue[Batch]") -> None:
    """Put batches into the queue until the process is ended."""
    torch.set_num_threads(1)
    maker = PoolMaker(plan, source, random.Random(f"{plan.seed}/{seed}"))
    while True:
        for batch in maker.batches():
            batches.put(batch)
