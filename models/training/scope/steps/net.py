"""The judge in training: MiniLM's layers on two texts at once; all weights but the embeddings are trainable."""

from collections.abc import Mapping

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from models.encoder.bert import WIDTH
from models.scope.judge import MIDDLE
from models.scope.wordings.mentions import N_MARKS
from models.training.kit.steps import CPU
from models.training.reading.net import make_minilm
from models.training.scope.steps.batches import Batch

NORM, PREFIX = "embeddings.LayerNorm.", "encoder.layer."
MARK = 0.03  # deviation of the first numbers of a mark, some half of a word's
COSINE = 15.0  # weight of the cosine alone: the layers learn the rest


class Net(nn.Module):
    """The layers, the marks of the two texts, and the head that reads the two [CLS]; cosines come from a frozen copy.

    On a CPU attention is written out: for such short texts its backward pass takes a third of the time of torch's fused
    one.
    """

    def __init__(self, dropout: float = 0.0, device: torch.device = CPU) -> None:
        super().__init__()
        self.device, attention = device, "sdpa" if device.type == "cuda" else "eager"
        self.bert = make_minilm(dropout, attention)
        self.bert.embeddings.requires_grad_(False).dropout.p = 0.0
        self._frozen = (make_minilm(0.0).requires_grad_(False).eval().to(device),)
        self.sides = nn.Parameter(torch.zeros(2, WIDTH))
        self.marks = nn.Parameter(torch.randn(N_MARKS, WIDTH) * MARK)
        self.out = nn.Linear(2 * WIDTH, 1)
        nn.init.normal_(self.out.weight, std=0.02)
        nn.init.zeros_(self.out.bias)
        self.to(device)

    def forward(self, batch: Batch, n_orders: int = 1) -> Float[Tensor, "order pair"]:
        """Return the log-odds that the two texts of each pair ask for the same, in one order or in both."""
        ids, first = batch.ids[:n_orders].flatten(0, 1), batch.first[:n_orders].flatten()
        places = torch.arange(ids.shape[1], device=ids.device)
        is_second = places >= first[:, None]
        states = self.bert(
            inputs_embeds=self.bert.embeddings.word_embeddings(ids)
            + self.sides[is_second.long()]
            + F.pad(self.marks, (0, 0, 1, 0))[batch.marks[:n_orders].flatten(0, 1)],
            attention_mask=(places < batch.length.repeat(n_orders)[:, None]).long(),
            position_ids=places - is_second * first[:, None],
        ).last_hidden_state
        marks = torch.cat([states[:, 0], states[torch.arange(len(ids), device=ids.device), first]], -1)
        raw: Tensor = self.out(marks).float().view(n_orders, -1)
        return raw + COSINE * (self.cosines(batch) - MIDDLE)

    @torch.no_grad()
    def cosines(self, batch: Batch) -> Float[Tensor, " pair"]:
        """Compute the cosines of the sentence vectors of each pair."""
        vectors = []
        for ids, n_tokens in zip(
            batch.ids, batch.first, strict=True
        ):  # each order begins with the text that is read
            cut = ids[:, : int(n_tokens.max())]
            is_real = torch.arange(cut.shape[1], device=ids.device) < n_tokens[:, None]
            states = self._frozen[0](cut, attention_mask=is_real.long()).last_hidden_state.float()
            vectors.append(F.normalize((states * is_real[..., None]).sum(1), dim=-1))
        return (vectors[0] * vectors[1]).sum(-1)

    def load_served(self, weights: Mapping[str, Tensor]) -> None:
        """Start from the weights of a judge that is served."""
        layers = {name: value for name, value in weights.items() if name.startswith(PREFIX)}
        self.bert.load_state_dict(layers, strict=False)
        with torch.no_grad():
            self.sides.copy_(weights["sides"].view(2, WIDTH))
            self.out.weight.copy_(weights["out"].view(1, -1))
            if "marks" in weights:
                self.marks.copy_(weights["marks"].view(N_MARKS, WIDTH))

    def served_weights(self) -> dict[str, Tensor]:
        """Return the weights as `models.scope.judge` keeps them, without the bias of `out`."""
        layers = {name: v for name, v in self.bert.state_dict().items() if name.startswith((NORM, PREFIX))}
        heads = {"sides": self.sides, "marks": self.marks, "out": self.out.weight}
        weights = {**layers, **{name: weight.detach().flatten() for name, weight in heads.items()}}
        return {name: weight.float().cpu() for name, weight in weights.items()}
