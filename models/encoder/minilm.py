"""The pretrained encoder that reads questions: texts in, states and sentence vectors out.

Wang et al., MiniLM (arXiv:2002.10957). Equal to transformers' BertModel on real tokens (tests/models/encoder).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from weakref import WeakValueDictionary

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from models.encoder.bert import WIDTH
from models.encoder.layers import make_layers
from models.encoder.weights import EncoderFiles, find, share
from models.kit import engine

__all__ = ["WIDTH", "Encoded", "MiniLM"]

ENCODERS: WeakValueDictionary[tuple[str, torch.dtype], "MiniLM"] = WeakValueDictionary()
MAX_TOKENS = 128  # longest text that all-MiniLM-L6-v2 was trained on


@dataclass(frozen=True)
class Encoded:
    """Texts that the encoder has read."""

    states: Float[Tensor, "batch token width"]  # last hidden states, zero at padding
    ids: Int[Tensor, "batch token"]  # ids of the tokens, 0 at padding
    mask: Bool[Tensor, "batch token"]  # true at real tokens
    truncated: tuple[bool, ...]  # which texts were cut

    @property
    def sentences(self) -> Float[Tensor, "batch width"]:
        """Return unit vectors as sentence-transformers makes them: the mean of the states of real tokens."""
        return F.normalize(self.states.sum(1) / self.mask.sum(1, keepdim=True), dim=-1)


class MiniLM:
    """The frozen encoder. Threads may share it: weights never change.

    Args:
        files: Weights and tokenizer; None looks for them.
        dtype: Type of the matrices; embeddings, norms and states are float32.

    EncoderNotFound: the files are nowhere.
    """

    def __init__(
        self,
        files: EncoderFiles | None = None,
        max_tokens: int = MAX_TOKENS,
        *,
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.float32,
    ) -> None:
        files = files or find()
        self.device, self.dtype = torch.device(device), dtype
        weights = {name: value.to(self.device) for name, value in files.weights.items()}
        self.tokenizer = files.tokenizer()
        self.max_tokens = max_tokens
        self.words = share(weights["embeddings.word_embeddings.weight"])
        self._positions = (
            weights["embeddings.position_embeddings.weight"]
            + weights["embeddings.token_type_embeddings.weight"][0]
        )
        self._layers = make_layers(weights, dtype)

    @staticmethod
    def load(device: torch.device | str = "cpu", dtype: torch.dtype = torch.float32) -> "MiniLM":
        """Return the pretrained encoder that this process has already, or load it."""
        key = str(device), dtype
        encoder = ENCODERS.get(key) or MiniLM(device=device, dtype=dtype)
        return ENCODERS.setdefault(key, encoder)

    @property
    def engine(self) -> str:
        """What computes the layers, for people."""
        return engine.describe(self.device, self.dtype)

    def tokens(self, text: str) -> tuple[list[int], bool]:
        """Return token ids with [CLS] and [SEP], and whether the text had to be cut."""
        ids = self.tokenizer.encode(text).ids
        is_short = len(ids) <= self.max_tokens
        return ids if is_short else ids[: self.max_tokens - 1] + ids[-1:], not is_short

    def embed(
        self, ids: Int[Tensor, "*token"], places: Int[Tensor, "*token"]
    ) -> Float[Tensor, "*token width"]:
        """Sum of the embeddings of each token and of its place in its text, before the norm."""
        return self.words[ids] + self._positions[places]

    def encode(self, texts: Sequence[str]) -> Encoded:
        """Read texts in one forward pass."""
        tokens = [self.tokens(text) for text in texts]
        encoded = self.read([ids for ids, _ in tokens])
        return replace(encoded, truncated=tuple(is_cut for _, is_cut in tokens))

    @torch.inference_mode()
    def read(self, rows: Sequence[Sequence[int]]) -> Encoded:
        """Read rows of token ids in one forward pass."""
        tensors = [torch.tensor(row) for row in rows]
        lengths = torch.tensor([len(row) for row in tensors])
        positions = torch.arange(int(lengths.max()))
        mask = positions < lengths[:, None]
        places, is_real = positions.expand_as(mask)[mask].to(self.device), mask.to(self.device)
        embedded = self.embed(torch.cat(tensors).to(self.device), places)
        states = self._layers(embedded, is_real, is_real[:, None, :])
        ids = pad_sequence(tensors, batch_first=True).to(self.device)
        return Encoded(states, ids, is_real, (False,) * len(rows))
