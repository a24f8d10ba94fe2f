"""Every number of the default checkpoint's training, in one place."""

import hashlib
from dataclasses import asdict, dataclass

from tokenizers import Tokenizer

from models.nkb.backbone import BackboneConfig
from models.nkb.bank import BankConfig
from models.training.base import Schedule
from models.training.inject import Recipe
from models.training.kit.fingerprint import DataFiles
from models.training.lines import WordingRecipe

# Fields of the plan that the resumed phase depends on
BASE = ("seed", "threads", "vocab", "n_injected", "n_unreplayed", "wordings", "backbone", "base")


@dataclass(frozen=True)
class SubjectRecipe:
    """The recipe of the subjects' reading; each fact is read in `phrasings` phrasings of its relation."""

    phrasings: int
    epochs: int
    lr: float


@dataclass(frozen=True)
class Plan:
    """The whole recipe.

    Attributes:
        vocab: Pieces of the answer tokenizer.
        n_injected: Facts held back for the bank.
        n_unreplayed: Base facts that injection never repeats, on which its damage is measured.
        wrong: Share of questions that may be answered wrongly at the threshold.
        edits: Methods, and numbers of facts at once, by which editing is measured.
    """

    seed: int
    threads: int
    vocab: int
    n_injected: int
    n_unreplayed: int
    wordings: WordingRecipe
    backbone: BackboneConfig
    base: Schedule
    bank: BankConfig
    injection: Recipe
    subjects: SubjectRecipe
    reference_states: int
    wrong: float
    edits: tuple[tuple[str, int], ...]


DEFAULT = Plan(
    seed=1234,
    threads=2,
    vocab=8000,
    n_injected=1500,
    n_unreplayed=1500,
    wordings=WordingRecipe(n_trained=12, slip=0.1, bare=0.2),
    backbone=BackboneConfig(vocab=8000, d_model=256, d_kv=64, d_ff=1024, heads=4, layers=4, dropout=0.0),
    base=Schedule(epochs=24, draws=2, batch=64, lr=1.5e-3, warmup_steps=300, seed=1234),
    bank=BankConfig(layers=(3,), size=3072, adaptive=False),
    injection=Recipe(epochs=25, batch=512, lr=2e-3, replay_ratio=2, quiet=0.001, seed=1234),
    subjects=SubjectRecipe(phrasings=3, epochs=5, lr=3e-3),
    reference_states=256,
    wrong=0.03,
    edits=(("gated", 100), ("surgery", 100), ("gated", 1000)),
)


def fingerprint(plan: Plan, files: DataFiles, tokenizer: Tokenizer) -> str:
    """Compute the fingerprint of the base phase, which the answer tokenizer decides, too."""
    base = {name: value for name, value in asdict(plan).items() if name in BASE}
    pieces = hashlib.sha256(tokenizer.to_str().encode()).hexdigest()
    return files.fingerprint(base, tokenizer=pieces)
