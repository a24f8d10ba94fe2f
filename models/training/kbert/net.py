"""The model in training: BERT with low-rank adapters, the pointer, the weight of the rank, the pair ranker."""

from collections.abc import Mapping, Sequence

import torch
import torch.nn.functional as F
from einops import rearrange
from jaxtyping import Float
from peft import LoraConfig, inject_adapter_in_model
from torch import Tensor, nn

from models.encoder.bert import EPSILON, HEADS, LAYERS, MASK_VALUE, WIDTH, unpack
from models.encoder.weights import find
from models.kbert.row import Batch, QuestionRow
from models.training.kit.plan import Plan

FIRST_RANK_WEIGHT = 10.0
NEVER = -1e4


class Output(nn.Module):
    """A linear layer back to the width of the states, with a residual."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.dense = nn.Linear(width, WIDTH)
        self.LayerNorm = nn.LayerNorm(WIDTH, eps=EPSILON)

    def forward(self, x: Float[Tensor, "real x"], h: Float[Tensor, "real width"]) -> Tensor:
        states: Tensor = self.LayerNorm(self.dense(x) + h)
        return states


class Layer(nn.Module):
    """A layer of BERT. Modules bear Hugging Face's names, under which adapters are stored."""

    def __init__(self, wide: int) -> None:
        super().__init__()
        heads = nn.ModuleDict({name: nn.Linear(WIDTH, WIDTH) for name in ("query", "key", "value")})
        self.attention = nn.ModuleDict({"self": heads, "output": Output(WIDTH)})
        self.intermediate = nn.ModuleDict({"dense": nn.Linear(WIDTH, wide)})
        self.output = Output(wide)

    def forward(
        self, h: Float[Tensor, "real width"], batch: Batch, mask: Float[Tensor, "batch 1 query key"]
    ) -> Float[Tensor, "real width"]:
        query, key, value = (
            rearrange(
                unpack(linear(h), batch.is_real), "batch token (head d) -> batch head token d", head=HEADS
            )
            for linear in self.attention["self"].children()
        )
        values = F.scaled_dot_product_attention(query, key, value, attn_mask=mask.to(query.dtype))
        values = rearrange(values, "batch head token d -> batch token (head d)")[batch.is_real]
        h = self.attention["output"](values, h)
        wide = F.gelu(self.intermediate["dense"](h))
        out: Tensor = self.output(wide, h)
        return out


class Bert(nn.Module):
    """The encoder of models/kbert/encoder.py, differentiable: the frozen MiniLM that adapters are put into."""

    def __init__(self, weights: Mapping[str, Tensor]) -> None:
        super().__init__()
        types = weights["embeddings.token_type_embeddings.weight"]
        tables = dict(weights)
        tables["embeddings.token_type_embeddings.weight"] = torch.cat([torch.zeros_like(types[:1]), types])
        names = ("word_embeddings", "position_embeddings", "token_type_embeddings")
        embeddings = {name: nn.Embedding(len(tables[f"embeddings.{name}.weight"]), WIDTH) for name in names}
        self.embeddings = nn.ModuleDict({**embeddings, "LayerNorm": nn.LayerNorm(WIDTH, eps=EPSILON)})
        wide = len(weights["encoder.layer.0.intermediate.dense.bias"])
        self.encoder = nn.ModuleDict({"layer": nn.ModuleList(Layer(wide) for _ in range(LAYERS))})
        self.load_state_dict({name: tables[name] for name in self.state_dict()})
        self.requires_grad_(False)

    def forward(self, batch: Batch) -> Float[Tensor, "batch token width"]:
        """Return the last hidden states, with linear layers on real tokens only: half of a batch is padding."""
        words = self.embeddings["word_embeddings"](batch.ids) + self.embeddings["position_embeddings"](
            batch.positions
        )
        words = words + self.embeddings["token_type_embeddings"](batch.segments)
        h = self.embeddings["LayerNorm"](words)[batch.is_real]
        mask = torch.zeros(batch.visible.shape).masked_fill_(~batch.visible, MASK_VALUE)[:, None]
        for layer in self.encoder["layer"].children():
            h = layer(h, batch, mask)
        return unpack(h, batch.is_real)


class Net(nn.Module):
    def __init__(self, plan: Plan) -> None:
        super().__init__()
        torch.manual_seed(plan.seed)
        self.bert = Bert(dict(find().weights))
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
