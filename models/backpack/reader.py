"""The default checkpoint, loaded for answering.

A folder holds config.json and model.safetensors (the network under its published names), tokenizer.json,
confidence.json, and SHA256SUMS, which says what each of the others has to be. The judge of the scope lies in another
folder (models/scope/judge.py).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch

from models.backpack.checkpoint import TOKENIZER, build_backpack
from models.backpack.network import Backpack
from models.backpack.scales import CONFIDENCE, read_scales
from models.backpack.senses import BackpackConfig
from models.backpack.speller import Speller
from models.confidence import Confidence
from models.encoder.minilm import MiniLM
from models.kit.batching import Cache
from models.kit.checkpoint import CONFIG, WEIGHTS, CheckpointError, read_verified
from models.scope.judge import Judge
from models.scope.readings import Readings
from models.scope.scope import Scope

DEFAULT = Path(__file__).parents[1] / "checkpoints" / "backpack"
FILES = (CONFIG, WEIGHTS, TOKENIZER, CONFIDENCE)
MAX_TOKENS = 48  # tokens of an answer that no edit gives; the answer of an edit may be longer
READINGS_CACHED = 8_192  # questions, 2 kB each: the probes of one edit are those of the next


@dataclass(frozen=True)
class Reader:
    """A loaded checkpoint."""

    digest: str  # digest of all that answers and edits follow from
    model: Backpack  # in float32
    speller: Speller
    scales: Mapping[str, Confidence]  # scales of free answers and of choices
    scope: Scope  # which question an edit answers
    _readings: Cache[str, Readings] = field(default_factory=lambda: Cache(READINGS_CACHED), repr=False)

    @staticmethod
    def load(folder: Path = DEFAULT, device: torch.device | str = "cpu") -> "Reader":
        """Load a checkpoint folder.

        Raises:
            CheckpointError: A file is missing, damaged or not of this checkpoint; the sentence names it.
            EncoderNotFound: The files of the scope's encoder are missing.
        """
        contents = read_verified(folder, FILES)
        config = BackpackConfig.from_hf(contents.json(CONFIG))
        model = build_backpack(config, contents.tensors(WEIGHTS)).requires_grad_(False).to(device)
        tokenizer = contents.tokenizer(TOKENIZER)
        if tokenizer.get_vocab_size() != model.config.words:
            pieces, words = tokenizer.get_vocab_size(), model.config.words
            raise CheckpointError(f"{folder / TOKENIZER} has {pieces} pieces, and the network {words} words")
        scope = Scope(Judge.load(MiniLM.load(device)))
        return Reader(contents.digest, model, Speller.of(tokenizer), read_scales(contents), scope)

    def ask(self, question: str, n_answer: int = 0) -> tuple[list[int], bool]:
        """Return the prompt of a question, and whether its beginning was cut off."""
        prompt = self.speller.ask(question)
        room = self.model.config.positions - max(MAX_TOKENS, n_answer)
        return prompt[-room:], len(prompt) > room

    def readings(self, questions: Sequence[str]) -> Readings:
        """Return questions as the scope compares them; recent ones come from a cache."""
        rows = self._readings.of(questions, self._read)
        return Readings.concatenate([rows[question] for question in questions])

    def _read(self, questions: Sequence[str]) -> list[Readings]:
        readings = self.scope.judge.encode(questions)
        return [readings.select([row]) for row in range(len(questions))]
