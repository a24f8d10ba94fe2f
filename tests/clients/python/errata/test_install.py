"""A client-only install has httpx, pydantic, rich and typer, and nothing of the service."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from importlib.resources import files
from pathlib import Path

import errata

FORBIDDEN = (
    "torch",
    "ray",
    "redis",
    "fastapi",
    "starlette",
    "uvicorn",
    "transformers",
    "numpy",
    "service",
    "models",
)
IMPORT_EVERYTHING = f"""
import importlib, pkgutil, sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {FORBIDDEN!r}:
            raise ImportError("a client must not import " + name)

sys.meta_path.insert(0, Refuse())
import errata
modules = [module.name for module in pkgutil.walk_packages(errata.__path__, "errata.")]
modules = [name for name in modules if not name.startswith("errata.mcp")]  # which needs an extra of its own
for name in modules:
    importlib.import_module(name)
print(len(modules), *(name for name in {FORBIDDEN!r} if name in sys.modules))
"""


def test_every_file_of_the_client_imports_without_the_service(tmp_path: Path) -> None:
    result = subprocess.run(
        [sys.executable, "-c", IMPORT_EVERYTHING],
        capture_output=True,
        text=True,
        timeout=240,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(errata.__file__).parents[1])},
    )
    assert result.stderr == ""
    count, *modules = result.stdout.split()
    assert int(count) > 20
    assert modules == []


def test_a_type_checker_sees_the_types() -> None:
    assert files("errata").joinpath("py.typed").is_file()


def test_the_version_is_that_of_the_package() -> None:
    settings = tomllib.loads((Path(__file__).parents[4] / "pyproject.toml").read_text())
    assert errata.__version__ == settings["project"]["version"]
