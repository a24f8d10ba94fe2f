"""The default checkpoint: the parts that were trained beside the frozen MiniLM, read from a folder and written to one.

config.json            how texts are read, and the scale of the adapters
adapters.safetensors   <module>.A and .B for matrices of the encoder, under Hugging Face's names
heads.safetensors      pointer, ranker of pairs, weights of rank and support (heads.py), bend (query.py)
confidence.json        scales of objects and pairs (models/confidence.py); their features are in answer.py
unseen.json            labels that training has seen, and the scale of other relations (unseen.py); may be missing
SHA256SUMS             the digests of the other files
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor

from models.checkpoint import ADVICE, SUMS, CheckpointError, Contents, read_verified, write_sums
from models.confidence import Confidence
from models.encoder.minilm import MiniLM
from models.encoder.weights import EncoderFiles, find
from models.kbert.encoder import Encoder
from models.kbert.heads import NAMES, Heads
from models.kbert.query import Relevance
from models.kbert.text import Tokens, WordPieces
from models.kbert.unseen import UnseenCheck, UnseenRecord
from models.packs.own_question import OwnQuestions
from models.scope.judge import Judge

DEFAULT = Path(__file__).parent.parent / "checkpoints" / "kbert"
CONFIG, ADAPTERS, HEADS, CONFIDENCE = (
    "config.json",
    "adapters.safetensors",
    "heads.safetensors",
    "confidence.json",
)
FILES = (CONFIG, ADAPTERS, HEADS, CONFIDENCE)
UNSEEN_FILE = "unseen.json"
KINDS = ("object", "pair")
BEND = "relevance.bend"
MIN_LENGTH, MAX_LENGTH = 8, 512  # tokens of a row: room for separators and a word; BERT's position table


@dataclass(frozen=True)
class Settings:
    """The settings of a checkpoint.

    Attributes:
        max_length: Tokens of a row, text and facts together.
        max_entities: Relations hung on one mention.
        max_mentions: Mentions with facts.
        scale: Scale of the adapters.
    """

    max_length: int
    max_entities: int
    max_mentions: int
    scale: float

    def __post_init__(self) -> None:
        if not MIN_LENGTH <= self.max_length <= MAX_LENGTH:
            raise ValueError(f"max_length: from {MIN_LENGTH} to {MAX_LENGTH} tokens, not {self.max_length!r}")
        if self.max_entities < 0:
            raise ValueError(f"max_entities: 0 or more facts a word, not {self.max_entities!r}")


@dataclass(frozen=True)
class Trained:
    """The result of a training, as it is stored."""

    settings: Settings
    adapters: Mapping[str, Tensor]
    heads: Mapping[str, Tensor]
    bend: Tensor
    confidences: Mapping[str, Confidence]
    relation_record: UnseenRecord | None = None


@dataclass(frozen=True)
class Model:
    """A loaded checkpoint with its encoder. Threads may share it."""

    digest: str
    settings: Settings
    tokens: Tokens
    relevance: Relevance
    encoder: Encoder
    heads: Heads
    confidences: Mapping[str, Confidence]
    device: torch.device
    relation_check: UnseenCheck | None = None


def load(
    folder: Path = DEFAULT,
    device: torch.device | str = "cpu",
    dtype: torch.dtype = torch.float32,
    with_unseen: bool = True,
) -> Model:
    """Load the model of a checkpoint folder.

    Args:
        folder: The folder.
        device: Device of the model.
        dtype: Type of the encoder's matrices, float32 or bfloat16; norms, states and heads stay in float32.
        with_unseen: Whether unseen relations are checked; the record of another judge is refused then.

    Raises:
        CheckpointError: A file is missing or does not fit; the text names it.
        EncoderNotFound: A file of the frozen encoder is missing; the text names it.
    """
    files = find()
    contents = read_verified(folder, _files(folder))
    try:
        heads = {name: value.float() for name, value in contents.tensors(HEADS).items()}
        raw = contents.json(CONFIDENCE)
        trained = Trained(
            Settings(**contents.json(CONFIG)),
            contents.tensors(ADAPTERS),
            {name: value for name, value in heads.items() if name != BEND},
            heads[BEND],
            {kind: Confidence.parse(raw[kind]) for kind in KINDS},
            _read_unseen(contents) if with_unseen else None,
        )
        return assemble(files, trained, contents.digest, device, dtype)
    except CheckpointError:
        raise
    except (RuntimeError, KeyError, TypeError, ValueError) as cause:
        raise CheckpointError(f"{folder} is not a whole checkpoint ({cause}): {ADVICE}") from cause


def _files(folder: Path) -> tuple[str, ...]:
    """Return the files of a checkpoint; SHA256SUMS tells whether it has a scale for unseen relations."""
    sums = folder / SUMS
    has_unseen = sums.is_file() and UNSEEN_FILE in sums.read_text(errors="replace")
    return (*FILES, UNSEEN_FILE) if has_unseen else FILES


def _read_unseen(contents: Contents) -> UnseenRecord | None:
    if UNSEEN_FILE not in contents.files:
        return None
    return UnseenRecord.parse(contents.json(UNSEEN_FILE))


def assemble(
    files: EncoderFiles,
    trained: Trained,
    total: str = "",
    device: torch.device | str = "cpu",
    dtype: torch.dtype = torch.float32,
) -> Model:
    """Build the model on a device; `total` is the digest of its folder."""
    missing = sorted(set(NAMES) - set(trained.heads)) + sorted(set(KINDS) - set(trained.confidences))
    if missing:
        raise CheckpointError(f"the checkpoint lacks {', '.join(missing)}")
    weights = add_adapters(files.weights, trained.adapters, trained.settings.scale)
    minilm = MiniLM(files, device=device, dtype=dtype)
    return Model(
        total,
        trained.settings,
        WordPieces(files.tokenizer()),
        Relevance(minilm, trained.bend.to(device)),
        Encoder.from_weights({name: value.to(device) for name, value in weights.items()}, dtype),
        Heads({name: value.to(device) for name, value in trained.heads.items()}),
        trained.confidences,
        torch.device(device),
        None if trained.relation_record is None else _load_check(trained.relation_record, minilm),
    )


def _load_check(record: UnseenRecord, encoder: MiniLM) -> UnseenCheck:
    judge = Judge.load(encoder)
    if judge.digest != record.judge:
        raise CheckpointError(
            f"{UNSEEN_FILE} belongs to another judge ({record.judge}, not {judge.digest}): fit it again with "
            "`python -m models.training.kbert.unseen`"
        )
    return UnseenCheck(record, judge, OwnQuestions.load(judge))


def save(trained: Trained, folder: Path) -> None:
    """Write a checkpoint; equal weights give equal bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    heads = {name: value.contiguous() for name, value in sorted(trained.heads.items())}
    adapters = {name: value.contiguous() for name, value in sorted(trained.adapters.items())}
    save_file(adapters, folder / ADAPTERS)
    save_file(heads | {BEND: trained.bend.contiguous()}, folder / HEADS)
    (folder / CONFIG).write_text(json.dumps(asdict(trained.settings), indent=1, sort_keys=True) + "\n")
    scales = {kind: confidence.to_json() for kind, confidence in trained.confidences.items()}
    (folder / CONFIDENCE).write_text(json.dumps(scales, indent=1, sort_keys=True) + "\n")
    write_sums(folder, FILES)
    if trained.relation_record is not None:
        add_unseen(trained.relation_record, folder)


