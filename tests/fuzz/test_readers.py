"""Readers of foreign bytes are fed with inputs that libFuzzer makes of good ones, led by the branches it reaches."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.targets import TARGETS

ROOT = Path(__file__).parents[2]
LIMIT_S, ONE_S, LONGEST = 7_200, 20, 4_096
NO_LIMIT = "-rss_limit_mb=0"  # Linux derives the largest size of a process from the one that started it
HEAP = 2 << 30  # bytes, in place of that limit
REGRESSIONS = Path(__file__).parent / "regressions"


@pytest.mark.timeout(LIMIT_S)
@pytest.mark.parametrize("name", TARGETS)
def test_any_bytes_are_read_or_refused(name: str, tmp_path: Path, times: int, seed: int) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for number, first in enumerate(TARGETS[name].seeds):
        (corpus / str(number)).write_bytes(first)
    runs = TARGETS[name].runs * times
    bounds = f"-runs={runs}", f"-seed={seed}", f"-timeout={ONE_S}", f"-max_len={LONGEST}", NO_LIMIT
    result = subprocess.run(
        [sys.executable, "-m", "tests.fuzz", name, *bounds, f"-artifact_prefix={tmp_path}/", str(corpus)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'clients' / 'python'}"},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (HEAP, HEAP)),
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert f"Done {runs} runs" in result.stdout + result.stderr


@pytest.mark.parametrize(
    "file", sorted(REGRESSIONS.glob("*/*")), ids=lambda file: f"{file.parent.name}/{file.name}"
)
def test_what_was_found_once_is_no_longer_so(file: Path) -> None:
    TARGETS[file.parent.name].run(file.read_bytes())
