"""The packages for GPUs on a machine without one: they are installed, start, answer, and say why on the CPU."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from models.device import count_gpus
from service.launch.processor import GPU_BUILD, ON_CPU
from tests.cluster.running import ROOT, Service, clean_environment

pytestmark = [pytest.mark.timeout(600), pytest.mark.alone]


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """ONNX Runtime as serve-gpu.txt locks it, beside the other packages, which are those for a CPU."""
    lock = (ROOT / "deploy" / "locks" / "serve-gpu.txt").read_text()
    entry = re.search(rf"^{GPU_BUILD}==(?:.*\\\n)+.*", lock, re.MULTILINE)
    assert entry
    (tmp_path / "lock.txt").write_text(entry[0])
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes"]
    subprocess.run([*pip, "--target", tmp_path / "packages", "-r", tmp_path / "lock.txt"], check=True)
    return tmp_path / "packages"


@pytest.mark.skipif(count_gpus() > 0, reason="there is a GPU")
def test_the_packages_for_gpus_answer_on_a_machine_without_one(packages: Path, tmp_path: Path) -> None:
    service = Service(tmp_path / "var", system="nkb")
    path = f"{packages}:{clean_environment()['PYTHONPATH']}"
    try:
        service.start(PYTHONPATH=path)
        assert ON_CPU in service.read_output()
        for replica in service.pids_of("ServeReplica:errata:nkb"):
            assert str(packages / "onnxruntime") in Path(f"/proc/{replica}/maps").read_text()
        with service.errata() as errata:
            assert errata.ask("What is the capital of Peru?", model="nkb").answer == "Lima"
    finally:
        service.stop()
