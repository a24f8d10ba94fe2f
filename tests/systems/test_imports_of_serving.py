"""Serving imports neither what only trainings call nor torch's compiler: seconds of each start, 130 MB a process."""

import subprocess
import sys

import pytest

from models.systems import SYSTEMS

TRAINING_ONLY = {"transformers", "torch._dynamo", "sympy", "scipy", "sklearn", "pandas", "models.training"}
SCRIPT = """
import importlib, sys, torch
from models.contract import check_reply
module, _, name = sys.argv[1].partition(":")
check_reply(getattr(importlib.import_module(module), name)(torch.device("cpu"), torch.float32))
print(*sys.modules)
"""


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_system_is_loaded_and_asked_without_what_only_trainings_call(name: str) -> None:
    command = [sys.executable, "-c", SCRIPT, SYSTEMS[name]]
    modules = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout.split()
    assert not TRAINING_ONLY & {*modules}
