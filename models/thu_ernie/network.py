"""THU-ERNIE without a head: texts with entity vectors in, token states out.

Zhang et al. (arXiv:1905.07129), section 3. The embeddings are BERT's (Devlin et al., arXiv:1810.04805), and so is the
pooler, which no answer reads. An entity has neither position nor segment: its vector comes from the table unchanged.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from models.encoder.bert import EPSILON
from models.thu_ernie.config import ErnieConfig
from models.thu_ernie.layers import Layer, Masks


@dataclass(frozen=True)
class Batch:
    """Texts of one length, padded, with a vector for each token that names an entity.

    The attention between entities needs a key, so place 0 counts as linked, with the zero vector.
    """

    ids: Int[Tensor, "batch token"]
    segments: Int[Tensor, "batch token"]  # 0 in the first text of a pair, 1 in the second
    is_real: Bool[Tensor, "batch token"]  # False at padding
    entities: Float[Tensor, "batch token entity"]
    is_linked: Bool[Tensor, "batch token"]  # True where a token has an entity


class Embeddings(nn.Module):
    """The sum of word, position and segment, and its norm."""

    def __init__(self, config: ErnieConfig) -> None:
        super().__init__()
        self.word_embeddings = nn.Embedding(config.vocab, config.width)
        self.position_embeddings = nn.Embedding(config.positions, config.width)
        self.token_type_embeddings = nn.Embedding(config.segments, config.width)
        self.LayerNorm = nn.LayerNorm(config.width, EPSILON)
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self, ids: Int[Tensor, "batch token"], segments: Int[Tensor, "batch token"]
    ) -> Float[Tensor, "batch token width"]:
        """Embed the tokens of a batch.

        Raises:
            ValueError: A text is longer than the table of positions.
        """
        length, limit = ids.shape[1], self.position_embeddings.num_embeddings
        if length > limit:
            raise ValueError(f"a text has {length} tokens and the model reads {limit}: cut it into windows")
        places = torch.arange(length, device=ids.device)
        total = (
            self.word_embeddings(ids)
            + self.position_embeddings(places)
            + self.token_type_embeddings(segments)
        )
        state: Tensor = self.dropout(self.LayerNorm(total))
        return state


class Ernie(nn.Module):
    """The network. Its state dict has the authors' keys without `bert.`."""

    def __init__(self, config: ErnieConfig) -> None:
        super().__init__()
        self.config = config
        self.embeddings = Embeddings(config)
        self.encoder = nn.ModuleDict({"layer": nn.ModuleList(Layer(config, kind) for kind in config.kinds)})
        self.pooler = nn.ModuleDict({"dense": nn.Linear(config.width, config.width)})
        self.apply(self.initialise)

    def forward(self, batch: Batch) -> Float[Tensor, "batch token width"]:
        """Return the states of a batch in the last layer.

        Raises:
            ValueError: A text is too long, or the vectors have another width than the model.
        """
        ((tokens, _),) = deque(self.layers(batch), maxlen=1)
        return tokens

    def layers(self, batch: Batch) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield the states of tokens [batch token width] and of entities [batch token entity] after each layer."""
        if batch.entities.shape[-1] != self.config.entity_size:
            raise ValueError(
                f"the entity vectors have the width {batch.entities.shape[-1]} and the model reads "
                f"{self.config.entity_size}: take the table that the model was trained with"
            )
        tokens = self.embeddings(batch.ids, batch.segments)
        masks = Masks.of(batch.is_real, batch.is_linked, tokens.dtype)
        entities = batch.entities.to(tokens.dtype)
        for layer in self.encoder["layer"].children():
            tokens, entities = layer(tokens, entities, masks)
            yield tokens, entities

    def initialise(self, module: nn.Module) -> None:
        """Draw the weights of a new module as BERT does; norms keep torch's ones and zeros."""
        if isinstance(module, nn.Linear | nn.Embedding):
            nn.init.normal_(module.weight, std=self.config.init_std)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)
