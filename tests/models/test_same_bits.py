"""Every processor folds the same edits to the same bits, so a ledger can be carried on where it was not begun.

The other processors are this one with less of its instructions: libraries choose their kernels by what they may use.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.models.folding import CHANGES

KERNELS = {  # what a processor has, as torch calls it -> kernels for it in OpenBLAS and torch
    "DEFAULT": ("Prescott", "default"),
    "AVX2": ("Haswell", "avx2"),
    "AVX512": ("SkylakeX", "avx512"),
}
OWN_LEVEL = torch.backends.cpu.get_cpu_capability()
LEVELS = list(KERNELS)  # below: no higher one than the processor's own, whose kernels would end the process
LEVELS = LEVELS[: 1 + LEVELS.index(OWN_LEVEL)] if OWN_LEVEL in LEVELS else LEVELS[:1]
NUMPY_KERNELS = "X86_V3 X86_V4 AVX512_ICL AVX512_SPR"  # kernels that NumPy leaves out on the lowest level


def fold(path: Path, level: str = "") -> dict[str, str]:
    """Fold in a new process with the kernels of a level; by default with those that the libraries choose."""
    environment = {**os.environ}
    if level:
        environment["OPENBLAS_CORETYPE"], environment["ATEN_CPU_CAPABILITY"] = KERNELS[level]
    if level == "DEFAULT":
        environment["NPY_DISABLE_CPU_FEATURES"] = NUMPY_KERNELS
    words = [sys.executable, "-m", "tests.models.folding", str(path)]
    result = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    checksums: dict[str, str] = json.loads(result.stdout.splitlines()[-1])
    return checksums


@pytest.fixture(scope="module")
def materials(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """Return the edits as the ledger keeps them, and the checksums of the process that built them."""
    path = tmp_path_factory.mktemp("fold") / "materials"
    return path, fold(path)


@pytest.mark.parametrize("level", LEVELS)
def test_every_memory_folds_to_the_same_bits(level: str, materials: tuple[Path, dict[str, str]]) -> None:
    path, checksums = materials
    names = {name.split()[0] for name in checksums}
    assert names == CHANGES.keys()
    assert fold(path, level) == checksums
