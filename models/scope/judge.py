"""The judge: reads a question and the wording of an edit together, and returns how likely they ask for the same fact.

A cross-encoder: MiniLM's six layers (Wang et al., arXiv:2002.10957), fine-tuned on pairs of questions. Each text
keeps its own positions, and a learned vector marks the tokens of the second one:

    h = BERT([CLS] q [SEP] [CLS] w [SEP]),   x = a . [h_q; h_w],   k = cos(u_q, u_w)
    log-odds = b x + c k + d x (k - 0.8) + e + f . s

h_q, h_w are the states of the two [CLS]; u are the encoder's sentence vectors, which found the pair; s is what their
words differ in (`wordings/contrast.py`). b to e and f are fitted on relations, names and facts that no weight was
trained on, so that the log-odds are calibrated. A pair near an even chance is read in both orders, and x is their mean.
The word embeddings are the encoder's; the layers run on ONNX Runtime, a pair at a time, so that replicas agree to the
bit.
"""

import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import onnxruntime
import torch
from cachetools import LRUCache
from jaxtyping import Float, Int
from tokenizers import Tokenizer
from torch import Tensor

from models.checkpoint import CONFIG, CheckpointError, read_verified
from models.confidence import Confidence
from models.encoder.minilm import MiniLM
from models.scope.candidates import MIN_COSINE
from models.scope.literals import digest_literals, digest_wordings
from models.scope.readings import UNKNOWN, Readings, Tokens, pack_tokens, unpack_tokens
from models.scope.wordings.contrast import SIGNS, Contrast
from models.scope.wordings.names import NO_NAMES, NameWeights, WordReader
from models.scope.wordings.slips import NO_SLIPS, Slips

DEFAULT = Path(__file__).parent.parent / "checkpoints" / "scope"
GRAPH = "judge.onnx"
FILES = (CONFIG, GRAPH)
FORMAT = "errata.judge/1"  # metadata that marks a file as a judge of these inputs
MAX_TOKENS = 64  # tokens of each of the two texts
RIVAL = 0.2  # probability from which another edit makes an answer less likely
MIDDLE = 0.8  # cosine of two questions about one thing
CACHE_SIZE = 65_536  # pairs, 300 bytes each
BOTH_ORDERS = 0.7  # log-odds, either way, within which a pair is read in both orders
CPU, CUDA = "CPUExecutionProvider", "CUDAExecutionProvider"

LOG_ODDS_OF_RIVAL = math.log(RIVAL / (1 - RIVAL))
Pair = tuple[Tokens, Tokens]


@dataclass(frozen=True)
class Calibration:
    """The coefficients of log-odds = slope x + cosine cos + product x (cos - MIDDLE) + bias; x comes from the layers.

    Attributes:
        slope, cosine, bias, product: Fitted coefficients.
        slip: Share of the questions in which a word is rightly taken for a misspelt one.
        highest: Largest x among the pairs that the numbers were fitted on.
        rival: What each unit of another edit's log-odds beyond RIVAL takes from those of the likeliest one.
        lift: Most that the words of a pair added among the pairs that the numbers were fitted on.
        signs: Coefficients of the signs of a pair's words (`wordings/contrast.py`).
    """

    slope: float
    cosine: float
    bias: float
    product: float = 0.0
    slip: float = 1.0
    highest: float = math.inf
    rival: float = 0.0
    lift: float = 0.0
    signs: Sequence[float] = (0.0,) * len(SIGNS)

    def weigh(self, signs: Float[Tensor, "pair sign"]) -> Float[Tensor, " pair"]:
        """Return what the signs of pairs add to their log-odds."""
        return signs @ torch.tensor(self.signs)

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
        graph: The serialized ONNX model of the layers.
        calibration: Turns the output of the layers into log-odds.
        names: Tells which words are part of a name.
        slips: Tells slips from other names.
        digest: Digest of the checkpoint.
    """

    def __init__(
        self,
        encoder: MiniLM,
        graph: bytes,
        calibration: Calibration,
        names: NameWeights = NO_NAMES,
        slips: Confidence = NO_SLIPS,
        digest: str = "",
    ) -> None:
        self.digest, self.calibration = digest, calibration
        self._encoder = encoder
        self.contrast = Contrast(WordReader(encoder.tokenizer, encoder.words, names))
        self.slips = Slips(encoder.tokenizer, slips)
        self._session = _open_session(graph, encoder.device)
        self._cache: LRUCache[Pair, float] = LRUCache(CACHE_SIZE)
        self._lock = threading.Lock()

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
            return Judge(encoder, contents.files[GRAPH], calibration, names, slips, contents.digest)
        except ValueError as cause:
            raise CheckpointError(f"{folder / GRAPH} is not the graph of a judge: {cause}") from cause

    @property
    def provider(self) -> str:
        """Name of the ONNX Runtime provider that computes the layers."""
        name: str = self._session.get_providers()[0]
        return name

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of the encoder."""
        return self._encoder.tokenizer

    def tokens(self, text: str) -> Tokens:
        """Return a text as the judge reads it; a long one is cut to MAX_TOKENS tokens."""
        ids = self.tokenizer.encode(text).ids
        return pack_tokens(ids if len(ids) <= MAX_TOKENS else [*ids[: MAX_TOKENS - 1], ids[-1]])

    def read(
        self,
        questions: Sequence[str],
        vectors: Float[Tensor, "question width"],
        subjects: Int[Tensor, " question"] | None = None,
    ) -> Readings:
        """Return questions as the scope compares them.

        Args:
            questions: The questions.
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
        with self._lock:
            raw = {pair: self._cache[pair] for pair in pairs if pair in self._cache}
        if missing := [pair for pair in dict.fromkeys(pairs) if pair not in raw]:
            fresh = {pair: self._read(*pair) for pair in missing}
            raw |= fresh
            with self._lock:
                self._cache.update(fresh)
        return torch.tensor([raw[pair] for pair in pairs])

    @torch.inference_mode()
    def _read(self, question: Tokens, wording: Tokens) -> float:
        """Run the layers on one pair."""
        first, second = unpack_tokens(question), unpack_tokens(wording)
        lengths = len(first), len(second)
        places = torch.tensor([*range(lengths[0]), *range(lengths[1])])
        ids = torch.tensor([*first, *second])
        device = self._encoder.device
        inputs = {
            "embedded": self._encoder.embed(ids.to(device), places.to(device)).cpu().numpy(),
            "sides_of": torch.tensor([0, 1]).repeat_interleave(torch.tensor(lengths)).numpy(),
            "second": torch.tensor(lengths[:1]).numpy(),
        }
        (raw,) = self._session.run(None, inputs)
        return float(raw[0])


def _open_session(graph: bytes, device: torch.device) -> onnxruntime.InferenceSession:
    """Load the graph on CUDA if the encoder is there and this ONNX Runtime supports it, otherwise on the CPU.

    Raises:
        ValueError: The bytes are no ONNX model, or not one that `write_graph` wrote.
    """
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    is_on_gpu = device.type == "cuda" and CUDA in onnxruntime.get_available_providers()
    try:
        session = onnxruntime.InferenceSession(graph, options, providers=[CUDA, CPU] if is_on_gpu else [CPU])
    except Exception as cause:  # ONNX Runtime raises several classes, which share no public base
        raise ValueError(f"ONNX Runtime cannot read it ({str(cause).splitlines()[0]})") from cause
    if session.get_modelmeta().custom_metadata_map.get("format") != FORMAT:
        raise ValueError(f"it lacks the format {FORMAT}: write it with `python -m models.training.scope`")
    return session
