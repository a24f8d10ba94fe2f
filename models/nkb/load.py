"""Load a T5 with its bank by folder, or by hub name at one pinned commit."""

from pathlib import Path

from transformers import T5ForConditionalGeneration

from models.nkb.bank import Init
from models.nkb.checkpoint import read
from models.nkb.config import BankConfig
from models.stored.files import find


def load_nkb(
    name_or_folder: str | Path,
    revision: str | None = None,
    bank: BankConfig | None = None,
    init: Init = "zero_values",
) -> T5ForConditionalGeneration:
    """The model in evaluation mode, its banks filled from the checkpoint.

    revision: the hub commit, 40 hex digits; required for a hub name, refused for a folder.
    bank: mount this new bank on a checkpoint that has none.
    CheckpointError (a ValueError) names what is missing, extra or of the wrong shape.
    """
    return read(find(name_or_folder, revision), bank, init)