def add_unseen(record: UnseenRecord, folder: Path) -> None:
    """Write the scale of unseen relations beside an existing checkpoint."""
    (folder / UNSEEN_FILE).write_text(json.dumps(record.to_json(), indent=1, sort_keys=True) + "\n")
    write_sums(folder, (*FILES, UNSEEN_FILE))


@torch.no_grad()
def add_adapters(
    weights: Mapping[str, Tensor], adapters: Mapping[str, Tensor], scale: float
) -> dict[str, Tensor]:
    """Return the weights with every low-rank adapter added: W + scale B A (Hu et al., LoRA, arXiv:2106.09685).

    They were trained with `peft`; serving needs two matrices a layer and no library.

    Args:
        weights: The encoder's weights.
        adapters: `<module>.A` [rank in] and `<module>.B` [out rank].
        scale: Scale of the adapters.

    Raises:
        CheckpointError: An adapter fits no weight.
    """
    total = dict(weights)
    for module in sorted({name.removesuffix(".A").removesuffix(".B") for name in adapters}):
        name, down, up = f"{module}.weight", adapters.get(f"{module}.A"), adapters.get(f"{module}.B")
        if down is None or up is None or name not in total:
            raise CheckpointError(f"the adapter of {module} is not whole, or the encoder has no such matrix")
        if total[name].shape != (up.shape[0], down.shape[1]) or up.shape[1] != down.shape[0]:
            raise CheckpointError(f"the adapter of {module} has another shape than its matrix")
        total[name] = total[name] + scale * (up.float() @ down.float())
    return total
