"""The judge in training: MiniLM's layers on two texts at once; all weights but the embeddings are trainable.

Attention is written out: for such short texts its backward pass takes a third of the time of torch's fused one.
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from models.encoder.bert import EPSILON, HEADS, LAYERS, WIDTH
from models.encoder.minilm import MiniLM
from models.encoder.weights import find
from models.scope.judge import MIDDLE

NORM = ("embeddings.LayerNorm.weight", "embeddings.LayerNorm.bias")
Ids = Sequence[int]  # ids of the tokens of one text
COSINE = 15.0  # weight of the cosine alone: the layers learn the rest
MASKED = -1e9


class Layer(nn.Module):
    """One block, its parameters under Hugging Face's names."""

    def __init__(self) -> None:
        super().__init__()
        linear = {"query": WIDTH, "key": WIDTH, "value": WIDTH}
        self.attention = nn.ModuleDict(
            {
                "self": nn.ModuleDict({name: nn.Linear(WIDTH, width) for name, width in linear.items()}),
                "output": _output(WIDTH),
            }
        )
        self.intermediate = nn.ModuleDict({"dense": nn.Linear(WIDTH, 4 * WIDTH)})
        self.output = _output(4 * WIDTH)

    def forward(
        self, x: Float[Tensor, "pair token width"], bias: Float[Tensor, "pair 1 1 token"]
    ) -> Float[Tensor, "pair token width"]:
        inner: nn.ModuleDict = self.attention["self"]  # type: ignore[assignment]
        query, key, value = (_heads(inner[name](x)) for name in ("query", "key", "value"))
        scores = query @ key.transpose(-1, -2) * query.shape[-1] ** -0.5 + bias
        context = scores.softmax(-1).to(value.dtype) @ value
        x = _add(self.attention["output"], context.transpose(1, 2).flatten(2), x)
        return _add(self.output, F.gelu(self.intermediate["dense"](x)), x)


def _output(width: int) -> nn.ModuleDict:
    return nn.ModuleDict({"dense": nn.Linear(width, WIDTH), "LayerNorm": nn.LayerNorm(WIDTH, EPSILON)})


def _heads(x: Float[Tensor, "pair token width"]) -> Float[Tensor, "pair head token d"]:
    return x.view(*x.shape[:2], HEADS, -1).transpose(1, 2)


def _add(output: nn.Module, x: Tensor, residual: Tensor) -> Tensor:
    total: Tensor = output.LayerNorm(residual + output.dense(x))  # type: ignore[operator]
    return total


class Net(nn.Module):
    """The judge; `sides` are added to the tokens of the first and of the second text, `out` reads the two [CLS]."""

    def __init__(self, encoder: MiniLM) -> None:
        super().__init__()
        self._encoder = encoder
        encoder_weights = find().weights
        self._norm = [encoder_weights[name] for name in NORM]
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        prefix = "encoder.layer."
        self.layers.load_state_dict(
            {name.removeprefix(prefix): w for name, w in encoder_weights.items() if name.startswith(prefix)}
        )
        self.sides = nn.Parameter(torch.zeros(2, WIDTH))
        self.out = nn.Linear(2 * WIDTH, 1)
        nn.init.normal_(self.out.weight, std=0.02)
        nn.init.zeros_(self.out.bias)

    def forward(
        self, first: Sequence[Ids], second: Sequence[Ids], cosines: Float[Tensor, " pair"]
    ) -> Float[Tensor, " pair"]:
        """Return the log-odds that the two texts of each pair ask for the same."""
        ids = [torch.tensor([*a, *b]) for a, b in zip(first, second, strict=True)]
        places = [torch.tensor([*range(len(a)), *range(len(b))]) for a, b in zip(first, second, strict=True)]
        starts = torch.tensor([len(a) for a in first])
        padded = pad_sequence(ids, batch_first=True)
        columns = torch.arange(padded.shape[1])
        is_real = columns < torch.tensor([len(row) for row in ids])[:, None]
        sides = (columns >= starts[:, None]).long()
        embedded = self._encoder.embed(padded, pad_sequence(places, batch_first=True)) + self.sides[sides]
        x = F.layer_norm(embedded, (WIDTH,), self._norm[0], self._norm[1], EPSILON)
        bias = torch.zeros(is_real.shape).masked_fill_(~is_real, MASKED)[:, None, None]
        for layer in self.layers:
            x = layer(x, bias)
        marks = torch.cat([x[:, 0], x[torch.arange(len(ids)), starts]], -1)
        raw: Tensor = self.out(marks).squeeze(-1).float()
        return raw + COSINE * (cosines - MIDDLE)

    def served_weights(self) -> dict[str, Tensor]:
        """Return the weights as `models.scope.judge` keeps them, without the bias of `out`."""
        layers = {f"encoder.layer.{name}": weight for name, weight in self.layers.state_dict().items()}
        norm = dict(zip(NORM, self._norm, strict=True))
        return {**norm, **layers, "sides": self.sides.detach(), "out": self.out.weight.detach()[0]}
