"""Phase one: the backbone learns the base facts from their questions and masked statements."""

import math
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from transformers import T5ForConditionalGeneration
from transformers.modeling_outputs import BaseModelOutput

from models.training.kit.progress import Progress, add_seconds
from models.training.kit.steps import autocast
from models.training.lines import Line
from models.training.states import States

IGNORED = -100  # label that the loss passes over


@dataclass(frozen=True)
class Schedule:
    """The schedule of a phase.

    Attributes:
        epochs: Passes over the facts.
        draws: Texts drawn for each fact and epoch.
        lr: Highest learning rate of AdamW, with linear decay.
    """

    epochs: int
    draws: int
    batch: int
    lr: float
    warmup_steps: int
    seed: int


@dataclass(frozen=True)
class Corpus:
    """Texts with their states and the token ids of their answers; row i of each belongs to lines[i]."""

    lines: Sequence[Line]
    states: States
    answers: Sequence[Sequence[int]]

    def labels(self, rows: Sequence[int]) -> Int[Tensor, "batch token"]:
        width = max(len(self.answers[row]) for row in rows)
        return torch.tensor([[*self.answers[r], *[IGNORED] * (width - len(self.answers[r]))] for r in rows])


class Seq2Seq(nn.Module):
    """The backbone, which is asked lines of a corpus."""

    def __init__(self, t5: T5ForConditionalGeneration) -> None:
        super().__init__()
        self.t5 = t5

    def forward(self, corpus: Corpus, rows: Sequence[int]) -> tuple[Float[Tensor, ""], Tensor, Tensor]:
        """Return loss, logits and labels of some lines."""
        states, mask = corpus.states.batch(rows)
        labels = corpus.labels(rows)
        read = BaseModelOutput(last_hidden_state=self.t5.encoder(states))
        out = self.t5(encoder_outputs=read, attention_mask=mask, labels=labels)
        return out.loss, out.logits, labels


def epoch_rows(
    by_item: Sequence[Sequence[int]], draws: int, batch: int, rng: random.Random
) -> Iterator[list[int]]:
    """Yield the batches of one epoch: every fact in `draws` of its texts, shuffled."""
    rows = [row for choices in by_item for row in rng.sample(choices, min(draws, len(choices)))]
    rng.shuffle(rows)
    for start in range(0, len(rows), batch):
        yield rows[start : start + batch]


def train(
    model: Seq2Seq,
    corpus: Corpus,
    by_item: Sequence[Sequence[int]],
    schedule: Schedule,
    progress: Progress,
    say: Callable[[str], None],
    check: Callable[[], str],
) -> None:
    """Train in place, resuming at the last finished epoch that `progress` holds."""
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=schedule.lr, betas=(0.9, 0.98), weight_decay=0.01, fused=True
    )
    per_epoch = math.ceil(sum(min(schedule.draws, len(rows)) for rows in by_item) / schedule.batch)
    total = per_epoch * schedule.epochs
    first = progress.resume(model, optimizer)
    for epoch in range(first, schedule.epochs):
        rng = random.Random(f"{schedule.seed}/{epoch}")
        torch.manual_seed(hash((schedule.seed, epoch)))
        start_s, losses = time.monotonic(), 0.0
        model.train()
        for step, rows in enumerate(
            epoch_rows(by_item, schedule.draws, schedule.batch, rng), epoch * per_epoch
        ):
            for group in optimizer.param_groups:
                group["lr"] = schedule.lr * _slope(step, total, schedule.warmup_steps)
            losses += _step(model, optimizer, corpus, rows)
        model.eval()
        progress.keep(model, optimizer, epoch + 1)
        seconds = time.monotonic() - start_s
        add_seconds(progress.folder, "base", seconds)
        say(f"epoch {epoch + 1}/{schedule.epochs} loss {losses / per_epoch:.3f} {seconds:.0f} s {check()}")


def _step(model: Seq2Seq, optimizer: torch.optim.Optimizer, corpus: Corpus, rows: Sequence[int]) -> float:
    with autocast():
        loss, _, _ = model(corpus, rows)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return float(loss.detach())


def _slope(step: int, total: int, warmup: int) -> float:
    return min((step + 1) / warmup, max(0.02, (total - step) / (total - warmup)))


@torch.inference_mode()
def exact(model: Seq2Seq, corpus: Corpus, rows: Sequence[int], batch: int = 256) -> float:
    """Return the share of lines whose answer is the argmax at each token under teacher forcing, as in generation."""
    hits = 0
    for start in range(0, len(rows), batch):
        _, logits, labels = model(corpus, rows[start : start + batch])
        right = (logits.argmax(-1) == labels) | (labels == IGNORED)
        hits += int(right.all(1).sum())
    return hits / max(1, len(rows))
