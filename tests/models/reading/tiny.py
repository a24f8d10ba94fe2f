"""A reader of MiniLM's own layers with a random head, which reads as a trained one does, and answers at random."""

from functools import cache

import torch

from models.encoder.bert import WIDTH
from models.reading.checkpoint import HEADS, assemble
from models.reading.confidence import NO_SCALE
from models.reading.reader import Reader, Settings

SETTINGS = Settings(length=32, question_room=8, overlap=8, longest=4)


def heads() -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    return {name: torch.randn(WIDTH, WIDTH, generator=generator) / 8 for name in HEADS}


@cache
def tiny_reader() -> Reader:
    return assemble(heads(), SETTINGS, NO_SCALE)
