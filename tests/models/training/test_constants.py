"""A value that two files share is written in one of them."""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import models.training


def constants(path: Path) -> Iterator[tuple[str, str]]:
    """(name in capitals, value as written)."""
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if name.isupper():
                yield name, ast.unparse(node.value)


def test_no_constant_is_written_twice() -> None:
    counts = Counter(
        constant for path in Path(*models.training.__path__).glob("*.py") for constant in constants(path)
    )
    assert counts["BATCH", "64"] == 1
    assert [constant for constant, times in counts.items() if times > 1] == []
