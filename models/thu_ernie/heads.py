"""The heads of THU-ERNIE: its three pre-training tasks, and entity alignment at a mask, which answers.

Zhang et al. (arXiv:1905.07129), sections 3.4 to 3.6. Each head takes both entity inputs, and a batch without entities.
The words under which a module stands are the authors' keys.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from models.encoder.bert import EPSILON
from models.thu_ernie.config import ErnieConfig
from models.thu_ernie.network import Batch, Ernie


class Transform(nn.Module):
    """LN(gelu(W x + b)), the layer before a prediction."""

    def __init__(self, width: int, out: int) -> None:
        super().__init__()
        self.dense = nn.Linear(width, out)
        self.LayerNorm = nn.LayerNorm(out, EPSILON)

    def forward(self, x: Float[Tensor, "batch token width"]) -> Float[Tensor, "batch token out"]:
        """Return LN(gelu(W x + b))."""
        state: Tensor = self.LayerNorm(F.gelu(self.dense(x)))
        return state


class WordPrediction(nn.Module):
    """Masked words. The decoder is the word embedding."""

    def __init__(self, config: ErnieConfig, embedding: nn.Embedding) -> None:
        super().__init__()
        self.transform = Transform(config.width, config.width)
        self.decoder = nn.Linear(config.width, config.vocab, bias=False)
        self.decoder.weight = embedding.weight
        self.bias = nn.Parameter(torch.zeros(config.vocab))

    def forward(self, x: Float[Tensor, "batch token width"]) -> Float[Tensor, "batch token vocab"]:
        """Return the logits of each word at each place."""
        logits: Tensor = self.decoder(self.transform(x)) + self.bias
        return logits


class EntityAlignment(nn.Module):
    """dEA: which of some entities a token names, equation 5. No bias and no temperature."""

    def __init__(self, config: ErnieConfig) -> None:
        super().__init__()
        self.transform = Transform(config.width, config.entity_size)

    def forward(
        self, x: Float[Tensor, "batch token width"], candidates: Float[Tensor, "candidate entity"]
    ) -> Float[Tensor, "batch token candidate"]:
        """Return the logits of each candidate at each place."""
        logits: Tensor = self.transform(x) @ candidates.T
        return logits


class PretrainingHeads(nn.Module):
    """The heads of the three tasks on one reading."""

    def __init__(self, config: ErnieConfig, embedding: nn.Embedding) -> None:
        super().__init__()
        self.predictions = WordPrediction(config, embedding)
        self.predictions_ent = EntityAlignment(config)
        self.seq_relationship = nn.Linear(config.width, 2)


@dataclass(frozen=True)
class PretrainingLogits:
    """The scores of the three tasks before their softmax."""

    words: Float[Tensor, "batch token vocab"]
    entities: Float[Tensor, "batch token candidate"]  # 0 for a candidate whose vector is zero
    order: Float[Tensor, "batch 2"]  # class 0 says that the second text follows the first


@dataclass(frozen=True)
class LoadReport:
    """The tensors that a model took from a checkpoint."""

    matches: tuple[str, ...]
    new: tuple[str, ...]  # names that the checkpoint lacks; their weights are drawn at random
    ignored: tuple[str, ...]  # names that the model does not have


class ErnieWithHead(nn.Module):
    """A network under a head; a checkpoint has it under `bert.`."""

    report: LoadReport | None = None  # None if the model was not loaded

    def __init__(self, config: ErnieConfig) -> None:
        super().__init__()
        self.config = config
        self.bert = Ernie(config)
        self.dropout = nn.Dropout(config.dropout)


class ErniePretraining(ErnieWithHead):
    """Masked words, next text and entity alignment together."""

    def __init__(self, config: ErnieConfig) -> None:
        super().__init__(config)
        self.cls = PretrainingHeads(config, self.bert.embeddings.word_embeddings)
        self.cls.apply(self.bert.initialise)

    def forward(self, batch: Batch, candidates: Float[Tensor, "candidate entity"]) -> PretrainingLogits:
        """Read a batch, and compare each token with the vectors of the candidates."""
        reading = self.bert(batch)
        return PretrainingLogits(
            self.cls.predictions(reading.tokens),
            self.cls.predictions_ent(reading.tokens, candidates),
            self.cls.seq_relationship(reading.pooled),
        )


class AnswerHeads(nn.Module):
    """The heads of `cls.` in the authors' keys that answering needs."""

    def __init__(self, config: ErnieConfig) -> None:
        super().__init__()
        self.predictions_ent = EntityAlignment(config)


class ErnieAnswers(ErnieWithHead):
    """The network of the system `thu-ernie`.

    The mask that stands where the answer would carries the row of the entity that is asked about, as a token of a
    corrupted mention does in the pre-training: the head aligns it with the entity that belongs there.
    """

    def __init__(self, config: ErnieConfig) -> None:
        super().__init__(config)
        self.cls = AnswerHeads(config)
        self.cls.apply(self.bert.initialise)

    def query(self, batch: Batch, places: Int[Tensor, " batch"]) -> Float[Tensor, "batch entity"]:
        """Return the vector that the alignment head compares with rows, at one place of each text, by a dot product."""
        states = self.bert(batch).tokens[torch.arange(len(places)), places]
        query: Tensor = self.cls.predictions_ent.transform(states[:, None])
        return query[:, 0]
