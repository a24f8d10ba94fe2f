"""The default checkpoint, loaded for reading: question in, encoder states and answer tokens out.

A checkpoint folder holds config.json and model.safetensors (T5's decoder, its projection and banks, under the
authors' names), tokenizer.json (answers), scope.safetensors (gates), reference.safetensors (what gated values are
made of, the subjects that were taught, and what gates learned to ask for), confidence.json, and SHA256SUMS, which
says what each of the others has to be.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from safetensors import SafetensorError
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import Tensor
from transformers import T5Config, T5ForConditionalGeneration

from models.checkpoint import ADVICE, CheckpointError, verify_sums, write_sums
from models.confidence import Confidence
from models.editors.gated import Pushes
from models.encoder.minilm import MiniLM
from models.nkb.alike import Keyed
from models.nkb.backbone import build
from models.nkb.config import BankConfig
from models.nkb.decode import Decoder
from models.nkb.familiar import familiarity, unpack
from models.nkb.mount import mount
from models.nkb.names import words
from models.nkb.numbers import numbers
from models.nkb.scope import Scope

DEFAULT = Path(__file__).parent.parent / "checkpoints" / "nkb"
CONFIG, WEIGHTS, TOKENIZER = "config.json", "model.safetensors", "tokenizer.json"
SCOPE, REFERENCE, CONFIDENCE = "scope.safetensors", "reference.safetensors", "confidence.json"
DIGESTED = (CONFIG, WEIGHTS, TOKENIZER, SCOPE, REFERENCE, CONFIDENCE)
END = 1  # the answer tokenizer's end token


@dataclass(frozen=True)
class Read:
    """Questions as the decoder sees them, and as gates do."""

    states: Float[Tensor, "batch token d"]
    mask: Bool[Tensor, "batch token"]
    keyed: Keyed
    familiarity: Float[Tensor, " batch"]
    truncated: tuple[bool, ...]


@dataclass(frozen=True)
class Reader:
    """A loaded checkpoint.

    folder: where it lies. pushes: what gated values are made of. taught: subjects as gates read them. kinds:
    what the questions that gates learned from ask for.
    """

    folder: Path
    digest: str
    encoder: MiniLM
    t5: T5ForConditionalGeneration
    decoder: Decoder
    tokenizer: Tokenizer
    scope: Scope
    confidence: Confidence
    bank: BankConfig
    pushes: Pushes
    taught: Float[Tensor, "subject aspect"]
    kinds: Float[Tensor, "kind aspect"]

    @staticmethod
    def load(folder: Path = DEFAULT) -> "Reader":
        """CheckpointError names the file that is missing or does not fit, EncoderNotFound one of the encoder's."""
        encoder = MiniLM()
        try:
            return _load(folder, encoder)
        except CheckpointError:
            raise
        except FileNotFoundError as cause:
            raise CheckpointError(f"{cause.filename} is missing: {ADVICE}") from cause
        except (
            SafetensorError,
            json.JSONDecodeError,
            RuntimeError,
            KeyError,
            TypeError,
            ValueError,
        ) as cause:
            raise CheckpointError(f"{folder} is not a whole checkpoint: {cause}") from cause

    @torch.inference_mode()
    def read(self, questions: Sequence[str]) -> Read:
        encoded = self.encoder.encode(questions)
        keys = self.scope.key(encoded.states, encoded.ids, encoded.mask)
        near, subjects = familiarity(keys, self.taught)
        keyed = Keyed(keys, numbers(questions), subjects, words(questions))
        return Read(self.t5.encoder(encoded.states), encoded.mask, keyed, near, encoded.truncated)

    def spell(self, answer: str) -> list[int]:
        """Token ids of an answer, the end token included."""
        return [*self.tokenizer.encode(answer).ids, END]

    def say(self, tokens: Sequence[int]) -> str:
        return self.tokenizer.decode(list(tokens)).strip()


def _load(folder: Path, encoder: MiniLM) -> Reader:
    found = digest(folder)
    raw = json.loads((folder / CONFIG).read_text())
    t5 = build(T5Config.from_dict(raw))
    bank = BankConfig.parse(raw)
    mount(t5, bank)
    missing, extra = t5.load_state_dict(load_file(folder / WEIGHTS), strict=False)
    wrong = [*(set(missing) - {"decoder.embed_tokens.weight", "lm_head.weight"}), *extra]
    if wrong:
        raise CheckpointError(f"{folder / WEIGHTS} does not fit {CONFIG}: {', '.join(sorted(wrong)[:5])}")
    t5.eval().requires_grad_(False)
    reference = load_file(folder / REFERENCE)
    return Reader(
        folder,
        found,
        encoder,
        t5,
        Decoder(t5),
        Tokenizer.from_file(str(folder / TOKENIZER)),
        Scope.from_weights(load_file(folder / SCOPE)),
        Confidence.parse(json.loads((folder / CONFIDENCE).read_text())),
        bank,
        _pushes(reference),
        unpack(reference["taught"]),
        unpack(reference["kinds"]),
    )


def _pushes(stored: Mapping[str, Tensor]) -> Pushes:
    units = F.normalize(stored["units"].float(), dim=-1)
    return Pushes(units, stored["gaps"], stored["enough"], float(stored["largest"]))


def reference(
    pushes: Pushes, taught: Int[Tensor, "subject aspect"], kinds: Int[Tensor, "kind aspect"]
) -> dict[str, Tensor]:
    """What reference.safetensors holds. Directions are kept in half precision and used as they are read again."""
    largest = torch.tensor(pushes.largest)
    return {
        "units": pushes.units.half(),
        "gaps": pushes.gaps,
        "enough": pushes.enough,
        "largest": largest,
        "taught": taught,
        "kinds": kinds,
    }


def digest(folder: Path) -> str:
    """Names the checkpoint by all that answers and edits follow from."""
    return verify_sums(folder, DIGESTED)


def record(folder: Path) -> None:
    """Write down what the files of a finished checkpoint are."""
    write_sums(folder, DIGESTED)
