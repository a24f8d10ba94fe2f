"""The model in training (BERT with low-rank adapters, pointer, weight of the rank, pair ranker) and its steps."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from einops import rearrange
from jaxtyping import Float
from peft import LoraConfig, inject_adapter_in_model
from torch import Tensor, nn
from transformers import BertConfig, BertModel

from models.encoder.bert import EPSILON, HEADS, LAYERS, MASK_VALUE, WIDTH, unpack
from models.encoder.weights import find
from models.kbert.query import link_mentions, mask_mention, rankable_labels
from models.kbert.row import Batch, QuestionRow, build_row, collate
from models.kit.text import Tokens
from models.training.kbert.examples import Example, Examples
from models.training.kbert.ranks import Ranks
from models.training.kit.command import Say
from models.training.kit.plan import Plan
from models.training.kit.steps import Steps, autocast

FIRST_RANK_WEIGHT = 10.0
NEVER = -1e4
MENTIONS = 2
PAIRS = 0.5  # weight of their loss beside that of the singles


class Bert(BertModel):  # type: ignore[misc]
    """The encoder of models/kbert/encoder.py, differentiable: the frozen MiniLM that adapters are put into.

    Linear layers see real tokens only: half of a batch is padding. Positions are soft, and each token sees what the
    visible matrix lets it see, so the way through the layers is written out.
    """

    def __init__(self, weights: Mapping[str, Tensor]) -> None:
        types = weights["embeddings.token_type_embeddings.weight"]
        sizes = {"type_vocab_size": 1 + len(types), "hidden_dropout_prob": 0.0, "layer_norm_eps": EPSILON}
        wide = len(weights["encoder.layer.0.intermediate.dense.bias"])
        config = BertConfig(
            hidden_size=WIDTH,
            num_hidden_layers=LAYERS,
            intermediate_size=wide,
            num_attention_heads=HEADS,
            **sizes,
        )
        super().__init__(config, add_pooling_layer=False)
        tables = {
            **weights,
            "embeddings.token_type_embeddings.weight": torch.cat([torch.zeros_like(types[:1]), types]),
        }
        self.load_state_dict({name: tables[name] for name in self.state_dict()})
        self.requires_grad_(False)

    def forward(self, batch: Batch) -> Float[Tensor, "batch token width"]:
        """Return the last hidden states."""
        table = self.embeddings
        words = table.word_embeddings(batch.ids) + table.position_embeddings(batch.positions)
        words = words + table.token_type_embeddings(batch.segments)
        h = table.LayerNorm(words)[batch.is_real]
        mask = torch.zeros(batch.visible.shape).masked_fill_(~batch.visible, MASK_VALUE)[:, None]
        for layer in self.encoder.layer:
            heads = layer.attention.self
            query, key, value = (
                rearrange(
                    unpack(linear(h), batch.is_real), "batch token (head d) -> batch head token d", head=HEADS
                )
                for linear in (heads.query, heads.key, heads.value)
            )
            values = F.scaled_dot_product_attention(query, key, value, attn_mask=mask.to(query.dtype))
            values = rearrange(values, "batch head token d -> batch token (head d)")[batch.is_real]
            h = layer.attention.output(values, h)
            h = layer.output(layer.intermediate(h), h)
        return unpack(h, batch.is_real)


class Net(nn.Module):
    def __init__(self, plan: Plan) -> None:
        super().__init__()
        self.bert = Bert(dict(find().weights))
        torch.manual_seed(plan.seed)  # first weights do not depend on what the encoder draws
        config = LoraConfig(
            r=plan.lora_rank,
            lora_alpha=plan.lora_alpha,
            target_modules=["query", "key", "value", "dense"],
            layers_to_transform=list(range(plan.frozen_layers, LAYERS)),
            layers_pattern="layer",
        )
        inject_adapter_in_model(config, self.bert)
        self.pointer = nn.Linear(WIDTH, 2)
        self.rank_weight = nn.Parameter(torch.tensor(FIRST_RANK_WEIGHT))
        self.pair_1, self.pair_2 = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 2)

    def pointing(
        self, rows: Sequence[QuestionRow], batch: Batch, ranks: Float[Tensor, "batch fact"]
    ) -> Float[Tensor, "batch option"]:
        """Return the logits of no answer and of each object."""
        logits = self.pointer(self.bert(batch)).float()
        no_answer = logits[:, 0].sum(-1, keepdim=True)
        first, last = torch.zeros(2, len(rows), ranks.shape[1], dtype=torch.long)
        for number, row in enumerate(rows):  # first and last token of each object, padded with 0
            for fact, place in enumerate(row.objects):
                first[number, fact], last[number, fact] = place
        numbers = torch.arange(len(rows))[:, None]
        objects = logits[numbers, first, 0] + logits[numbers, last, 1] + self.rank_weight * ranks
        return torch.cat([no_answer, objects.masked_fill(first == 0, NEVER)], 1)

    def match(self, batch: Batch) -> Float[Tensor, " batch"]:
        """Return the log-odds that the two texts of a pair belong together."""
        classes: Tensor = self.pair_2(torch.tanh(self.pair_1(self.bert(batch)[:, 0])))
        return (classes[:, 1] - classes[:, 0]).float()

    def heads(self) -> dict[str, Tensor]:
        """Return the heads under the names of models/kbert/heads.py; the weight of support is fitted later."""
        tensors = {
            "pointer.weight": self.pointer.weight,
            "pointer.bias": self.pointer.bias,
            "rank.weight": self.rank_weight,
            "support.weight": torch.tensor(1.0),
            "pair.1.weight": self.pair_1.weight,
            "pair.1.bias": self.pair_1.bias,
            "pair.2.weight": self.pair_2.weight,
            "pair.2.bias": self.pair_2.bias,
        }
        return {name: value.detach().float().clone() for name, value in tensors.items()}

    def adapters(self) -> dict[str, Tensor]:
        """Return the adapters as models/kbert/checkpoint.py adds them: `<module>.A` and `<module>.B`."""
        adapters: dict[str, Tensor] = {}
        for name, value in self.bert.state_dict().items():
            module, _, kind = name.partition(".lora_")
            if kind in ("A.default.weight", "B.default.weight"):
                adapters[f"{module}.{kind[0]}"] = value.detach().float().clone()
        return adapters


@dataclass(frozen=True)
class ExampleBatch:
    """Examples as the model reads them, with the ranks of each row's facts, padded with 0."""

    examples: Sequence[Example]
    rows: Sequence[QuestionRow]
    batch: Batch
    ranks: Float[Tensor, "row fact"]

    def targets(self) -> list[int]:
        """Return the place of each row's right option, as `Net.pointing` orders them."""
        targets = []
        for example, row in zip(self.examples, self.rows, strict=True):
            facts = [relation.values[0] for relation in row.relations]
            place = next((n for n, fact in enumerate(facts) if fact is example.target), None)
            targets.append(0 if place is None or example.target is None else 1 + place)
        return targets


