"""The judge: reads a question and the wording of an edit together, and says how likely they ask for the same fact.

A cross-encoder: MiniLM's six layers (Wang et al., arXiv:2002.10957), fine-tuned on pairs of questions. Each text keeps
its own positions, and a learned vector says which of the two a token belongs to:

    h = BERT([CLS] q [SEP] [CLS] w [SEP]),   x = a . [h_q; h_w],   k = cos(u_q, u_w)
    log-odds = b x + c k + d x (k - 0.8) + e

h_q, h_w are the states of the two [CLS]; u the encoder's sentence vectors, which found the pair. b to e are fitted on
relations, names and facts that no weight was trained on, so that the log-odds are those of a probability. The word
embeddings are the encoder's own; the layers are kept in 8 bits.
"""

import json
import math
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from cachetools import LRUCache
from jaxtyping import Float, Int
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import Tensor

from models.checkpoint import CONFIG, WEIGHTS, CheckpointError, verify_sums
from models.device import quick_dtype
from models.encoder.bert import PackedBert
from models.encoder.minilm import MiniLM
from models.scope.candidates import MIN_COSINE
from models.scope.literals import digest_literals, digest_wordings
from models.scope.readings import UNKNOWN, Readings, Tokens, pack_tokens, unpack_tokens

DEFAULT = Path(__file__).parent.parent / "checkpoints" / "scope"
FILES = (CONFIG, WEIGHTS)
MAX_TOKENS = 64  # of each of the two texts
MIDDLE = 0.8  # a cosine of two questions about one thing
BATCH = 32  # pairs in one forward pass
CACHE_SIZE = 65_536  # pairs, 300 bytes each
SCALE = ".scale"

Pair = tuple[Tokens, Tokens]


@dataclass(frozen=True)
class Calibration:
    """log-odds = slope x + cosine cos + product x (cos - MIDDLE) + bias, with x what the layers say.

    slip: the share of questions of which a word is rightly taken for a misspelt one. highest: the largest x among the
    pairs that this was fitted on.
    """

    slope: float
    cosine: float
    bias: float
    product: float = 0.0
    slip: float = 1.0
    highest: float = math.inf

    def log_odds(self, x: Tensor, cosine: Tensor) -> Tensor:
        return self.slope * x + self.cosine * cosine + self.product * x * (cosine - MIDDLE) + self.bias

    def min_cosine(self, probability: float) -> float:
        """Below it no pair reaches the probability, unless the layers are surer of it than of any pair tried."""
        if not 0 < probability < 1:
            return MIN_COSINE
        beside_cosine = self.bias + (self.slope - self.product * MIDDLE) * self.highest
        log_odds = math.log(probability / (1 - probability))
        return max(MIN_COSINE, (log_odds - beside_cosine) / (self.cosine + self.product * self.highest))


