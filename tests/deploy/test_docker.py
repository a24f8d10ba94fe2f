"""The Dockerfile is sound to hadolint, and what it copies is enough: the service runs from that and from nothing else.

No container engine is needed: the files that the context lets through are copied to a clean folder by the Dockerfile's
own COPY lines, installed from there as its last RUN does, and used from there. What is not tested is that the base
image can be had and that pip finds the packages of the lock.
"""

from __future__ import annotations

import fnmatch
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster.running import ROOT

DOCKERFILE = ROOT / "deploy" / "Dockerfile"
BIN = Path(sys.executable).parent


def instructions(word: str) -> list[str]:
    """Return the arguments of instructions, with continued lines joined."""
    text = re.sub(r"\\\n\s*", "", DOCKERFILE.read_text())
    return [line.removeprefix(f"{word} ") for line in text.splitlines() if line.startswith(f"{word} ")]


def let_through() -> list[Path]:
    """Return files of the context by the last matching rule, as Docker does. Only the file's forms are supported."""
    rules = (ROOT / "deploy" / "Dockerfile.dockerignore").read_text().splitlines()
    rules = [rule for rule in rules if rule and not rule.startswith("#")]
    inclusions = [rule.removeprefix("!") for rule in rules if rule.startswith("!")]
    exclusions = [rule.removeprefix("**/") for rule in rules if rule.startswith("**/")]
    patterns = [*(f"!{path}" for path in inclusions), *(f"**/{name}" for name in exclusions)]
    assert rules == ["*", *patterns]
    paths = [path for inclusion in inclusions for path in _files(ROOT / inclusion)]
    return [path for path in paths if not any(_fits(path, exclusion) for exclusion in exclusions)]


def _files(path: Path) -> list[Path]:
    return [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]


def _fits(path: Path, pattern: str) -> bool:
    return any(fnmatch.fnmatch(part, pattern) for part in path.relative_to(ROOT).parts)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the files in /source of the image."""
    folder, context_files = tmp_path_factory.mktemp("source"), let_through()
    for words in map(shlex.split, instructions("COPY")):
        if words[0].startswith("--from"):
            continue
        *froms, to = words
        for origin in froms:
            _copy(
                [path for path in context_files if path.is_relative_to(ROOT / origin)],
                ROOT / origin,
                folder,
                to,
            )
    return folder


def _copy(files: list[Path], origin: Path, folder: Path, to: str) -> None:
    assert files, f"COPY {origin} finds nothing that the context lets through"
    for path in files:
        name = path.name if path == origin else str(path.relative_to(origin))
        (folder / to / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, folder / to / name)


@pytest.fixture(scope="module")
def package_folder(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("installed")
    assert "pip install --no-cache-dir --no-deps --no-build-isolation ." in instructions("RUN")
    words = ["pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--target", str(folder), "."]
    subprocess.run([sys.executable, "-m", *words], cwd=source, check=True, capture_output=True)
    return folder


def run(package_folder: Path, *words: str) -> str:
    """Run a Python that finds our packages only there, and all others where they are installed here."""
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(package_folder), "HOME": str(package_folder)}
    process = subprocess.run(
        [sys.executable, *words],
        cwd=package_folder.parent,
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert process.returncode == 0, process.stderr
    return process.stdout


def test_hadolint_finds_nothing() -> None:
    process = subprocess.run(
        [str(BIN / "hadolint"), str(DOCKERFILE)], capture_output=True, text=True, check=False
    )
    assert (process.returncode, process.stdout) == (0, "")


def test_what_is_copied_is_the_service_with_its_checkpoint(package_folder: Path) -> None:
    """Ray's wiring and the ledger's scripts are read, and the default model answers."""
    program = """
import json, torch, service.app, service.ledger.store
from models.nkb.system import load
from models.system import Ask
from service.ledger.connection import load_script
nkb = load(torch.device("cpu"), torch.float32)
views = {memory.name: memory.view(memory.base) for memory in nkb.memories}
[reply] = nkb.system.answer([Ask("What is the capital of Peru?")], [views])
print(json.dumps([reply.answer, load_script("append")[:2], service.app.__file__]))
"""
    answer, script, file = json.loads(run(package_folder, "-c", program))
    assert (answer, script) == ("Lima", "--")
    assert Path(file).is_relative_to(package_folder)


def test_its_entry_point_is_the_service(package_folder: Path) -> None:
    [entry], [command] = instructions("ENTRYPOINT"), instructions("CMD")
    python, *words = json.loads(entry)
    assert python == "python"
    assert "ERRATA_ADMIN_KEY_FILE" in run(package_folder, *words, *json.loads(command), "--help")


def test_nothing_that_is_not_needed_gets_in(source: Path) -> None:
    by_pip = {"build", "errata.egg-info"}  # by pip, if an earlier test has installed it
    assert {path.name for path in source.iterdir()} - by_pip == {
        *("lock.txt", "pyproject.toml", "README.md", "LICENSE", "clients", "models", "service")
    }
    assert not list(source.rglob("__pycache__"))
    assert not list(source.rglob("admin.key"))


def test_it_runs_as_nobody_in_particular_and_holds_no_secret() -> None:
    assert instructions("USER") == ["10001:10001"]
    assert not [
        line for line in [*instructions("ENV"), *instructions("ARG")] if "KEY" in line or "REDIS" in line
    ]
    assert instructions("VOLUME") == ["/var/lib/errata"]
    assert "/healthz" in DOCKERFILE.read_text()
