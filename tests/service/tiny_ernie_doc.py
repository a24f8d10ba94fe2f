"""`ernie-doc` with a tiny random checkpoint, as a service loads it."""

from __future__ import annotations

import os
from pathlib import Path

import torch

from models.ernie_doc.system import load as load_system
from models.system import Bundle

FOLDER = "TINY_ERNIE_DOC"  # variable that names the folder of the checkpoint


def load(device: torch.device, dtype: torch.dtype) -> Bundle:
    return load_system(device, dtype, Path(os.environ[FOLDER]))
