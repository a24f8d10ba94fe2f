"""The shape of the code in figures, and the lint that holds its vocabulary: `python -m tests.shape [--at REVISION]`.

A reader who is new finds a file by its folder, follows a function without leaving it, and searches for the field's
own words. Each row measures one of these. `--lint` prints every name that is a pronoun or a bare participle and exits
with 1 when there is any.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import subprocess
import sys
import tarfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, quantiles

ROOT = Path(__file__).parents[1]
AREAS = {
    "service": "service/",
    "client": "clients/",
    "models": "models/",
    "deploy": "deploy/",
    "tests": "tests/",
}
NOT_COUNTED = ("models/training/",)  # how checkpoints and packs are made, not what is served


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


PRONOUNS = words(
    """one ones some others each both who whom whose what which mine own ours theirs yours it them they these those
    here there everything something nothing anything everyone someone nobody anybody most more less least few many
    several"""
)
IRREGULAR_PARTICIPLES = words(
    """told said made found given known held kept left gone wanted asked taken seen unseen shown written
    spoken unspoken drawn chosen meant sent done bent spent spelt taught untold brought fed begun come become met
    lost won thrown grown torn sworn stolen bound built bought caught dealt felt heard laid led paid sold sought
    stood struck swept thought understood worn wound"""
)
REGULAR_PARTICIPLE = re.compile(r"[a-z]+[^e]ed|[a-z]+eed")
# Nouns and verbs that end like participles, and states that the field itself names so.
STANDARD_WORDS = words(
    """seed feed need speed red embed bed
    expected cached shared closed packed padded sorted encoded embedded gated hidden masked revoked reverted restored
    superseded truncated degraded deprecated cancelled finished healthy trained allowed required supported
    malformed ignored skipped failed refused changed applied declined scheduled compressed limited isolated
    unbounded unauthorized unsupported rejected rotated created decoded quantized pooled done denied"""
)


@dataclass(frozen=True)
class Shape:
    """Figures of one area. Lengths are lines from `def` to the last line; shares are per cent."""

    files: int
    lines: int
    files_per_folder: float
    largest_folder: int
    median_function: float
    ninth_decile_function: float
    private_used_once: float
    pronouns_and_participles: float
    says_cache: int


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--at", help="a git revision; without it the working tree")
    options.add_argument(
        "--lint", action="store_true", help="list forbidden names and exit with 1 if there are any"
    )
    options.add_argument("paths", nargs="*", help="only files whose path begins with one of these")
    args = options.parse_args()
    sources = working_tree() if args.at is None else revision(args.at)
    if args.paths:
        sources = {path: text for path, text in sources.items() if path.startswith(tuple(args.paths))}
    if args.lint:
        problems = list(lint(sources))
        print("\n".join(problems) or "no name is a pronoun or a participle")
        sys.exit(bool(problems))
    print(table(sources))


def working_tree() -> dict[str, str]:
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.py"]
    paths = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    return {path: (ROOT / path).read_text("utf-8") for path in sorted(set(paths)) if (ROOT / path).exists()}


def revision(name: str) -> dict[str, str]:
    archive = subprocess.run(["git", "archive", name], cwd=ROOT, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        members = [member for member in tar if member.isfile() and member.name.endswith(".py")]
        return {member.name: tar.extractfile(member).read().decode() for member in members}  # type: ignore[union-attr]


def table(sources: Mapping[str, str]) -> str:
    """Markdown: a row a figure, a column an area."""
    shapes = {area: measure(in_area(sources, prefix)) for area, prefix in AREAS.items()}
    shapes = {area: shape for area, shape in shapes.items() if shape.files}
    n_served = sum(
        len(text.splitlines())
        for path, text in sources.items()
        if path.startswith(("service/", "clients/", "models/")) and not path.startswith(NOT_COUNTED)
    )
    rows = [
        ("files", [f"{shape.files}" for shape in shapes.values()]),
        ("lines", [f"{shape.lines:,}" for shape in shapes.values()]),
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
    return f"{head}{body}\n\nlines of service, clients and models without training: {n_served:,}"


def in_area(sources: Mapping[str, str], prefix: str) -> dict[str, str]:
    return {
        path: text
        for path, text in sources.items()
        if path.startswith(prefix) and not path.startswith(NOT_COUNTED)
    }


def measure(sources: Mapping[str, str]) -> Shape:
    trees = {path: ast.parse(text) for path, text in sources.items()}
    folders = Counter(str(Path(path).parent) for path in sources if not path.endswith("__init__.py"))
    lengths = [length for tree in trees.values() for length in function_lengths(tree)] or [0, 0]
    names = [name for tree in trees.values() for name, _ in identifiers(tree)]
    forbidden = sum(is_forbidden(name) for name in names)
    deciles = quantiles(lengths, n=10)
    return Shape(
        files=len(sources),
        lines=sum(len(text.splitlines()) for text in sources.values()),
        files_per_folder=mean(folders.values()) if folders else 0,
        largest_folder=max(folders.values(), default=0),
        median_function=deciles[4],
        ninth_decile_function=deciles[8],
        private_used_once=100 * sum(private_used_once(tree) for tree in trees.values()) / len(lengths),
        pronouns_and_participles=100 * forbidden / max(1, len(names)),
        says_cache=sum(
            len(re.findall(r"\bcach", prose)) for text in sources.values() for prose in comments(text)
        ),
    )


def function_lengths(tree: ast.AST) -> Iterator[int]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield (node.end_lineno or node.lineno) - node.lineno + 1


def private_used_once(tree: ast.AST) -> int:
    """Functions of a file that are private to it and named in one other place."""
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


def identifiers(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Every name that this code gives to something, with its line: foreign names are not ours to choose."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name, node.lineno
            case ast.arg():
                yield node.arg, node.lineno
            case ast.Name(ctx=ast.Store()) | ast.Name(ctx=ast.Del()):
                yield node.id, node.lineno
            case ast.Attribute(value=ast.Name(id="self" | "cls"), ctx=ast.Store()):
                yield node.attr, node.lineno
            case ast.alias(asname=str()):
                yield node.asname, node.lineno
            case ast.MatchAs(name=str()) | ast.MatchStar(name=str()):
                yield node.name, node.lineno  # type: ignore[misc]


def is_forbidden(name: str) -> bool:
    """Only of a name that is a single word: `sorted_rows` and `EditRefused` say what they are about."""
    word = name.strip("_")
    if not (word.islower() or word.isupper() or word.istitle()):
        return False
    word = word.lower()
    if word in STANDARD_WORDS:
        return False
    return word in PRONOUNS or word in IRREGULAR_PARTICIPLES or bool(REGULAR_PARTICIPLE.fullmatch(word))


def comments(text: str) -> Iterator[str]:
    """Docstrings and comments."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield (ast.get_docstring(node) or "").lower()
    yield from (line.partition("#")[2].lower() for line in text.splitlines() if "#" in line)


def lint(sources: Mapping[str, str]) -> Iterator[str]:
    for path, text in sorted(sources.items()):
        for name, line in identifiers(ast.parse(text)):
            if is_forbidden(name):
                yield f"{path}:{line}: {name} is a pronoun or a participle: name what it holds"


if __name__ == "__main__":
    main()
