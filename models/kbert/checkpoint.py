"""The default checkpoint: the parts that were trained beside the frozen MiniLM, read from a folder and written to one.

config.json            how texts are read, and the scale of the adapters
adapters.safetensors   <module>.A and .B for matrices of the encoder, under Hugging Face's names
heads.safetensors      pointer, ranker of pairs, weights of rank and support (heads.py), bend (query.py)
confidence.json        scales of objects and pairs (models/confidence.py); their features are in answer.py
unseen.json            labels that training has seen, and the scale of other relations (unseen.py); may be missing
SHA256SUMS             the digests of the other files
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor

from models.confidence import Confidence
from models.encoder.minilm import MiniLM
from models.encoder.weights import EncoderFiles, find
from models.kbert.encoder import Encoder
from models.kbert.heads import NAMES, Heads
from models.kbert.query import Relevance
from models.kbert.unseen import UnseenCheck, UnseenRecord
from models.kit import checkpoint as kit
from models.kit.checkpoint import CONFIG, CheckpointError, read_sums, read_verified
from models.kit.text import Tokens, WordPieces
from models.packs.own_question import OwnQuestions
from models.scope.judge import Judge

DEFAULT = Path(__file__).parent.parent / "checkpoints" / "kbert"
ADAPTERS, HEADS, CONFIDENCE = "adapters.safetensors", "heads.safetensors", "confidence.json"
FILES = (CONFIG, ADAPTERS, HEADS, CONFIDENCE)
UNSEEN_FILE = "unseen.json"
KINDS = ("object", "pair")
BEND = "relevance.bend"
MIN_LENGTH, MAX_LENGTH = 8, 512  # tokens of a row: room for separators and a word; BERT's position table


@dataclass(frozen=True)
class Settings:
    """The settings of a checkpoint."""

    max_length: int  # tokens of a row, text and facts together
    max_entities: int  # relations hung on one mention
    max_mentions: int  # mentions with facts
    scale: float  # scale of the adapters

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
        dtype: Type of the encoder's matrices, float32 or bfloat16; norms, states and heads stay in float32.
        with_unseen: Whether unseen relations are checked; the record of another judge is refused then.

    CheckpointError: a file is missing or does not fit; the text names it. EncoderNotFound: a file of the frozen
    encoder is missing; the text names it.
    """
    files = (*FILES, UNSEEN_FILE) if UNSEEN_FILE in read_sums(folder) else FILES
    contents = read_verified(folder, files)
    with contents.whole():
        heads, raw = contents.floats(HEADS), contents.json(CONFIDENCE)
        is_checked = with_unseen and UNSEEN_FILE in contents.files
        trained = Trained(
            Settings(**contents.json(CONFIG)),
            contents.tensors(ADAPTERS),
            {name: value for name, value in heads.items() if name != BEND},
            heads[BEND],
            {kind: Confidence.parse(raw[kind]) for kind in KINDS},
            UnseenRecord.parse(contents.json(UNSEEN_FILE)) if is_checked else None,
        )
        return assemble(find(), trained, contents.digest, device, dtype)


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
    minilm = MiniLM.load(device, dtype)
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
            "`python -m models.training kbert-unseen`"
        )
    return UnseenCheck(record, judge, OwnQuestions.load(judge))


def save(trained: Trained, folder: Path) -> None:
    """Write a checkpoint; equal weights give equal bytes."""
    scales = {kind: confidence.to_json() for kind, confidence in trained.confidences.items()}
    settings = {CONFIG: asdict(trained.settings), CONFIDENCE: scales}
    kit.save(folder, {ADAPTERS: trained.adapters, HEADS: {**trained.heads, BEND: trained.bend}}, settings)
    if trained.relation_record is not None:
        add_unseen(trained.relation_record, folder)


def add_unseen(record: UnseenRecord, folder: Path) -> None:
    """Write the scale of unseen relations beside an existing checkpoint."""
    kit.save(folder, {}, {UNSEEN_FILE: record.to_json()}, FILES)


@torch.no_grad()
def add_adapters(
    weights: Mapping[str, Tensor], adapters: Mapping[str, Tensor], scale: float
) -> dict[str, Tensor]:
    """Return the weights with every low-rank adapter added: W + scale B A (Hu et al., LoRA, arXiv:2106.09685).

    They were trained with `peft`; serving needs two matrices a layer and no library.

    Args:
        adapters: `<module>.A` [rank in] and `<module>.B` [out rank].

    CheckpointError: an adapter fits no weight.
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
