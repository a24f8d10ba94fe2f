"""A system is read and changed alone: what two of them need lies in the kit, or in a package of its own."""

import ast
from pathlib import Path

import pytest

from models.systems import SYSTEMS

PACKAGES = {loader.split(".")[1] for loader in SYSTEMS.values()}
MODELS = Path(__file__).parents[2] / "models"


def imports(file: Path) -> set[str]:
    """Return the modules that a file imports, wherever in it."""
    nodes = list(ast.walk(ast.parse(file.read_text("utf-8"))))
    froms = {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
    return froms | {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}


@pytest.mark.parametrize("package", sorted({path.name for path in MODELS.iterdir() if path.is_dir()}))
def test_no_system_and_nothing_that_systems_share_imports_a_system(package: str) -> None:
    if package == "training":
        return
    foreign = {f"models.{other}" for other in PACKAGES - {package}}
    for file in (MODELS / package).rglob("*.py"):
        assert not {name for name in imports(file) if name.startswith(tuple(foreign))}, file
