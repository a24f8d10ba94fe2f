"""The memory of a process by its parts, of the service by its processes, and of each edit."""

import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil

from models.memory import AnswerChange
from models.systems import SYSTEMS
from tests.bench.bank import build_gated, load_nkb
from tests.bench.processes import run_errata
from tests.bench.questions import questions
from tests.bench.replica import pss_mb
from tests.bench.table import Row

EDITS = 64
RAY_PART = "ray::ServeReplica:errata:"  # begins the title of a process
PSS = "MB; a page that several processes share is split between them"


def rows() -> Iterator[Row]:
    alone = subprocess.run(
        [sys.executable, "-m", "tests.bench.replica"], capture_output=True, text=True, check=True, timeout=120
    )
    parts: dict[str, float] = json.loads(alone.stdout)
    yield Row("memory of a process with one model", sum(parts.values()), "", PSS)
    for name, size in parts.items():
        yield Row(f"of it: {name}", size, "", "MB")
    yield from _service("the two default systems")
    yield from _service(
        "six systems, one replica each", *(word for name in SYSTEMS for word in ("--system", name))
    )
    changes = [AnswerChange(str(n), q, "Cusco") for n, q in enumerate(questions(EDITS))]
    _, memory = load_nkb()
    sizes = [len(material.block.encoded) for material in build_gated(memory, changes)]
    yield Row("rows of one gated edit", sum(sizes) / len(sizes) / 1024, "", "kB, answer of two words")


def _service(systems: str, *options: str) -> Iterator[Row]:
    """Yield the memory of all processes of the service, and of each of its parts: launcher, replicas, Ray, Valkey."""
    folder = tempfile.TemporaryDirectory(prefix="errata-bench-")
    with folder as name, run_errata(Path(name), 1, *options) as server:
        httpx.post(f"{server.url}/v1/answers", json={"question": questions(1)[0]}).raise_for_status()
        launcher = psutil.Process(server.pid)
        sizes: defaultdict[str, float] = defaultdict(float)
        for process in [launcher, *launcher.children(recursive=True)]:
            sizes[_name(process, launcher)] += pss_mb(process)
    yield Row(f"memory of {systems}", sum(sizes.values()), "", PSS)
    for name, size in sorted(sizes.items(), key=lambda item: -item[1]):
        yield Row(f"of it: {name}", size, "", "MB")


def _name(process: psutil.Process, launcher: psutil.Process) -> str:
    if process == launcher:
        return "launcher"
    title = " ".join(process.cmdline()).strip()
    if title.startswith(RAY_PART):
        return title.removeprefix(RAY_PART).split(".")[0]
    return "Valkey" if "valkey" in process.name() else "Ray's own processes"
