"""Shapes are checked wherever the tests go, and no test depends on the random numbers that another one drew.

beartype stands behind the types of `models` before any of it is imported; but not of `models.packs`, which has no
arrays, and where it would take ten times as long to read all the names.
"""

from pathlib import Path

import pytest
import torch
from jaxtyping import install_import_hook

AN_INT_IS_A_FLOAT = "beartype.BeartypeConf(is_pep484_tower=True)"
MODELS = Path(__file__).parents[1] / "models"

install_import_hook(
    [f"models.{part.stem}" for part in MODELS.iterdir() if part.name != "packs"],
    f"beartype.beartype(conf={AN_INT_IS_A_FLOAT})",
)


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(0)
