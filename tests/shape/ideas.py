"""Files with two ideas, by three signs: a second summary, late constants, and definitions that share no name."""

import ast
from collections.abc import Iterator, Mapping

from tests.shape.sources import parse, without_tests

ROOTS = ("deploy", "errata", "models", "service")
LEAST_WEIGHT = 12  # statements of definitions that are an idea of their own
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def check_ideas(sources: Mapping[str, str], reasons: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence for each file with unexpected signs of two ideas, and for each that has none of those expected.

    Args:
        sources: The text of each file by its path.
        reasons: The files that may have such signs; each is one idea for the reason given, or has to be divided.
    """
    trees = {path: parse(text) for path, text in without_tests(sources)}
    signs = {path: [*_summaries(tree), *_constants(tree), *_groups(tree)] for path, tree in trees.items()}
    for path in sorted(signs.keys() | reasons.keys()):
        if bool(signs.get(path)) != (path in reasons):
            yield f"{path}: {'; '.join(signs.get(path) or ['remove it from [ideas], it has one idea'])}"


def _summaries(tree: ast.Module) -> list[str]:
    """List the paragraphs amid a docstring that are one line, as a summary is."""
    paragraphs = (ast.get_docstring(tree) or "").split("\n\n")[1:-1]
    return [f'second summary "{line}"' for line in paragraphs if line.endswith(".") and "\n" not in line]


def _constants(tree: ast.Module) -> list[str]:
    """List the constants after a definition that name no definition."""
    names = {node.name for node in tree.body if isinstance(node, Definition)}
    lines = [node.lineno for node in tree.body if isinstance(node, Definition)]
    return [
        f"line {node.lineno} has a constant amid definitions"
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        and node.lineno > min(lines, default=node.lineno)
        and not names & _list_names(node)
    ]


def _groups(tree: ast.Module) -> list[str]:
    """List the large groups of definitions beside the first that have no name of this project in common with others."""
    groups: list[tuple[set[str], int]] = []
    shared = set[str]().union(*map(_list_bound, tree.body))
    for node in (node for node in tree.body if not isinstance(node, ast.Import | ast.ImportFrom)):
        names = _list_names(node) & shared
        near = [group for group in groups if group[0] & names]
        weight = sum(isinstance(part, ast.stmt) for part in ast.walk(node)) + sum(group[1] for group in near)
        groups = [
            *(group for group in groups if group not in near),
            (names.union(*(group[0] for group in near)), weight),
        ]
    large = [names for names, weight in groups if names and weight >= LEAST_WEIGHT]
    return [f"what is around {min(names)} shares no name with the rest" for names in large[1:]]


def _list_bound(node: ast.stmt) -> set[str]:
    """Return the names that a statement at the top of a file binds; of imports those of this project."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {alias.name for alias in node.names if str(getattr(node, "module", "")).startswith(ROOTS)}
    parts = [node] if isinstance(node, Definition) else ast.walk(node)
    return {
        getattr(part, "name", getattr(part, "id", ""))
        for part in parts
        if isinstance(getattr(part, "ctx", ast.Store()), ast.Store)
    }


def _list_names(node: ast.stmt) -> set[str]:
    """Return the names that a statement binds or reads, those that stand in quotes as well."""
    return {str(getattr(part, name, "")) for part in ast.walk(node) for name in ("id", "name", "value")} - {
        ""
    }
