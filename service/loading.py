"""From the settings' import path to a loaded system, in the process and the thread that will use it.

Each thread that torch computes in has a team of its own, as large as the replica's share of the cores; two teams would
be in each other's way. So one thread does it all.
"""

from __future__ import annotations

import importlib

import torch

from models.system import System
from service.concurrency import freeze_gc
from service.config import Settings


def load_system(settings: Settings, model: str) -> System:
    """The system, with this process's share of the cores. Takes seconds; what is wrong with it is raised as it is."""
    torch.set_num_threads(settings.threads_per_replica)
    module, _, attribute = settings.systems[model].partition(":")
    loader = getattr(importlib.import_module(module), attribute)
    system: System = loader()
    freeze_gc()
    return system
