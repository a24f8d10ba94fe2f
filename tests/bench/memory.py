"""The memory of one model, of the whole service, and of each edit.

`python -m tests.bench.memory` prints what a process with a model in it takes, in MB.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil

from models.memory import AnswerChange
from models.system import Ask
from models.systems import SYSTEMS
from tests.bench.bank import build_gated, load_nkb, read_bank
from tests.bench.processes import run_errata
from tests.bench.questions import questions
from tests.bench.table import Row

EDITS = 64
PSS = "MB; a page that several processes share is split between them"


def rows() -> Iterator[Row]:
    alone = subprocess.run(
        [sys.executable, "-m", "tests.bench.memory"], capture_output=True, text=True, check=True, timeout=120
    )
    yield Row("memory of a process with one model", float(alone.stdout), "", PSS)
    yield _service("the two default systems")
    yield _service(
        "six systems, one replica each", *(word for name in SYSTEMS for word in ("--system", name))
    )
    changes = [AnswerChange(str(n), q, "Cusco") for n, q in enumerate(questions(EDITS))]
    _, memory = load_nkb()
    sizes = [len(material.block.encoded) for material in build_gated(memory, changes)]
    yield Row("rows of one gated edit", sum(sizes) / len(sizes) / 1024, "", "kB, answer of two words")


def _service(systems: str, *options: str) -> Row:
    """Return the memory of all processes of the service: Ray, ingress, editor, replicas, Valkey."""
    folder = tempfile.TemporaryDirectory(prefix="errata-bench-")
    with folder as name, run_errata(Path(name), 1, *options) as server:
        httpx.post(f"{server.url}/v1/answers", json={"question": questions(1)[0]}).raise_for_status()
        launcher = psutil.Process(server.pid)
        processes = [launcher, *launcher.children(recursive=True)]
        return Row(f"memory of {systems}", sum(map(_pss_mb, processes)), "", PSS)


def _pss_mb(process: psutil.Process) -> float:
    return float(process.memory_full_info().pss / 2**20)


def main() -> None:
    system, memory = load_nkb()
    system.answer([Ask(questions(1)[0])], [read_bank(memory)])
    print(_pss_mb(psutil.Process()))


if __name__ == "__main__":
    main()
