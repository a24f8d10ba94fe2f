"""The steps of the judge's training, resumable: the pairs of a step follow from the seed and the step's pool alone."""

import random
import time
from collections.abc import Callable, Iterator, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.encoder.minilm import MiniLM
from models.scope.judge import MAX_TOKENS
from models.training.progress import Progress, add_seconds
from models.training.scope.net import Ids, Net
from models.training.scope.pairs import PairMaker, TrainingPair
from models.training.scope.plan import Plan

SMOOTHING = 0.99  # share of the running loss that stays with each step
Say = Callable[[str], None]


class Learning:
    """The training of a judge; `make` gives a maker of pairs for a random source."""

    def __init__(
        self, plan: Plan, net: Net, encoder: MiniLM, make: Callable[[random.Random], PairMaker]
    ) -> None:
        self._plan, self._net, self._encoder, self._make = plan, net, encoder, make
        head = [net.sides, *net.out.parameters()]
        groups = [{"params": list(net.layers.parameters())}, {"params": head}]
        self._optimizer = torch.optim.AdamW(groups, lr=plan.stages[0].lr, weight_decay=0.01)

    def run(self, progress: Progress, say: Say) -> None:
        """Train in place, from the last steps that `progress` holds, at the beginning of a pool."""
        step = progress.resume(self._net, self._optimizer)
        start_s, running = time.monotonic(), 0.0
        while step < self._plan.steps:
            for first, second, cosines, targets in self._batches(step):
                loss = self._step(step, first, second, cosines, targets)
                running = SMOOTHING * running + (1 - SMOOTHING) * loss if running else loss
                step += 1
            say(f"step {step:,}/{self._plan.steps:,} loss {running:.3f}")
            if step % self._plan.keep_every == 0 or step >= self._plan.steps:
                progress.keep(self._net, self._optimizer, step)
                add_seconds(progress.folder, "steps", time.monotonic() - start_s)
                start_s = time.monotonic()
        self._net.eval()

    def _batches(self, step: int) -> Iterator[tuple[Sequence[Ids], Sequence[Ids], Tensor, Tensor]]:
        """Yield the pairs of one pool in random order, those of similar length together."""
        plan, rng = self._plan, random.Random(f"{self._plan.seed}/{step}")
        maker = self._make(rng)
        pairs = maker.draw(plan.pool, plan.stage_at(step)[0])
        pairs.sort(key=lambda pair: len(pair.first) + len(pair.second))
        batches = [pairs[start : start + plan.batch] for start in range(0, len(pairs), plan.batch)]
        rng.shuffle(batches)
        for batch in batches:
            first, second = read_tokens(self._encoder, batch)
            targets = torch.tensor([float(pair.is_same) for pair in batch])
            yield first, second, cosines_of(self._encoder, batch), targets

    def _step(
        self, step: int, first: Sequence[Ids], second: Sequence[Ids], cosines: Tensor, targets: Tensor
    ) -> float:
        self._set_learning_rates(step)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = self._net(first, second, cosines)
        smoothing = self._plan.smoothing
        loss = F.binary_cross_entropy_with_logits(logits, targets * (1 - 2 * smoothing) + smoothing)
        self._optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self._net.parameters(), 1.0)
        self._optimizer.step()
        return float(loss.detach())

    def _set_learning_rates(self, step: int) -> None:
        """Set the rates of a step: in each stage a linear warm-up, then a linear decay."""
        stage, n_done = self._plan.stage_at(step)
        slope = min((n_done + 1) / stage.warmup, max(0.02, 1 - n_done / stage.steps))
        for group, lr in zip(self._optimizer.param_groups, (stage.lr, stage.head_lr), strict=True):
            group["lr"] = lr * slope


def read_tokens(encoder: MiniLM, pairs: Sequence[TrainingPair]) -> tuple[list[Ids], list[Ids]]:
    """Read both texts of each pair for the judge."""

    def read(texts: list[str]) -> list[Ids]:
        rows = [encoding.ids for encoding in encoder.tokenizer.encode_batch(texts)]
        return [ids if len(ids) <= MAX_TOKENS else [*ids[: MAX_TOKENS - 1], ids[-1]] for ids in rows]

    return read([pair.first for pair in pairs]), read([pair.second for pair in pairs])


def cosines_of(encoder: MiniLM, pairs: Sequence[TrainingPair]) -> Tensor:
    sentences = encoder.encode([text for pair in pairs for text in (pair.first, pair.second)]).sentences
    return (
        (sentences[::2] * sentences[1::2]).sum(-1).clone()
    )  # a copy, since an inference tensor cannot be trained on
