"""How many small defects the tests catch: `python -m tests.bench mutants models/memory.py service/ledger`.

A mutant is one file with one change: a comparison, a boolean operator, a number or a truth value is exchanged, a
condition is negated, or a call whose value is not used is left out. The tests of `tests.quick`, and for a system the
suite of all systems, run in a copy of the tree for each. The same seed draws the same mutants of the same code, so two
states of the tests can be compared.
"""

import argparse
import ast
import copy
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.bench.table import Row, show
from tests.quick import ROOT, find_tests

LIMIT_S = 300  # seconds after which a mutant counts as caught, for its tests do not end
PARTS = ("service", "models", "clients", "tests", "pyproject.toml", "deploy", "README.md")
COMPARISONS = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
OPERATORS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.And: ast.Or, ast.Or: ast.And}


@dataclass(frozen=True)
class Mutant:
    """A file with one change."""

    path: Path  # the file, from the root
    place: int  # number of the node in the order of `ast.walk`

    @property
    def tree(self) -> ast.Module:
        """Return the changed syntax tree."""
        tree = ast.parse((ROOT / self.path).read_text("utf-8"))
        change(list(ast.walk(tree))[self.place])
        return ast.fix_missing_locations(tree)

    def describe(self) -> str:
        """Return the place, and the changed code."""
        node = list(ast.walk(self.tree))[self.place]
        code = ast.unparse(getattr(node, "test", node)).splitlines()[0]
        return f"{self.path}:{getattr(node, 'lineno', '?')} {code[:90]}"


def change(node: ast.AST) -> bool:
    """Change a node in place; return False, with nothing changed, if there is nothing to change in it."""
    match node:
        case ast.Compare(ops=[operator]) if type(operator) in COMPARISONS:
            node.ops = [COMPARISONS[type(operator)]()]
        case ast.BinOp() | ast.BoolOp() if type(node.op) in OPERATORS:
            node.op = OPERATORS[type(node.op)]()
        case ast.If() | ast.IfExp() | ast.While():
            node.test = ast.UnaryOp(ast.Not(), node.test)
        case ast.Constant(value=bool()):
            node.value = not node.value
        case ast.Constant(value=int()):
            node.value += 1
        case ast.Expr(value=ast.Call() | ast.Await()):
            node.value = ast.Constant(None)
        case _:
            return False
    return True


def list_mutants(path: Path) -> Iterator[Mutant]:
    """Yield the mutants of a file."""
    for place, node in enumerate(ast.walk(ast.parse((ROOT / path).read_text("utf-8")))):
        if change(copy.copy(node)):
            yield Mutant(path, place)


def list_tests(path: Path) -> list[Path]:
    """Return the tests of a file, among them those of all systems where one may serve it."""
    serves = path.parts[0] == "models" and path.parts[1] != "training"
    return [*find_tests(str(path)), *([Path("tests/systems")] if serves else [])]


def is_caught(mutant: Mutant, tree: Path, tests: Sequence[Path]) -> bool:
    """Run tests in a copy of the tree that has the mutant.

    Raises:
        ValueError: There are none, for pytest would run all, whose time-out would look as if they had caught it.
    """
    if not tests:
        raise ValueError(f"no test is of {mutant.path}: name some by --tests")
    file = tree / mutant.path
    before = file.read_bytes()
    file.write_text(ast.unparse(mutant.tree), "utf-8")
    words = ["-x", "-q", "-n0", "-p", "no:cacheprovider", *map(str, tests)]
    environment = {
        **os.environ,
        "PYTHONPATH": f"{tree}:{tree}/clients/python",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    try:
        result = subprocess.run(
            [sys.executable, "-m", "pytest", *words],
            cwd=tree,
            env=environment,
            timeout=LIMIT_S,
            capture_output=True,
        )
        return result.returncode != 0
    except subprocess.TimeoutExpired:
        return True
    finally:
        file.write_bytes(before)


def count_caught(place: Path, count: int, seed: int, tests: Sequence[Path]) -> Row:
    """Return the share of caught mutants of a file, or of the files that lie in a folder."""
    files = [place] if place.suffix else [f.relative_to(ROOT) for f in sorted((ROOT / place).glob("*.py"))]
    every = [mutant for file in files for mutant in list_mutants(file)]
    mutants = random.Random(seed).sample(every, min(count, len(every)))
    survivors = []
    with tempfile.TemporaryDirectory() as folder:
        for part in PARTS:
            source, target = ROOT / part, Path(folder) / part
            shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, target)
        for number, mutant in enumerate(mutants):
            if not is_caught(mutant, Path(folder), tests or list_tests(mutant.path)):
                survivors.append(mutant)
                print(f"{number + 1} of {len(mutants)} survives: {mutant.describe()}", flush=True)
    n_caught = len(mutants) - len(survivors)
    note = f"per cent: {n_caught} of {len(mutants)}, drawn of {len(every)} with seed {seed}"
    return Row(f"mutants caught, {place}", 100 * n_caught / max(1, len(mutants)), note=note)


def main(words: Sequence[str]) -> None:
    """Read the arguments and count."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench mutants", description=__doc__)
    parser.add_argument("places", nargs="+", type=Path, help="files or folders of the code, from the root")
    parser.add_argument("--count", type=int, default=40, help="mutants of each place")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tests", nargs="*", type=Path, default=(), help="in place of the mirrored tests")
    options = parser.parse_args(words)
    show([count_caught(place, options.count, options.seed, options.tests) for place in options.places])
