"""`thu-ernie` with a tiny random checkpoint over a graph of two people, as a service loads it."""

from __future__ import annotations

import os
from pathlib import Path

import torch

from models.graph.memory import GraphMemory
from models.system import Bundle, Probes
from models.thu_ernie.checkpoint import load as load_model
from models.thu_ernie.entities.facts import GraphFacts
from models.thu_ernie.entities.memory import EntityMemory
from models.thu_ernie.system import ThuErnieSystem
from tests.models.reading.tiny import tiny_reader
from tests.models.thu_ernie.answering.tiny import QUESTION, build_base

FOLDER = "TINY_THU_ERNIE"  # variable that names the folder of the checkpoint


class TinyThuErnie(ThuErnieSystem):
    """The system with one question as its probe, in place of those of a pack that its graph lacks."""

    @property
    def probes(self) -> Probes:
        return Probes(core=(QUESTION,))


def load(device: torch.device, dtype: torch.dtype) -> Bundle:
    model, base = load_model(Path(os.environ[FOLDER]), device, dtype), build_base()
    entities = EntityMemory(model.table, GraphFacts.of(base), model.settings.margin)
    return Bundle(TinyThuErnie(model, tiny_reader()), (GraphMemory(base), entities))
