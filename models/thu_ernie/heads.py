"""The heads of THU-ERNIE: its three pre-training tasks, spans, classes, and the types of an entity.

Zhang et al. (arXiv:1905.07129), sections 3.5 and 3.6. Each head takes both entity inputs, and a batch without entities.
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

NO_LABEL = -1  # Label of a place that a loss leaves out


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
    """The scores of the three tasks before their softmax.

    Attributes:
        words: Logits of each word of the vocabulary at each place.
        entities: Logits of each candidate at each place; 0 for a candidate whose vector is zero.
        order: Logits of two classes, of which 0 says that the second text follows the first.
    """

    words: Float[Tensor, "batch token vocab"]
    entities: Float[Tensor, "batch token candidate"]
    order: Float[Tensor, "batch 2"]


@dataclass(frozen=True)
class PretrainingLabels:
    """The labels of the three tasks; NO_LABEL at places without one.

    Attributes:
        words: Token ids.
        entities: Numbers of candidates.
        order: 0 if the second text follows the first, otherwise 1.
    """

    words: Int[Tensor, "batch token"]
    entities: Int[Tensor, "batch token"]
    order: Int[Tensor, " batch"]


@dataclass(frozen=True)
class LoadReport:
    """The tensors that a model took from a checkpoint.

    Attributes:
        matches: Names of the tensors that fill the model.
        new: Names that the checkpoint lacks; their weights are drawn at random.
        ignored: Names of the checkpoint that the model does not have.
    """

    matches: tuple[str, ...]
    new: tuple[str, ...]
    ignored: tuple[str, ...]


class ErnieWithHead(nn.Module):
    """A network under a head; a checkpoint has it under `bert.`.

    Attributes:
        report: Report on loading; None if the model was not loaded.
    """

    report: LoadReport | None = None

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


class ErnieSpans(ErnieWithHead):
    """Predicts the first and the last token of an answer."""

    def __init__(self, config: ErnieConfig) -> None:
        super().__init__(config)
        self.qa_outputs = nn.Linear(config.width, 2)
        self.bert.initialise(self.qa_outputs)

    def forward(self, batch: Batch) -> Float[Tensor, "batch token 2"]:
        """Return the start and the end logit of each token."""
        logits: Tensor = self.qa_outputs(self.bert(batch).tokens)
        return logits


class ErnieClassifier(ErnieWithHead):
    """One of some classes for a text, or a pair of texts."""

    def __init__(self, config: ErnieConfig, classes: int) -> None:
        super().__init__(config)
        self.classifier = nn.Linear(config.width, classes)
        self.bert.initialise(self.classifier)

    def forward(self, batch: Batch) -> Float[Tensor, "batch class"]:
        """Return the logits of each class."""
        logits: Tensor = self.classifier(self.dropout(self.bert(batch).pooled))
        return logits


class ErnieTagger(ErnieClassifier):
    """One of some classes for each token."""

    def forward(self, batch: Batch) -> Float[Tensor, "batch token class"]:
        """Return the logits of each class at each token."""
        logits: Tensor = self.classifier(self.dropout(self.bert(batch).tokens))
        return logits


class ErnieTyping(ErnieWithHead):
    """Predicts the types of an entity, each independently. The linear map has no bias."""

    def __init__(self, config: ErnieConfig, types: int) -> None:
        super().__init__(config)
        self.typing = nn.Linear(config.width, types, bias=False)
        self.bert.initialise(self.typing)

    def forward(self, batch: Batch) -> Float[Tensor, "batch type"]:
        """Return the log-odds of each type."""
        logits: Tensor = self.typing(self.dropout(self.bert(batch).pooled))
        return logits


def pretraining_loss(logits: PretrainingLogits, labels: PretrainingLabels) -> Float[Tensor, ""]:
    """Return the sum of the three cross-entropies, section 3.5."""
    return (
        cross_entropy(logits.words, labels.words)
        + cross_entropy(logits.entities, labels.entities)
        + cross_entropy(logits.order, labels.order)
    )


def span_loss(
    logits: Float[Tensor, "batch token 2"], start: Int[Tensor, " batch"], end: Int[Tensor, " batch"]
) -> Float[Tensor, ""]:
    """Return the mean of the cross-entropies of start and end."""
    return (cross_entropy(logits[..., 0], start) + cross_entropy(logits[..., 1], end)) / 2


def cross_entropy(logits: Float[Tensor, "*row class"], labels: Int[Tensor, "*row"]) -> Float[Tensor, ""]:
    """Return the mean over the rows with a label; 0 where no row has one."""
    total = F.cross_entropy(logits.flatten(0, -2), labels.flatten(), ignore_index=NO_LABEL, reduction="sum")
    return total / (labels != NO_LABEL).sum().clamp(min=1)
