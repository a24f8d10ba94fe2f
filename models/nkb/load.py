"""Load a T5 with its bank by folder, or by hub name at one pinned commit."""

import re
from pathlib import Path

from transformers import T5ForConditionalGeneration

from models.nkb.bank import Init
from models.nkb.checkpoint import CheckpointError, read
from models.nkb.config import BankConfig

COMMIT = re.compile(r"[0-9a-f]{40}")
WANTED = ("config.json", "model*.safetensors*", "pytorch_model*.bin*")


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
    folder = Path(name_or_folder)
    if str(name_or_folder) and folder.is_dir():
        if revision is not None:
            raise CheckpointError(f"{folder} is a folder, which has no revision: leave `revision` out")
        return read(folder, bank, init)
    return read(_fetch(str(name_or_folder), revision), bank, init)


def _fetch(name: str, revision: str | None) -> Path:
    if not re.fullmatch(r"\w[\w.-]*(/\w[\w.-]*)?", name):
        raise CheckpointError(f"{name!r} is neither a folder nor a name on the hub")
    if revision is None or not COMMIT.fullmatch(revision):
        raise CheckpointError(
            f"{name} is not a folder here; to load it from the hub, pin `revision` to a commit of 40 hex "
            f"digits, not {revision!r}: branches and tags can change under you"
        )
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name, revision=revision, allow_patterns=list(WANTED)))
    except Exception as cause:
        raise CheckpointError(f"{name} at {revision} cannot be fetched from the hub: {cause}") from cause
