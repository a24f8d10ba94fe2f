"""The training: at each hop of the right path, attention learns the label that leads on, stays or is missing.

specs/rules.md, section 8: Adam with cross-entropy. Weights follow from plan, pack and processor alone; an interrupted
training continues to the same weights, for the questions of a step are drawn from the number of the step.
"""

import random
from collections.abc import Callable, Iterator, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from models.relational.network import FIRST_LABEL, FORMS, NULL, STAY, Config, Reading, RelationalNetwork
from models.relational.question import TextReader, mask_mentions
from models.relational.walk import Labels
from models.training.kit.command import Say
from models.training.kit.plan import Plan
from models.training.kit.steps import Steps
from models.training.relational.examples import Example, Visit

Draw = Callable[[random.Random], Example]
SPECIAL = {"@null": NULL, "@stay": STAY}


class Learning(Steps):
    """Trains a network."""

    def __init__(self, plan: Plan, reader: TextReader, draw: Draw, say: Say) -> None:
        torch.manual_seed(plan.seed)
        self.plan, self.network = plan, RelationalNetwork(plan.config.make(Config))
        self._reader, self._draw = reader, draw
        groups = [{"params": list(self.network.parameters()), "peak": plan.lr}]
        super().__init__(plan, self.network, groups, say, weight_decay=plan.decay)

    def loss_at(self, step: int) -> Tensor:
        """Compute the loss of a step's questions."""
        rng = random.Random(f"{self.plan.seed}/{step}")
        return loss_of(self.network, self._reader, [self._draw(rng) for _ in range(self.plan.batch)])

    def slope(self, step: int) -> float:
        """Rise to the highest rate, then fall in a straight line to a twentieth of it."""
        rise: float = (step + 1) / max(1, self.plan.warmup)
        fall: float = 1 - step / self.plan.steps
        return min(rise, max(0.05, fall))


def loss_of(network: RelationalNetwork, reader: TextReader, examples: Sequence[Example]) -> Tensor:
    """Return the loss of questions: the attention at each hop, the start of the path, and the form of the answer."""
    texts = reader.read([mask_mentions(example.ask.question, example.ask.mentions) for example in examples])
    reading = network.read(texts)
    forms = torch.tensor([FORMS.index(example.form) for example in examples])
    starts = torch.tensor([example.start for example in examples])
    total = F.nll_loss(reading.forms, forms) + F.nll_loss(reading.starts, starts)
    for weights, targets, shares in hops_of(network, reader, reading, examples):
        costs = F.nll_loss(weights, targets, reduction="none")
        total = total + (costs * shares).sum() / len(examples)
    return total


def hops_of(
    network: RelationalNetwork, reader: TextReader, reading: Reading, examples: Sequence[Example]
) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Walk the right paths.

    Yields:
        For each hop the log-weights [visit key], the right key of each visit, and the share of each visit in its walk.
    """
    labels = dict.fromkeys(label for e in examples for hop in e.hops for names, _ in hop for label in names)
    relations = Labels.of(reader.label_vectors(labels), network)
    rows = {**SPECIAL, **relations.rows}
    walks, value = list(range(len(examples))), None
    for hop in range(network.config.hops):
        going = [place for place, example in enumerate(walks) if len(examples[example].hops) > hop]
        walks = [walks[place] for place in going]
        if not walks:
            return
        value = None if value is None else value[going]
        states = network.states(reading, hop, torch.tensor(walks), value)
        visits = [(number, visit) for number, walk in enumerate(walks) for visit in examples[walk].hops[hop]]
        numbers = torch.tensor([number for number, _ in visits])
        allowed = allowed_keys([visit for _, visit in visits], rows, len(relations.keys), hop)
        targets = torch.tensor([rows[target] for _, (_, target) in visits])
        shares = torch.tensor([1 / len(examples[walks[number]].hops[hop]) for number, _ in visits])
        yield network.weights(states, relations.keys, allowed, numbers), targets, shares
        if len(relations.vectors):
            places = torch.tensor([_label_place(examples[walk], hop, rows) for walk in walks])
            value = network.carry(states, relations.vectors[places])


def allowed_keys(visits: Sequence[Visit], rows: dict[str, int], n_keys: int, hop: int) -> Tensor:
    """Return a boolean [visit key]: the labels of each visit, null, and stay from the second hop on."""
    allowed = torch.zeros(len(visits), n_keys, dtype=torch.bool)
    allowed[:, NULL], allowed[:, STAY] = True, hop > 0
    for row, (labels, _) in enumerate(visits):
        allowed[row, [rows[label] for label in labels]] = True
    return allowed


def _label_place(example: Example, hop: int, rows: dict[str, int]) -> int:
    """Return the place of the label that is walked at a hop; any place if the walk ends there."""
    label = example.labels[hop] if hop < len(example.labels) else ""
    return rows.get(label, FIRST_LABEL) - FIRST_LABEL
