"""A tiny random checkpoint on disk, as `load` of the system takes it."""

from dataclasses import replace
from pathlib import Path

import torch

from models.ernie_doc.checkpoint import Settings, save
from models.reading.confidence import NO_SCALE
from tests.models.ernie_doc.documents import OVERLAP, ROOM, tiny_reader

SETTINGS = Settings(question_room=ROOM, overlap=OVERLAP, longest=6, confidence=NO_SCALE)


def write_checkpoint(folder: Path, threshold: float = 0.0) -> Path:
    """Write the model of `tiny_reader`, whose answers are spans without a meaning."""
    settings = replace(SETTINGS, confidence=replace(NO_SCALE, threshold=threshold))
    save(tiny_reader().model, folder, dtype=torch.float32, settings=settings)
    return folder
