"""Shapes are checked wherever the tests go, and no test depends on the random numbers that another one drew.

beartype stands behind the types of `models` before any of it is imported.
"""

import pytest
import torch
from jaxtyping import install_import_hook

AN_INT_IS_A_FLOAT = "beartype.BeartypeConf(is_pep484_tower=True)"

install_import_hook("models", f"beartype.beartype(conf={AN_INT_IS_A_FLOAT})")


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(0)
