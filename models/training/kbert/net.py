"""The model while it is trained: BERT with low-rank adapters, the pointer, the weight of the rank, the pair ranker."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
import torch.nn.functional as F
from einops import rearrange
from jaxtyping import Float
from peft import LoraConfig, inject_adapter_in_model
from safetensors.torch import load_file
from torch import Tensor, nn

from models.encoder.bert import HEADS, LAYERS, WIDTH, unpack
from models.encoder.weights import find
from models.kbert.batch import Batch
from models.kbert.config import EncoderConfig
from models.kbert.encoder import Encoder, Layer, additive
from models.kbert.names import to_hf, to_uer
from models.kbert.options import LONGEST
from models.kbert.planted import Planted
from models.kbert.pointer import allowed_spans
from models.training.kbert.plan import Plan

ADAPTED = [f"linear_layers.{i}" for i in range(3)] + ["final_linear", "linear_1", "linear_2"]
LAYER_LIST = "transformer"  # what the authors call the list of the encoder's layers
FIRST_RANK_WEIGHT = 10.0
NEVER = -1e4


class Net(nn.Module):
    def __init__(self, plan: Plan) -> None:
        super().__init__()
        torch.manual_seed(plan.seed)
        self.bert = _bert(find().weights)
        config = LoraConfig(
            r=plan.lora_rank,
            lora_alpha=plan.lora_alpha,
            target_modules=ADAPTED,
            layers_to_transform=list(range(plan.frozen_layers, LAYERS)),
            layers_pattern=LAYER_LIST,
        )
        inject_adapter_in_model(config, self.bert)
        self.pointer = nn.Linear(WIDTH, 2)
        self.rank_weight = nn.Parameter(torch.tensor(FIRST_RANK_WEIGHT))
        self.pair_1, self.pair_2 = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 2)

    def trained(self) -> nn.ParameterDict:
        """What training changes, under one name each: what progress keeps."""
        found = {name.replace(".", "/"): p for name, p in self.named_parameters() if p.requires_grad}
        return nn.ParameterDict(found)

    def pointing(
        self, planted: Sequence[Planted], batch: Batch, ranks: Float[Tensor, "batch fact"]
    ) -> tuple[Float[Tensor, "batch option"], int]:
        """Logits of no answer, of each object, and of each span of the second text; where the spans begin."""
        logits = self.pointer(packed(self.bert, batch)).float()
        nothing = logits[:, 0].sum(-1, keepdim=True)
        firsts, lasts = _places(planted, ranks.shape[1])
        rows = torch.arange(len(planted))[:, None]
        objects = logits[rows, firsts, 0] + logits[rows, lasts, 1] + self.rank_weight * ranks
        options = [nothing, objects.masked_fill(firsts == 0, NEVER)]
        if any(one.row.kind == "pair" for one in planted):
            options.append(_spans(planted, batch, logits))
        return torch.cat(options, 1), 1 + ranks.shape[1]

    def fits(self, batch: Batch) -> Float[Tensor, " batch"]:
        """Log-odds that the two texts of a pair belong together."""
        first = packed(self.bert, batch)[:, 0]
        classes: Tensor = self.pair_2(torch.tanh(self.pair_1(first)))
        return (classes[:, 1] - classes[:, 0]).float()

    def heads(self) -> dict[str, Tensor]:
        """Under the names of models/kbert/heads.py; the weight of support is fitted later."""
        found = {
            "pointer.weight": self.pointer.weight,
            "pointer.bias": self.pointer.bias,
            "rank.weight": self.rank_weight,
            "support.weight": torch.tensor(1.0),
            "pair.1.weight": self.pair_1.weight,
            "pair.1.bias": self.pair_1.bias,
            "pair.2.weight": self.pair_2.weight,
            "pair.2.bias": self.pair_2.bias,
        }
        return {name: value.detach().float().clone() for name, value in found.items()}

    def adapters(self) -> dict[str, Tensor]:
        """Under Hugging Face's names, as models/kbert/adapters.py adds them."""
        found: dict[str, Tensor] = {}
        for name, value in self.bert.state_dict().items():
            for kind, short in ((".lora_A.default.weight", "A"), (".lora_B.default.weight", "B")):
                if name.endswith(kind):
                    (module,) = to_hf({name.removesuffix(kind) + ".weight": value})
                    found[f"{module.removesuffix('.weight')}.{short}"] = value.detach().float().clone()
        return found


def packed(bert: Encoder, batch: Batch) -> Float[Tensor, "batch token width"]:
    """`bert.read(batch)` with linear layers on real tokens only: half of a batch of trees is padding."""
    real, mask = batch.real, additive(batch.visible)
    h = bert.embedding(batch.ids, batch.positions, batch.segments)[real]
    for layer in bert.encoder.transformer:
        assert isinstance(layer, Layer)
        query, key, value = (
            rearrange(
                unpack(linear(h), real),
                "batch token (head d) -> batch head token d",
                head=layer.self_attn.heads,
            )
            for linear in layer.self_attn.linear_layers
        )
        seen = F.scaled_dot_product_attention(query, key, value, attn_mask=mask.to(query.dtype))
        mixed = rearrange(seen, "batch head token d -> batch token (head d)")[real]
        h = layer.layer_norm_1(layer.self_attn.final_linear(mixed) + h)
        h = layer.layer_norm_2(layer.feed_forward(h[None])[0] + h)
    return unpack(h, real)


def _bert(weights: Path) -> Encoder:
    """MiniLM in the authors' modules, frozen."""
    tensors = load_file(weights)
    vocab, positions = (len(tensors[f"embeddings.{n}_embeddings.weight"]) for n in ("word", "position"))
    wide = len(tensors["encoder.layer.0.intermediate.dense.bias"])
    bert = Encoder(EncoderConfig(vocab, positions, 3, WIDTH, wide, HEADS, LAYERS, 0.0, "bert"))
    named: Mapping[str, Tensor] = to_uer(tensors)
    own = bert.state_dict()
    bert.load_state_dict({name: named[name] for name in own})
    return bert.requires_grad_(False)


def _places(planted: Sequence[Planted], width: int) -> tuple[Tensor, Tensor]:
    """First and last token of each object; 0 where a row has no more."""
    found = torch.zeros(2, len(planted), width, dtype=torch.long)
    for row, one in enumerate(planted):
        for fact, (first, last) in enumerate(one.objects):
            found[0, row, fact], found[1, row, fact] = first, last
    return found[0], found[1]


def _spans(
    planted: Sequence[Planted], batch: Batch, logits: Float[Tensor, "batch token 2"]
) -> Float[Tensor, "batch span"]:
    start, end = logits.unbind(-1)
    there = (batch.segments == 2) & (batch.branch == 0)
    allowed = allowed_spans([one.row for one in planted], batch, LONGEST)
    allowed = allowed & there[:, :, None] & there[:, None, :]
    return (start[:, :, None] + end[:, None, :]).masked_fill(~allowed, NEVER).flatten(1)


def pointing_loss(options: Float[Tensor, "batch option"], targets: Sequence[int]) -> Float[Tensor, ""]:
    return F.cross_entropy(options, torch.tensor(targets))
