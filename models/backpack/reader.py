"""The default checkpoint, loaded for answering: prompts, tokens, and the features of an answer's confidence.

A question is asked as the training text asks it, `Q: ...` and `A:` on a line each, and the answer ends with its line.
The tokenizer is byte-level, so each text can be spelled, and a word has another token after a space than without one.

models/confidence.py turns the features into a probability, on two scales: of an answer that is written freely, and of
one that is chosen among candidates.

A folder holds config.json and model.safetensors (the network under its published names), tokenizer.json,
confidence.json, and SHA256SUMS, which says what each of the others has to be. The judge of the scope lies in another
folder (models/scope/judge.py).
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch
from tokenizers import Tokenizer

from models.backpack.checkpoint import TOKENIZER, build_backpack
from models.backpack.network import Backpack
from models.backpack.senses import BackpackConfig
from models.confidence import Confidence
from models.encoder.minilm import MiniLM
from models.kit.batching import Cache
from models.kit.checkpoint import CONFIG, WEIGHTS, CheckpointError, Contents, read_verified
from models.kit.decoded import features
from models.kit.replies import log_odds
from models.scope.judge import Judge
from models.scope.readings import Readings
from models.scope.scope import Scope

NEWLINE = "\u010a"  # the byte-level name of the piece that is one line feed
BROKEN = "\ufffd"  # the decoder's sign for bytes that are no whole character


@dataclass(frozen=True)
class Speller:
    """Texts as tokens, and back."""

    tokenizer: Tokenizer  # byte-level pieces
    stop: int  # token that ends an answer: the end of its line

    @staticmethod
    def of(tokenizer: Tokenizer) -> "Speller":
        """Build the speller of a tokenizer.

        Raises:
            CheckpointError: The tokenizer has no piece for the end of a line.
        """
        stop = tokenizer.token_to_id(NEWLINE)
        if stop is None:
            raise CheckpointError(
                "the tokenizer has no piece for the end of a line: train the checkpoint again"
            )
        tokenizer.encode_special_tokens = True  # the end token of a text that a question quotes is plain text
        return Speller(tokenizer, stop)

    def ask(self, question: str) -> list[int]:
        """Return the prompt of a question, whose line breaks become spaces."""
        return self.spell(write_prompt(question))

    def answer(self, text: str) -> list[int]:
        """Return the tokens of an answer as they follow a prompt, the end of the line included."""
        return [*self.spell(f" {text}"), self.stop]

    def spell(self, text: str) -> list[int]:
        """Return the tokens of a text to the letter, a leading space included."""
        ids: list[int] = self.tokenizer.encode(text).ids
        return ids

    def say(self, tokens: Sequence[int]) -> str:
        """Return the text of an answer."""
        return self.read(tokens).strip()

    def read(self, tokens: Sequence[int]) -> str:
        """Return the text of tokens to the letter."""
        text: str = self.tokenizer.decode(list(tokens), skip_special_tokens=False)
        return text

    def list_pieces(self, tokens: Sequence[int]) -> str:
        """Return the texts of pieces for a sentence about them."""
        return ", ".join(repr(self.read([token])) for token in tokens)

    def settle(self, tokens: Sequence[int]) -> str:
        """Return the text of the first tokens of an answer that no further token changes.

        Spaces at its end and the bytes of half a character wait for what follows.
        """
        return self.say(tokens).rstrip(BROKEN).rstrip()


def write_prompt(question: str) -> str:
    """Return the text that a question is completed from."""
    return f"Q: {' '.join(question.split())}\nA:"


def write_exchange(question: str, answer: str) -> str:
    """Return a question with its answer, as the training text has it."""
    return f"{write_prompt(question)} {answer}\n"


CONFIDENCE = "confidence.json"
SCALES = ("free", "choice")


def free_features(logprobs: Sequence[float]) -> tuple[float, ...]:
    """Return doubt about the first token, the least likely one and the whole answer."""
    return features(logprobs, familiarity=0.0)[:3]


def choice_features(scores: Sequence[float]) -> tuple[float, ...]:
    """Return the log-odds of the best candidate among all."""
    best = max(scores)
    return (log_odds(1 / sum(math.exp(score - best) for score in scores)),)


def read_scales(contents: Contents) -> dict[str, Confidence]:
    """Read the scales of a checkpoint.

    Raises:
        CheckpointError: The file holds other scales.
    """
    content = contents.json(CONFIDENCE)
    try:
        return {name: Confidence.parse(content[name]) for name in SCALES}
    except (KeyError, TypeError, ValueError) as cause:
        path = contents.folder / CONFIDENCE
        raise CheckpointError(f"{path} does not hold the scales {' and '.join(SCALES)}: {cause}") from cause


def write_scales(folder: Path, scales: Mapping[str, Confidence]) -> None:
    """Write the scales of a checkpoint."""
    content = {name: scales[name].to_json() for name in SCALES}
    (folder / CONFIDENCE).write_text(json.dumps(content, indent=1) + "\n")


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
        scope = Scope(Judge.load(MiniLM(device=device)))
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
