"""The shape of each area in figures: how a newcomer finds a file, follows a function and searches for a word."""

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import mean, quantiles

from tests.shape.names import identifiers, is_forbidden
from tests.shape.prose import texts
from tests.shape.sources import AREAS, TRAINING, folder_of, parse, select_area
from tests.shape.statements import count_statements


@dataclass(frozen=True)
class Shape:
    """Figures of one area. Lengths are lines from `def` to the last line; shares are per cent."""

    files: int
    statements: int
    files_per_folder: float
    largest_folder: int
    median_function: float
    ninth_decile_function: float
    private_used_once: float
    pronouns_and_participles: float
    says_cache: int


def table(sources: Mapping[str, str]) -> str:
    """Lay the figures out in Markdown: a row for each, a column for each area."""
    shapes = {area: measure(select_area(sources, prefix)) for area, prefix in AREAS.items()}
    shapes = {area: shape for area, shape in shapes.items() if shape.files}
    rows = [
        ("files", [f"{shape.files}" for shape in shapes.values()]),
        ("statements", [f"{shape.statements:,}" for shape in shapes.values()]),
        (
            "files in a folder, mean (max)",
            [f"{shape.files_per_folder:.0f} ({shape.largest_folder})" for shape in shapes.values()],
        ),
        (
            "function, median / p90 lines",
            [f"{shape.median_function:.0f} / {shape.ninth_decile_function:.0f}" for shape in shapes.values()],
        ),
        (
            "private functions used once, of all",
            [f"{shape.private_used_once:.0f} %" for shape in shapes.values()],
        ),
        (
            "names that are pronouns or participles",
            [f"{shape.pronouns_and_participles:.1f} %" for shape in shapes.values()],
        ),
        ('"cache" in the prose', [f"{shape.says_cache}" for shape in shapes.values()]),
    ]
    head = f"| measured | {' | '.join(shapes)} |\n|---|{'---|' * len(shapes)}\n"
    body = "\n".join(f"| {name} | {' | '.join(cells)} |" for name, cells in rows)
    return f"{head}{body}\n\nStatements of the top folders, {TRAINING} among them:"


def measure(sources: Mapping[str, str]) -> Shape:
    trees = {path: parse(text) for path, text in sources.items()}
    folders = Counter(folder_of(path) for path in sources if not path.endswith("__init__.py"))
    lengths = [length for tree in trees.values() for length in function_lengths(tree)] or [0, 0]
    names = [name for tree in trees.values() for name, _ in identifiers(tree)]
    forbidden = sum(is_forbidden(name) for name in names)
    deciles = quantiles(lengths, n=10)
    return Shape(
        files=len(sources),
        statements=sum(map(count_statements, trees.values())),
        files_per_folder=mean(folders.values()) if folders else 0,
        largest_folder=max(folders.values(), default=0),
        median_function=deciles[4],
        ninth_decile_function=deciles[8],
        private_used_once=100 * sum(private_used_once(tree) for tree in trees.values()) / len(lengths),
        pronouns_and_participles=100 * forbidden / max(1, len(names)),
        says_cache=sum(
            len(re.findall(r"\bcach", prose.words.lower()))
            for text in sources.values()
            for prose in texts(text)
        ),
    )


def function_lengths(tree: ast.AST) -> Iterator[int]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield (node.end_lineno or node.lineno) - node.lineno + 1


def private_used_once(tree: ast.AST) -> int:
    """Count the functions of a file that are private to it and named in one other place."""
    private = {
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("_")
        and not node.name.startswith("__")
    }
    uses = Counter(
        name
        for node in ast.walk(tree)
        if (name := getattr(node, "id", None) or getattr(node, "attr", None)) in private
    )
    return sum(uses[name] == 1 for name in private)
