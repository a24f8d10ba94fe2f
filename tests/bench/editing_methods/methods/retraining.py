"""Retraining the bank on all active edits at once, with reference facts replayed.

    V <- Adam on mean CE over a batch of rows of edits and as many replayed rows of the base, from V0 on

What the paper does to inject facts (Dai et al., arXiv:2208.00399, section 4), again for each set of active edits:
keys, attention and all else stay frozen. The replayed rows are what the base says to reference questions.
"""

from dataclasses import dataclass

import torch

from tests.bench.editing_methods.methods.method import Bank, Edit, Values, rows_bytes
from tests.bench.editing_methods.methods.targets import loss

BATCH = 64  # rows of edits of a step; as many are replayed
SEED = 0


@dataclass(frozen=True)
class Retraining:
    """rate: of Adam. epochs: passes over the rows of the active edits."""

    rate: float
    epochs: int
    name: str = "retraining"

    def start(self, bank: Bank) -> tuple[Edit, ...]:
        return ()

    def step(self, bank: Bank, state: tuple[Edit, ...], edit: Edit) -> tuple[Edit, ...]:
        return (*state, edit)

    def rows(self, bank: Bank, state: tuple[Edit, ...]) -> Values:
        if not state:
            return Values(bank.values)
        a, x, tokens = (torch.cat([getattr(edit, name) for edit in state]) for name in ("a", "x", "tokens"))
        values, replay = bank.values.clone().requires_grad_(), bank.replay
        optimiser = torch.optim.Adam([values], lr=self.rate)
        generator = torch.Generator().manual_seed(SEED)
        for _ in range(self.epochs):
            for places in torch.randperm(len(a), generator=generator).split(BATCH):
                replay_places = torch.randint(len(replay.a), (len(places),), generator=generator)
                read = torch.cat([a[places], replay.a[replay_places].float()])
                before = torch.cat([x[places], replay.x[replay_places]])
                said_tokens = torch.cat([tokens[places], replay.tokens[replay_places]])
                now = before + read @ (values - bank.values)
                mean_loss = loss(bank.head, bank.epsilon, now, said_tokens).mean()
                (values.grad,) = torch.autograd.grad(mean_loss, values)
                optimiser.step()
        return Values(values.detach())

    def kept_bytes(self, edit: Edit) -> int:
        return rows_bytes(edit)
