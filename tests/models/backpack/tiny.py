"""A small checkpoint with random weights, whose tokenizer is learned from some of the pack's facts."""

from functools import lru_cache
from pathlib import Path

import torch
from tokenizers import Tokenizer

from models.backpack.checkpoint import TOKENIZER, save_backpack
from models.backpack.network import Backpack
from models.backpack.reader import FILES, write_scales
from models.backpack.senses import BackpackConfig
from models.confidence import Confidence
from models.kit.checkpoint import write_sums
from models.packs.pack import Pack
from models.training.backpack.texts import Texts, learn_tokenizer
from models.training.backpack.training import PLAN

PIECES = 400
CONFIG = BackpackConfig(
    vocab=PIECES, words=PIECES, senses=4, width=32, layers=2, heads=2, positions=128, epsilon=1e-5, end=0
)


@lru_cache
def small_tokenizer() -> str:
    texts = Texts(Pack.load(), PLAN.texts, seed=0)
    return learn_tokenizer(texts.documents(0)[:1_500], PIECES).to_str()


def write_checkpoint(folder: Path, threshold: float = 0.0, std: float = 0.3) -> Path:
    """Write a checkpoint. threshold: of free answers; 0 withholds none."""
    torch.manual_seed(5)
    model = Backpack(CONFIG)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=std)
    save_backpack(folder, model, torch.float16)
    Tokenizer.from_str(small_tokenizer()).save(str(folder / TOKENIZER))
    free = Confidence((-0.1, -0.1, -0.1), 0.0, threshold)
    write_scales(folder, {"free": free, "choice": Confidence((1.0,), 0.0, 0.0)})
    write_sums(folder, FILES)
    return folder
