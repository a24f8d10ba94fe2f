"""The default checkpoint, loaded for reading: it turns questions into encoder states, and tokens into answers.

A checkpoint folder holds config.json and model.safetensors (T5's decoder, its projection and banks, under the
authors' names), tokenizer.json (answers), subjects.safetensors (how a question's subject is read),
reference.safetensors (directions of routed rows, and the subjects of training), confidence.json, and SHA256SUMS with
the digests of the others. The judge of the scope has another folder (models/scope/judge.py).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from models.confidence import Confidence
from models.encoder.minilm import Encoded, MiniLM
from models.kit.batching import Cache
from models.kit.checkpoint import CONFIG, WEIGHTS, Contents, fill, read_verified
from models.nkb.bank import BankConfig, mount
from models.nkb.decode import Decoder
from models.nkb.gated import TokenDirections
from models.nkb.skeleton import build_skeleton
from models.packs.own_question import OwnQuestions
from models.scope.judge import Judge
from models.scope.readings import Readings, dequantize, far
from models.scope.scope import Scope

DEFAULT = Path(__file__).parent.parent / "checkpoints" / "nkb"
TOKENIZER, SUBJECTS, REFERENCE = "tokenizer.json", "subjects.safetensors", "reference.safetensors"
CONFIDENCE = "confidence.json"
FILES = (CONFIG, WEIGHTS, TOKENIZER, SUBJECTS, REFERENCE, CONFIDENCE)
END = 1  # the answer tokenizer's end token
CACHE_SIZE = 1_024  # questions in the cache, about 20 kB each, the longest 130
MIN_COSINE = 0.9  # cosine from which a question is about a subject; 7,500 held phrasings had no mistake
CHUNK = 1_024  # questions in one product, 30 MB with the world pack
READINGS_CACHED = 8_192  # questions with cached readings, 2 kB each: two edits share most probes


@dataclass(frozen=True)
class Subjects:
    """The subject of training that a question is about, by one learned reading of 128 numbers.

    Attention pooling over a question's states, and the unit readings of the subjects of training (`centres`). An answer
    about a subject that the base never heard of is doubted (`answers.features`), and a question about a known subject
    never asks for a fact of another (`models/scope/readings.py`).
    """

    attend: Float[Tensor, "1 width"]
    read: Float[Tensor, "aspect width"]
    centres: Float[Tensor, "subject aspect"]

    @staticmethod
    def from_weights(weights: Mapping[str, Tensor], centres: Float[Tensor, "subject aspect"]) -> "Subjects":
        return Subjects(weights["attend"].to(centres.device), weights["read"].to(centres.device), centres)

    def key(
        self, states: Float[Tensor, "batch token width"], mask: Bool[Tensor, "batch token"]
    ) -> Float[Tensor, "batch aspect"]:
        """Return unit readings of questions."""
        weights = (states @ self.attend.T).masked_fill(~mask[..., None], float("-inf")).softmax(1)
        return F.normalize((weights.transpose(1, 2) @ states).squeeze(1) @ self.read.T, dim=-1)

    def nearest(
        self, keys: Float[Tensor, "batch aspect"]
    ) -> tuple[Float[Tensor, " batch"], Int[Tensor, " batch"]]:
        """Return cosine and place of the subject of training nearest to each question's (`far` of a far one)."""
        parts = [(chunk @ self.centres.T).max(-1) for chunk in torch.split(keys, CHUNK)]
        cosine = torch.cat([part.values for part in parts])
        place = torch.cat([part.indices for part in parts])
        return cosine, torch.where(cosine < MIN_COSINE, far(place), place)


@dataclass(frozen=True)
class Read:
    """Questions as the decoder and the scope read them."""

    states: Float[Tensor, "batch token d"]
    mask: Bool[Tensor, "batch token"]
    readings: Readings
    # Cosine of each question's subject and the nearest one of training
    familiarity: Float[Tensor, " batch"]
    truncated: tuple[bool, ...]  # which questions were cut