class Judge:
    """Thread-safe: weights never change, and pairs judged lately come from a cache.

    Args:
        encoder: whose words, positions and device are used.
        weights: by name, in float32, on the encoder's device.
        digest: of the checkpoint.
        dtype: of the matrices; None for the quickest, the log-odds of which differ by some hundredths.
    """

    def __init__(
        self,
        encoder: MiniLM,
        weights: dict[str, Tensor],
        calibration: Calibration,
        digest: str = "",
        dtype: torch.dtype | None = None,
    ) -> None:
        self.digest, self.calibration = digest, calibration
        self._encoder = encoder
        self._sides, self._out = weights.pop("sides"), weights.pop("out")
        self._bert = PackedBert.from_weights(weights, dtype or quick_dtype(encoder.device, encoder.dtype))
        self._cache: LRUCache[Pair, float] = LRUCache(CACHE_SIZE)
        self._lock = threading.Lock()

    @staticmethod
    def load(encoder: MiniLM, folder: Path = DEFAULT) -> "Judge":
        """CheckpointError names the file that is missing, damaged or of another shape."""
        digest = verify_sums(folder, FILES)
        try:
            config = json.loads((folder / CONFIG).read_text())
            weights = unpack_weights(load_file(folder / WEIGHTS))
            on_device = {name: tensor.to(encoder.device) for name, tensor in weights.items()}
            return Judge(encoder, on_device, Calibration(**config["calibration"]), digest)
        except (KeyError, TypeError, ValueError, RuntimeError) as cause:
            raise CheckpointError(f"{folder} is not a whole checkpoint of a judge: {cause}") from cause

    @property
    def tokenizer(self) -> Tokenizer:
        return self._encoder.tokenizer

    def tokens(self, text: str) -> Tokens:
        """A text as the judge reads it; a long one to its MAX_TOKENS-th token."""
        ids = self.tokenizer.encode(text).ids
        return pack_tokens(ids if len(ids) <= MAX_TOKENS else [*ids[: MAX_TOKENS - 1], ids[-1]])

    def read(
        self,
        questions: Sequence[str],
        vectors: Float[Tensor, "question width"],
        subjects: Int[Tensor, " question"] | None = None,
    ) -> Readings:
        """Questions as the scope compares them.

        Args:
            vectors: their sentence vectors. subjects: places of known subjects; None where none is known.
        """
        if subjects is None:
            subjects = torch.full((len(questions),), UNKNOWN, device=vectors.device)
        wordings, literals = (digest(questions).to(subjects) for digest in (digest_wordings, digest_literals))
        return Readings([self.tokens(text) for text in questions], vectors, wordings, literals, subjects)

    @torch.inference_mode()
    def encode(self, questions: Sequence[str]) -> Readings:
        """As `read`, by themselves."""
        return self.read(questions, self._encoder.encode(questions).sentences)

    def __call__(self, pairs: Sequence[Pair], cosines: Float[Tensor, " pair"]) -> Float[Tensor, " pair"]:
        """Log-odds that the two texts of each pair ask for the same fact, on the CPU.

        Args:
            pairs: a question and a wording, each as `tokens` has it.
            cosines: of their sentence vectors.
        """
        with self._lock:
            raw = {pair: self._cache[pair] for pair in pairs if pair in self._cache}
        if missing := [pair for pair in dict.fromkeys(pairs) if pair not in raw]:
            fresh = dict(self._read(missing))
            raw |= fresh
            with self._lock:
                self._cache.update(fresh)
        values = torch.tensor([raw[pair] for pair in pairs])
        return self.calibration.log_odds(values, cosines.cpu())

    @torch.inference_mode()
    def _read(self, pairs: Sequence[Pair]) -> Iterator[tuple[Pair, float]]:
        """What the layers say of each pair; those of like length together, so that little is padding."""
        by_length = sorted(pairs, key=lambda pair: len(pair[0]) + len(pair[1]))
        for start in range(0, len(by_length), BATCH):
            batch = by_length[start : start + BATCH]
            values: list[float] = self._forward(batch).tolist()
            yield from zip(batch, values, strict=True)

    def _forward(self, packed: Sequence[Pair]) -> Float[Tensor, " pair"]:
        device = self._encoder.device
        pairs = [(unpack_tokens(question), unpack_tokens(wording)) for question, wording in packed]
        lengths = torch.tensor([[len(question), len(wording)] for question, wording in pairs])
        n_tokens = lengths.sum(1, keepdim=True)
        columns = torch.arange(int(n_tokens.max()))
        is_real, is_second = columns < n_tokens, columns >= lengths[:, :1]
        ids = torch.tensor([token for question, wording in pairs for token in (*question, *wording)])
        sides = is_second[is_real].long()
        places = (columns - is_second * lengths[:, :1])[is_real]
        embedded = self._encoder.embed(ids.to(device), places.to(device)) + self._sides[sides.to(device)]
        states = self._bert(embedded, is_real.to(device), is_real[:, None].to(device))
        rows = torch.arange(len(pairs), device=device)
        marks = torch.cat([states[:, 0], states[rows, lengths[:, 0].to(device)]], -1)
        return marks @ self._out


def pack_weights(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Matrices of layers in 8 bits, each row scaled to its own largest entry; the rest in half precision."""
    packed: dict[str, Tensor] = {}
    for name, weight in weights.items():
        if weight.dim() == 2 and name.startswith("encoder."):
            scale = (weight.abs().amax(1, keepdim=True) / 127).clamp(min=1e-8).half()
            packed[name] = (weight / scale.float()).round().clamp(-127, 127).to(torch.int8)
            packed[name + SCALE] = scale
        else:
            packed[name] = weight.half()
    return packed


def unpack_weights(packed: dict[str, Tensor]) -> dict[str, Tensor]:
    """In float32."""
    return {
        name: tensor.float() * packed[name + SCALE].float() if tensor.dtype == torch.int8 else tensor.float()
        for name, tensor in packed.items()
        if not name.endswith(SCALE)
    }
