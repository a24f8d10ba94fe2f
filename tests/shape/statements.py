"""The weight of the code, in statements: docstrings, imports and the length of lines or files count for nothing."""

import ast
from collections import Counter
from collections.abc import Iterator, Mapping

from tests.shape.sources import parse

PRODUCT = ("clients", "deploy", "models", "service")
PARTS = (*PRODUCT, "tests")
DocstringOwner = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def count_statements(tree: ast.AST) -> int:
    """Count the nodes `ast.stmt` of a tree without imports and docstrings."""
    nodes = list(ast.walk(tree))
    docstrings = {
        id(node.body[0]) for node in nodes if isinstance(node, DocstringOwner) and _has_docstring(node)
    }
    return sum(
        isinstance(node, ast.stmt)
        and not isinstance(node, ast.Import | ast.ImportFrom)
        and id(node) not in docstrings
        for node in nodes
    )


def _has_docstring(node: DocstringOwner) -> bool:
    return bool(node.body) and ast.get_docstring(node, clean=False) is not None


def weigh(sources: Mapping[str, str]) -> Counter[str]:
    """Count the statements of each top folder, and of the product, which is all of them but the tests.

    Args:
        sources: The text of each file by its path.
    """
    weights = Counter[str]()
    for path, text in sources.items():
        folder = path.split("/")[0]
        if folder in PARTS:
            weights[folder] += count_statements(parse(text))
    weights["product"] = sum(weights[folder] for folder in PRODUCT)
    return weights


def exceeded_weights(sources: Mapping[str, str], limits: Mapping[str, int]) -> Iterator[str]:
    """Check the statements of the product and of the tests."""
    weights = weigh(sources)
    for part, limit in limits.items():
        if weights[part] > limit:
            yield (
                f"{part}: {weights[part]:,} statements, at most {limit:,} are allowed: "
                f"find {weights[part] - limit:,} that are no longer needed"
            )