@dataclass(frozen=True, eq=False)
class Reader:
    """A loaded checkpoint; all tensors are on one device."""

    folder: Path
    digest: str  # digest of all that answers and edits follow from
    encoder: MiniLM
    config: Any  # attributes under the names of config.json
    t5_encoder: nn.Module  # its output is what the decoder reads; the default one maps MiniLM's states
    decoder: Decoder
    tokenizer: Tokenizer
    scope: Scope
    confidence: Confidence
    bank: BankConfig
    pushes: TokenDirections  # directions that routed rows are made of
    subjects: Subjects
    # Tells questions for a fact of the pack from those that only look like it; None without a pack
    own_questions: OwnQuestions | None = None

    @staticmethod
    def load(
        folder: Path = DEFAULT, *, device: torch.device | str = "cpu", dtype: torch.dtype = torch.float32
    ) -> "Reader":
        """Load a checkpoint folder.

        Args:
            dtype: Type of the encoder's and the decoder's matrices, float32 or bfloat16. The bank's values, the norms,
                the scope and the output matrix are float32.

        CheckpointError: a file is missing or does not fit; the text names it. EncoderNotFound: the encoder's files
        are missing.
        """
        encoder = MiniLM.load(device, dtype)
        contents = read_verified(folder, FILES)
        with contents.whole():
            return _assemble(contents, encoder, torch.device(device), dtype)

    @property
    def device(self) -> torch.device:
        device: torch.device = self.decoder.embedding.device
        return device

    @torch.inference_mode()
    def read(self, questions: Sequence[str]) -> Read:
        encoded, readings, familiarity = self.read_for_scope(questions)
        states = self.t5_encoder(encoded.states)
        return Read(states, encoded.mask, readings, familiarity, encoded.truncated)

    def read_for_scope(self, questions: Sequence[str]) -> tuple[Encoded, Readings, Float[Tensor, " batch"]]:
        """Read questions without the T5: as they are encoded, as the scope compares them, and their familiarity."""
        encoded = self.encoder.encode(questions)
        familiarity, places = self.subjects.nearest(self.subjects.key(encoded.states, encoded.mask))
        return encoded, self.scope.judge.read(questions, encoded.sentences, places), familiarity

    def cuts(self, question: str) -> bool:
        """Return whether a question is too long to be read whole."""
        return self.encoder.tokens(question)[1]

    def spell(self, answer: str) -> list[int]:
        """Return the token ids of an answer, with the end token."""
        return [*self.tokenizer.encode(answer).ids, END]

    def say(self, tokens: Sequence[int]) -> str:
        return self.tokenizer.decode(list(tokens)).strip()


def _assemble(contents: Contents, encoder: MiniLM, device: torch.device, dtype: torch.dtype) -> Reader:
    config = contents.json(CONFIG)
    t5, bank = build_skeleton(config), BankConfig.parse(config)
    fill(mount(t5, bank), contents.tensors(WEIGHTS), contents.folder, assign=True)
    t5.to(device).eval().requires_grad_(False)
    reference = {name: value.to(device) for name, value in contents.tensors(REFERENCE).items()}
    judge = Judge.load(encoder)
    units = F.normalize(reference["units"].float(), dim=-1)
    return Reader(
        folder=contents.folder,
        digest=contents.digest,
        encoder=encoder,
        config=t5.config,
        t5_encoder=t5.encoder,
        decoder=Decoder(t5, dtype),
        tokenizer=contents.tokenizer(TOKENIZER),
        scope=Scope(judge),
        confidence=Confidence.parse(contents.json(CONFIDENCE)),
        bank=bank,
        pushes=TokenDirections(units, reference["gaps"], reference["enough"], float(reference["largest"])),
        subjects=Subjects.from_weights(contents.tensors(SUBJECTS), dequantize(reference["taught"])),
        own_questions=OwnQuestions.load(judge),
    )


@dataclass(frozen=True)
class CachedRead:
    """One question as it was read, with states without padding."""

    states: Float[Tensor, "token d"]
    readings: Readings
    familiarity: Float[Tensor, ""]
    truncated: bool


class ReadCache:
    """Recent questions as they were read: a corrected one was asked just before, and its edit's report asks it again.

    A question that a caller asks is always read anew, and a process that only answers caches nothing. Threads may
    share it.
    """

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self._cache: Cache[str, CachedRead] = Cache(CACHE_SIZE)
        self._readings: Cache[str, Readings] = Cache(READINGS_CACHED)
        self._is_used = False

    def read(self, questions: Sequence[str]) -> Read:
        """Read questions like `Reader.read`, those in the cache excepted, and keep them.

        The last bits of a cached read depend on the batch that it was read in.
        """
        self._is_used = True
        entries = self._cache.of(
            questions, lambda missing: self.keep(missing, self.reader.read(missing)).values()
        )
        rows = [entries[question] for question in questions]
        states = pad_sequence([row.states for row in rows], batch_first=True)
        lengths = torch.tensor([len(row.states) for row in rows], device=states.device)
        return Read(
            states,
            torch.arange(states.shape[1], device=states.device) < lengths[:, None],
            Readings.concatenate([row.readings for row in rows]),
            torch.stack([row.familiarity for row in rows]),
            tuple(row.truncated for row in rows),
        )

    def readings(self, questions: Sequence[str]) -> Readings:
        """Read questions for the scope."""
        rows = self._readings.of(questions, lambda missing: self.read(missing).readings.split_evenly(1))
        return Readings.concatenate([rows[question] for question in questions])

    def keep(self, questions: Sequence[str], read: Read) -> dict[str, CachedRead]:
        """Cache questions as they were read, once `read` was called for the first time."""
        if not self._is_used:
            return {}
        readings = dict(zip(questions, read.readings.split_evenly(1), strict=True))
        reads = {
            question: CachedRead(states[mask], readings[question], familiarity, truncated)
            for question, states, mask, familiarity, truncated in zip(
                questions, read.states, read.mask, read.familiarity, read.truncated, strict=True
            )
        }
        self._readings.keep(readings)
        self._cache.keep(reads)
        return reads
