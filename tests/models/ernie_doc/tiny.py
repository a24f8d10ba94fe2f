"""A model that is small enough to see through, and segments for it."""

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from models.ernie_doc.config import ErnieDocConfig
from models.ernie_doc.model import ErnieDoc

CONFIG = ErnieDocConfig(
    vocab=40,
    width=16,
    layers=2,
    heads=2,
    inner=32,
    segment=8,
    memory=4,
    position_rows=20,
    task_types=3,
    epsilon=1e-12,
    embedding_epsilon=1e-5,
    hidden_dropout=0.0,
    attention_dropout=0.0,
    inner_dropout=0.0,
)


def tiny_model(**changes: Any) -> ErnieDoc:
    """Draw weights that are large enough for every part to matter."""
    model = ErnieDoc(replace(CONFIG, **changes)).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.normal_(1.0 if "norm" in name and name.endswith("weight") else 0.0, 0.3)
    return model.requires_grad_(False)


def segment(batch: int, real: int = CONFIG.segment) -> tuple[Tensor, Tensor, Tensor]:
    """Draw ids; tasks are 0, and the mask has `real` tokens in each row."""
    ids = torch.randint(1, CONFIG.vocab, (batch, CONFIG.segment))
    mask = (torch.arange(CONFIG.segment) < real).float().expand(batch, -1)
    return ids, torch.zeros_like(ids), mask
