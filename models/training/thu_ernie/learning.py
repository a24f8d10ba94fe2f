"""The steps of the training: alignment of masks with candidates and with all answers; resumable.

The examples of a step follow from its number alone, so an interrupted training comes to the same weights.
"""

import random
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from models.kit.text import WordPieces
from models.thu_ernie.align import Link, place_links
from models.thu_ernie.checkpoint import minilm_weights
from models.thu_ernie.config import ErnieConfig
from models.thu_ernie.heads import ErnieAnswers
from models.thu_ernie.network import Batch
from models.thu_ernie.row import collate, cut, lay_mask
from models.training.kit.command import Say
from models.training.kit.plan import Plan
from models.training.kit.steps import Steps, autocast, split_rates
from models.training.thu_ernie.questions import NO_TARGET, Example, QuestionMaker, pad_groups
from models.training.thu_ernie.world import World


def collate_questions(examples: Sequence[Example], vocabulary: WordPieces, size: int, room: int) -> Batch:
    """Lay questions out as serving does."""
    vectors: dict[str, Tensor] = {}
    masks = []
    for number, example in enumerate(examples):
        question = example.question
        links = []
        if example.mention is not None:
            vectors[f"mention {number}"] = example.mention
            links.append(Link(f"mention {number}", question.begin, question.end, 1.0))
        subject = None
        if example.mask is not None:
            vectors[f"mask {number}"] = example.mask
            subject = Link(f"mask {number}", question.begin, question.end, 1.0)
        text, _ = cut(place_links(question.text, links, vocabulary), room)
        masks.append(lay_mask(text, subject, vocabulary))
    return collate(masks, vectors, size, vocabulary.padding)


def build_network(plan: Plan) -> ErnieAnswers:
    """Return a network with MiniLM's weights where it has them, and new ones in the entity stream and the heads."""
    torch.manual_seed(plan.seed)
    network = ErnieAnswers(plan.config.make(ErnieConfig))
    network.load_state_dict(minilm_weights(network.state_dict()), strict=False)
    gains = torch.full((plan.config.entity_size,), plan.query_gain)
    gains[0] = plan.threshold_gain
    network.get_parameter("cls.predictions_ent.transform.LayerNorm.weight").data.copy_(gains)
    for name, parameter in network.named_parameters():
        if name.endswith("intermediate.dense_ent.weight"):
            nn.init.normal_(parameter, std=plan.row_scale)
        parameter.requires_grad_(not name.startswith(plan.frozen))
    return network


class Learning(Steps):
    """One training."""

    least_slope = 0.03

    def __init__(self, plan: Plan, questions: QuestionMaker, vocabulary: WordPieces, say: Say) -> None:
        self.plan, self.network = plan, build_network(plan)
        self._questions, self._vocabulary = questions, vocabulary
        rates = {"encoder": plan.lr, "fresh": plan.fresh_lr}
        groups = split_rates(self.network, rates, minilm_weights(self.network.state_dict()).keys())
        super().__init__(plan, self.network, groups, say, weight_decay=plan.decay)

    def loss_at(self, step: int) -> Tensor:
        """Compute the loss of a step's questions."""
        plan, rng = self.plan, random.Random(f"{self.plan.seed} {step}")
        near, every = self._align([self._questions.draw(rng) for _ in range(plan.mixture.n_questions)])
        return near + float(plan.all_weight) * every

    def _align(self, examples: Sequence[Example]) -> tuple[Tensor, Tensor]:
        settings = self.plan.settings
        batch = collate_questions(
            examples, self._vocabulary, self.plan.config.entity_size, settings.question_room
        )
        with autocast():
            queries = self.network.query(batch)
        queries = queries.float()
        return near_loss(queries, examples), all_loss(queries, examples, self._questions.world)


def near_loss(queries: Float[Tensor, "batch size"], examples: Sequence[Example]) -> Float[Tensor, ""]:
    """Return the cross-entropy of the right candidate among those of its question and the zero row."""
    vectors, is_real = pad_groups(examples)
    products = torch.einsum("bcos,bs->bco", vectors, queries)
    logits = products.masked_fill(~is_real, -1e4).logsumexp(-1)
    logits = torch.cat([queries.new_zeros(len(examples), 1), logits], 1)
    targets = torch.tensor([0 if e.target == NO_TARGET else e.target + 1 for e in examples])
    return F.cross_entropy(logits, targets)


def all_loss(
    queries: Float[Tensor, "batch size"], examples: Sequence[Example], world: World
) -> Float[Tensor, ""]:
    """Return the mean of -log p(right objects) among all objects of the pack, for questions whose row tells them."""
    answers = torch.tensor(list(world.labels))
    numbers = [
        number for number, example in enumerate(examples) if example.right and example.mask is not None
    ]
    if not numbers:
        return queries.sum() * 0
    logits = queries[numbers] @ world.rows[answers].T
    is_right = torch.zeros_like(logits, dtype=torch.bool)
    for row, number in enumerate(numbers):
        is_right[row, torch.searchsorted(answers, torch.tensor(examples[number].right))] = True
    right = logits.masked_fill(~is_right, float("-inf")).logsumexp(1)
    return (logits.logsumexp(1) - right).mean()