def read_examples(
    examples: Sequence[Example], ranks: Ranks, tokens: Tokens, max_length: int, max_facts: int
) -> ExampleBatch:
    queries = [
        (
            mask_mention(example.question, mention.start, mention.end),
            rankable_labels(mention),
            None if example.is_honest else example.about,
        )
        for example in examples
        for mention in example.mentions
    ]
    query_ranks = iter(ranks.rank(queries))
    rows = []
    for example in examples:
        mention_ranks = [next(query_ranks) for _ in example.mentions]
        links = link_mentions(example.mentions, mention_ranks, max_facts, MENTIONS)
        rows.append(build_row(example.question, example.second, links, tokens, max_length))
    width = max([1, *(len(row.relations) for row in rows)])
    table = [[relation.rank for relation in row.relations] for row in rows]
    padded = torch.tensor([row_ranks + [0.0] * (width - len(row_ranks)) for row_ranks in table])
    return ExampleBatch(examples, rows, collate([row.row for row in rows], tokens.padding), padded)


class Learning(Steps):
    """Trains a net on examples, whose facts are ranked."""

    def __init__(
        self, plan: Plan, net: Net, examples: Examples, ranks: Ranks, tokens: Tokens, say: Say
    ) -> None:
        parameters = [p for p in net.parameters() if p.requires_grad and p is not net.rank_weight]
        groups = [
            {"params": parameters, "peak": plan.lr},
            {"params": [net.rank_weight], "peak": plan.rank_lr, "weight_decay": 0.0},
        ]
        super().__init__(plan, net, groups, say, weight_decay=0.01)
        self.plan, self.net, self.tokens = plan, net, tokens
        self.examples, self.ranks = examples, ranks

    def loss_at(self, step: int) -> Tensor:
        """Compute the loss of a step's singles and pairs."""
        return sum(self.losses_at(step), torch.zeros(()))

    def losses_at(self, step: int) -> Iterator[Tensor]:
        """Yield the losses of a step's singles and of its pairs."""
        losses = ((1.0, self._pointing_loss), (PAIRS, self._matching_loss))
        length, most_facts = self.plan.max_length, self.plan.mixture.most_facts
        for examples, (weight, loss_of) in zip(self.examples.step(step), losses, strict=True):
            batch = read_examples(examples, self.ranks, self.tokens, length, most_facts)
            with autocast():
                loss = weight * loss_of(batch)
            yield loss

    def _pointing_loss(self, batch: ExampleBatch) -> Tensor:
        options = self.net.pointing(batch.rows, batch.batch, batch.ranks)
        return F.cross_entropy(options, torch.tensor(batch.targets()))

    def _matching_loss(self, batch: ExampleBatch) -> Tensor:
        labels = torch.tensor([float(bool(example.is_right)) for example in batch.examples])
        return F.binary_cross_entropy_with_logits(self.net.match(batch.batch), labels)
