"""The digest of code: of some modules and all that they import, without comments and docstrings."""

import ast
import hashlib
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[3]
PACKAGES = ("models", "tests")
DOCSTRING_NODES = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


class Source(NamedTuple):
    """What one module does, as a digest, and the modules of PACKAGES that it imports."""

    digest: str
    imports: tuple[str, ...]


def digest_code(modules: Sequence[str], not_followed: Collection[str] = ()) -> str:
    """Return the digest of modules and of what they import from the repository.

    Args:
        modules: Full names of modules.
        not_followed: Modules that count without what they import.
    """
    total = hashlib.sha256()
    for module in sorted(find_imports(modules, not_followed)):
        total.update(f"{module} {_read(module).digest}\n".encode())
    return "sha256:" + total.hexdigest()


def find_imports(modules: Sequence[str], not_followed: Collection[str] = ()) -> set[str]:
    """Return the modules and all modules of the repository that they import, directly or not."""
    names, rest = set[str](), list(modules)
    while rest:
        module = rest.pop()
        if module not in names:
            names.add(module)
            rest += () if module in not_followed else _read(module).imports
    return names


@cache
def _read(module: str) -> Source:
    path = _path(module)
    assert path is not None, f"{module} is no module of the repository"
    tree = ast.parse(path.read_text("utf-8"))
    imports = tuple(dict.fromkeys(name for node in ast.walk(tree) for name in _imports(node)))
    for node in ast.walk(tree):
        if isinstance(node, DOCSTRING_NODES) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return Source(hashlib.sha256(ast.dump(tree).encode()).hexdigest(), imports)


def _imports(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom) and node.module:
        names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    else:
        return
    yield from (name for name in names if name.split(".")[0] in PACKAGES and _path(name) is not None)


def _path(module: str) -> Path | None:
    path = ROOT.joinpath(*module.split("."))
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)
