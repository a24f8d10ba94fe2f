"""The steps of the training: the reader's states first, then spans; resumable."""

import random
from collections.abc import Mapping, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from models.ernie_doc.config import ErnieDocConfig
from models.ernie_doc.minilm import minilm_weights
from models.ernie_doc.model import ErnieDoc
from models.ernie_doc.reader import Packing
from models.reading.checkpoint import load as load_reader
from models.training.ernie_doc.batch import collate, draw_rows, read_memories
from models.training.ernie_doc.examples import Examples, Passage
from models.training.ernie_doc.losses import Teacher, span_loss, state_loss
from models.training.kit.command import Say
from models.training.kit.plan import Plan
from models.training.kit.steps import Steps, autocast, split_rates

POSITIONS = "embeddings.pos_emb.weight"
STATE_WINDOWS = 3  # windows of each document whose states are learned in a step


def build_model(
    plan: Plan, layers: Mapping[str, Tensor] | None = None, start: ErnieDoc | None = None
) -> ErnieDoc:
    """Return a model with the reader's weights where shapes allow, and random ones elsewhere.

    Args:
        layers: The reader's tensors; None begins with MiniLM's.
        start: A trained model whose positions, tasks and pooler are kept, whatever its segments are.
    """
    torch.manual_seed(plan.seed)
    config = plan.model.make(ErnieDocConfig)
    model = ErnieDoc(config)
    expected = model.state_dict()
    frozen = {name: value for name, value in minilm_weights(expected).items() if name.startswith(plan.frozen)}
    encoder = minilm_weights(expected, layers) | frozen
    if start is not None:
        trained = start.state_dict() | {POSITIONS: stretch_positions(start, config)}
        model.load_state_dict(
            {name: value for name, value in trained.items() if name in expected and name not in encoder},
            strict=False,
        )
    heads = {name: value for name, value in (layers or {}).items() if name in expected}
    model.load_state_dict(encoder | heads, strict=False)
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(not name.startswith(plan.frozen))
    return model


def stretch_positions(start: ErnieDoc, config: ErnieDocConfig) -> Float[Tensor, "row width"]:
    """Return the position table of a model for segments of another length: each distance keeps its row.

    A distance that the model never had takes the row of the farthest one.
    """
    old, rows = start.config, start.embeddings.pos_emb.weight.detach()
    numbers = torch.arange(config.position_rows)
    past = (numbers - config.segment + 1).clamp(max=old.segment + old.memory - 1) + old.segment - 1
    return rows[torch.where(numbers < config.segment, numbers.clamp(max=old.segment - 1), past)]


class Learning(Steps):
    """One training of the model of `build_model`, on its device.

    `layers` are the reader's tensors, whose states are learned first, and then its spans; None is MiniLM.
    """

    def __init__(
        self,
        plan: Plan,
        model: ErnieDoc,
        examples: Examples,
        packing: Packing,
        say: Say,
        layers: Mapping[str, Tensor] | None = None,
    ) -> None:
        rates = {"encoder": plan.lr, "fresh": plan.fresh_lr}
        groups = split_rates(model, rates, minilm_weights(model.state_dict()).keys())
        super().__init__(plan, model, groups, say, weight_decay=plan.decay)
        self.plan, self.model, self.examples, self.packing = plan, model, examples, packing
        self.device = model.device
        self._teach = load_reader(device=self.device).point if layers else None
        self._teacher = Teacher(packing, plan.model.memory, self.device, layers)

    def loss_at(self, step: int) -> Tensor:
        """Compute the loss of the states of a step, or of its spans."""
        passages = self.examples.step(step)
        with autocast(self.device):
            is_adapting = step < self.plan.adaptation_steps
            return self._adapt(step, passages) if is_adapting else self._point(step, passages)

    def _adapt(self, step: int, passages: Sequence[Passage]) -> Tensor:
        rng = random.Random(f"{self.plan.seed} windows {step}")
        counts = [len(self.packing.windows(len(passage.document))) for passage in passages]
        places_by_draw = [[rng.randrange(count) for count in counts] for _ in range(STATE_WINDOWS)]
        memories = self._read(passages, [max(column) for column in zip(*places_by_draw, strict=True)])
        losses = [
            state_loss(self.model, self._teacher, passages, memories, self.packing, places)
            for places in places_by_draw
        ]
        return torch.stack(losses).mean()

    def _point(self, step: int, passages: Sequence[Passage]) -> Tensor:
        rng = random.Random(f"{self.plan.seed} rows {step}")
        rows = draw_rows(passages, self.packing, self.plan.mixture, rng)
        last_windows = [
            max((row.window for row in rows if row.passage == number), default=0)
            for number in range(len(passages))
        ]
        memories = self._read(passages, last_windows)
        return span_loss(self.model, collate(rows, memories, self.packing, self._teach))

    def _read(self, passages: Sequence[Passage], last_windows: Sequence[int]) -> list[list[Tensor]]:
        self.model.eval()
        memories = read_memories(self.model, passages, self.packing, last_windows)
        self.model.train()
        return memories
