"""The default checkpoint: what was trained beside the frozen MiniLM, from a folder and to a folder.

config.json            how texts are read, and the scale of the adapters
adapters.safetensors   <module>.A and .B for matrices of the encoder (adapters.py), under Hugging Face's names
heads.safetensors      pointer, ranker of pairs, weights of rank and support (heads.py), bend (relevance.py)
confidence.json        scales of objects, spans and pairs (confidence.py)
SHA256SUMS             what each of the others has to be
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import Tensor

from models.checkpoint import ADVICE, CheckpointError, verify_sums, write_sums
from models.encoder.minilm import MiniLM
from models.encoder.weights import EncoderFiles, find
from models.kbert.adapters import merged
from models.kbert.confidence import Confidence
from models.kbert.config import ReadingConfig
from models.kbert.heads import NAMES, PAIR, Heads
from models.kbert.packed import PackedEncoder
from models.kbert.relevance import Relevance
from models.kbert.tokens import Recalled, Tokens, WordPieces

DEFAULT = Path(__file__).parent.parent / "checkpoints" / "kbert"
CONFIG, ADAPTERS, HEADS, CONFIDENCE = (
    "config.json",
    "adapters.safetensors",
    "heads.safetensors",
    "confidence.json",
)
DIGESTED = (CONFIG, ADAPTERS, HEADS, CONFIDENCE)
KINDS = ("object", "span", "pair")
BEND = "relevance.bend"


@dataclass(frozen=True)
class Settings:
    """max_length: tokens of a row. max_entities: relations hung on one mention. max_mentions: mentions with facts.

    scale: of the adapters.
    """

    max_length: int
    max_entities: int
    max_mentions: int
    scale: float

    @property
    def reading(self) -> ReadingConfig:
        return ReadingConfig(self.max_length, self.max_entities)


@dataclass(frozen=True)
class Trained:
    """What training leaves, as it is stored."""

    settings: Settings
    adapters: Mapping[str, Tensor]
    heads: Mapping[str, Tensor]
    bend: Tensor
    confidences: Mapping[str, Confidence]


@dataclass(frozen=True)
class Model:
    """Everything an answer needs, loaded. Thread-safe."""

    digest: str
    settings: Settings
    tokens: Tokens
    relevance: Relevance
    encoder: PackedEncoder
    heads: Heads
    confidences: Mapping[str, Confidence]


def load(folder: Path = DEFAULT) -> Model:
    """CheckpointError names the file that is missing or does not fit, EncoderNotFound one of the encoder's."""
    files = find()
    total = verify_sums(folder, DIGESTED)
    try:
        return assemble(files, _read(folder), total)
    except CheckpointError:
        raise
    except (SafetensorError, RuntimeError, KeyError, TypeError, ValueError) as cause:
        raise CheckpointError(f"{folder} is not a whole checkpoint ({cause}): {ADVICE}") from cause


def assemble(files: EncoderFiles, trained: Trained, total: str = "") -> Model:
    """total: digest of the folder it came from."""
    missing = sorted({*NAMES, *PAIR} - set(trained.heads)) + sorted(set(KINDS) - set(trained.confidences))
    if missing:
        raise CheckpointError(f"the checkpoint lacks {', '.join(missing)}")
    return Model(
        total,
        trained.settings,
        Recalled(WordPieces(Tokenizer.from_file(str(files.tokenizer)))),
        Relevance(MiniLM(files), trained.bend),
        PackedEncoder.of(merged(load_file(files.weights), trained.adapters, trained.settings.scale)),
        Heads(trained.heads),
        trained.confidences,
    )


def save(trained: Trained, folder: Path) -> None:
    """Equal weights give equal bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    heads = {name: value.contiguous() for name, value in sorted(trained.heads.items())}
    save_file(
        {name: value.contiguous() for name, value in sorted(trained.adapters.items())}, folder / ADAPTERS
    )
    save_file(heads | {BEND: trained.bend.contiguous()}, folder / HEADS)
    (folder / CONFIG).write_text(json.dumps(asdict(trained.settings), indent=1, sort_keys=True) + "\n")
    plain = {kind: one.plain() for kind, one in trained.confidences.items()}
    (folder / CONFIDENCE).write_text(json.dumps(plain, indent=1, sort_keys=True) + "\n")
    write_sums(folder, DIGESTED)


def _read(folder: Path) -> Trained:
    heads = {name: value.float() for name, value in load_file(folder / HEADS).items()}
    raw = json.loads((folder / CONFIDENCE).read_text())
    return Trained(
        Settings(**json.loads((folder / CONFIG).read_text())),
        load_file(folder / ADAPTERS),
        {name: value for name, value in heads.items() if name != BEND},
        heads[BEND],
        {kind: Confidence.parse(raw[kind]) for kind in KINDS},
    )
