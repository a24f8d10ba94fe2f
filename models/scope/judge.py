"""The judge: reads a question and the wording of an edit together, and returns how likely they ask for the same fact.

A cross-encoder: MiniLM's six layers (Wang et al., arXiv:2002.10957), fine-tuned on pairs of questions. Each text
keeps its own positions, and a learned vector marks the tokens of the second one:

    h = BERT([CLS] q [SEP] [CLS] w [SEP]),   x = a . [h_q; h_w],   k = cos(u_q, u_w)
    log-odds = b x + c k + d x (k - 0.8) + e + f . s

Where the weights have marks, names that the two share have one each (`wordings/mentions.py`). h_q, h_w are the states
of the two [CLS]; u are the encoder's sentence vectors, which found the pair; s is what their words differ in
(`wordings/contrast.py`). b to e and f are fitted on relations, names and facts that no weight was trained on, so that
the log-odds are calibrated. A pair near an even chance is read in both orders, and x is their mean. The word embeddings
are the encoder's; `models/encoder/pairs.py` runs the layers.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import Float, Int
from tokenizers import Tokenizer
from torch import Tensor

from models.confidence import Confidence
from models.encoder.layers import restore_matrices
from models.encoder.minilm import MiniLM
from models.encoder.pairs import PairLayers
from models.kit.batching import Cache
from models.kit.checkpoint import CONFIG, WEIGHTS, CheckpointError, read_verified
from models.scope.candidates import MIN_COSINE
from models.scope.literals import digest_literals, digest_wordings
from models.scope.readings import UNKNOWN, Readings, Tokens, pack_tokens
from models.scope.values import spell_values
from models.scope.wordings.contrast import SIGNS, Contrast
from models.scope.wordings.mentions import mark_mentions
from models.scope.wordings.names import NO_NAMES, NameWeights, WordReader
from models.scope.wordings.slips import NO_SLIPS, Slips

DEFAULT = Path(__file__).parent.parent / "checkpoints" / "scope"
FILES = (CONFIG, WEIGHTS)
MAX_TOKENS = 64  # tokens of each of the two texts
RIVAL = 0.2  # probability from which another edit makes an answer less likely
MIDDLE = 0.8  # cosine of two questions about one thing
CACHE_SIZE = 65_536  # pairs, 300 bytes each
BOTH_ORDERS = 0.7  # log-odds, either way, within which a pair is read in both orders

Pair = tuple[Tokens, Tokens]
LOG_ODDS_OF_RIVAL = math.log(RIVAL / (1 - RIVAL))


@dataclass(frozen=True)
class Calibration:
    """The coefficients of log-odds = slope x + cosine cos + product x (cos - MIDDLE) + bias; x comes from the layers.

    Attributes:
        slope, cosine, bias, product: Fitted coefficients.
    """

    slope: float
    cosine: float
    bias: float
    product: float = 0.0
    slip: float = 1.0  # share of the questions in which a word is rightly taken for a misspelt one
    highest: float = math.inf  # largest x among the pairs that the numbers were fitted on
    # What each unit of another edit's log-odds beyond RIVAL takes from those of the likeliest one
    rival: float = 0.0
    lift: float = 0.0  # most that the words of a pair added among the pairs that the numbers were fitted on
    # Coefficients of the signs of a pair's words (`wordings/contrast.py`)
    signs: Sequence[float] = (0.0,) * len(SIGNS)

    def weigh(self, signs: Float[Tensor, "pair sign"]) -> Float[Tensor, " pair"]:
        """Return what the signs of pairs add to their log-odds."""
        return (signs * torch.tensor(self.signs)).sum(
            -1
        )  # a product would round a pair by its place in the batch

    def log_odds(self, x: Tensor, cosine: Tensor, signs: Float[Tensor, "pair sign"]) -> Tensor:
        """Return the calibrated log-odds of pairs, by their signs as `Contrast` finds them."""
        return (
            self.slope * x
            + self.cosine * cosine
            + self.product * x * (cosine - MIDDLE)
            + self.bias
            + self.weigh(signs)
        )

    def beside(self, log_odds: float, other: float) -> float:
        """Return the log-odds of the likeliest edit beside those of the likeliest other one; -inf if there is none."""
        return log_odds - self.rival * max(0.0, other - LOG_ODDS_OF_RIVAL)

    def min_cosine(self, probability: float) -> float:
        """Return the cosine below which no pair reaches a probability, given the largest x that was seen."""
        if not 0 < probability < 1:
            return MIN_COSINE
        beside_cosine = self.bias + self.lift + (self.slope - self.product * MIDDLE) * self.highest
        log_odds = math.log(probability / (1 - probability))
        return max(MIN_COSINE, (log_odds - beside_cosine) / (self.cosine + self.product * self.highest))


class Judge:
    """Judges pairs; recent ones come from a cache. Threads may share it: weights never change.

    Args:
        encoder: The encoder whose words, positions and device are used.
        layers: What reads the pairs.
        calibration: Turns the output of the layers into log-odds.
        names: Tells which words are part of a name.
        slips: Tells slips from other names.
        digest: Digest of the checkpoint.
    """

    def __init__(
        self,
        encoder: MiniLM,
        layers: PairLayers,
        calibration: Calibration,
        names: NameWeights = NO_NAMES,
        slips: Confidence = NO_SLIPS,
        digest: str = "",
    ) -> None:
        self.digest, self.calibration = digest, calibration
        self._encoder = encoder
        self.contrast = Contrast(WordReader(encoder.tokenizer, encoder.words, names))
        self.slips = Slips(encoder.tokenizer, slips)
        self._layers = layers
        self._cache = Cache[Pair, float](CACHE_SIZE)

    @staticmethod
    def load(encoder: MiniLM, folder: Path = DEFAULT) -> "Judge":
        """Load a checkpoint.

        Raises:
            CheckpointError: A file is missing, damaged or of another format; the text names it.
        """
        contents = read_verified(folder, FILES)
        try:
            config = contents.json(CONFIG)
            calibration, names = Calibration(**config["calibration"]), NameWeights(**config["names"])
            slips = Confidence.parse(config["slips"])
        except (KeyError, TypeError, ValueError) as cause:
            raise CheckpointError(
                f"{folder / CONFIG} is not the configuration of a judge: {cause}"
            ) from cause
        try:
            weights = restore_matrices(contents.tensors(WEIGHTS))
            layers = PairLayers(encoder, weights, in_8_bits=encoder.device.type == "cpu")
        except (KeyError, RuntimeError, ValueError) as cause:
            raise CheckpointError(f"{folder / WEIGHTS} has no weights of a judge: {cause}") from cause
        return Judge(encoder, layers, calibration, names, slips, contents.digest)

    @property
    def engine(self) -> str:
        """What computes the layers, for people."""
        return self._layers.engine

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of the encoder."""
        return self._encoder.tokenizer

    def tokens(self, text: str) -> Tokens:
        """Return a text as the judge reads it, values in their one spelling; a long one is cut to MAX_TOKENS tokens."""
        ids = self.tokenizer.encode(spell_values(text)).ids
        return pack_tokens(ids if len(ids) <= MAX_TOKENS else [*ids[: MAX_TOKENS - 1], ids[-1]])

    def read(
        self,
        questions: Sequence[str],
        vectors: Float[Tensor, "question width"],
        subjects: Int[Tensor, " question"] | None = None,
    ) -> Readings:
        """Return questions as the scope compares them.

        Args:
            vectors: Their sentence vectors.
            subjects: Places of known subjects; None if no subjects are known.
        """
        if subjects is None:
            subjects = torch.full((len(questions),), UNKNOWN, device=vectors.device)
        wordings, literals = (digest(questions).to(subjects) for digest in (digest_wordings, digest_literals))
        return Readings([self.tokens(text) for text in questions], vectors, wordings, literals, subjects)

    @torch.inference_mode()
    def encode(self, questions: Sequence[str]) -> Readings:
        """Encode questions and return them as `read` does."""
        return self.read(questions, self._encoder.encode(questions).sentences)

    def __call__(self, pairs: Sequence[Pair], cosines: Float[Tensor, " pair"]) -> Float[Tensor, " pair"]:
        """Return the log-odds that the two texts of each pair ask for the same fact, on the CPU.

        Args:
            pairs: A question and a wording each, as `tokens` returns them.
            cosines: Cosines of their sentence vectors.
        """
        signs, cosines = self.contrast(pairs), cosines.cpu()
        raw = self.read_pairs(pairs)
        log_odds = self.calibration.log_odds(raw, cosines, signs)
        unsure = (log_odds.abs() < BOTH_ORDERS).nonzero().squeeze(1)
        if len(unsure):
            raw[unsure] = (
                raw[unsure] + self.read_pairs([pairs[place][::-1] for place in unsure.tolist()])
            ) / 2
            log_odds[unsure] = self.calibration.log_odds(raw[unsure], cosines[unsure], signs[unsure])
        return log_odds

    def read_pairs(self, pairs: Sequence[Pair]) -> Float[Tensor, " pair"]:
        """Return what the layers say of each pair."""
        raw = self._cache.of(pairs, self._read_anew)
        return torch.tensor([raw[pair] for pair in pairs])

    def _read_anew(self, pairs: Sequence[Pair]) -> list[float]:
        marks = (mark_mentions(*map(self.contrast.reader.read, pair)) for pair in pairs)
        numbers: list[float] = self._layers(pairs, list(marks) if self._layers.has_marks else []).tolist()
        return numbers
