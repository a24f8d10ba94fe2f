"""Limits of `limits.toml`: lengths of functions, figures of areas, words of pages, faults of prose."""

import ast
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.shape.figures import measure
from tests.shape.prose import Function, find_bad_prose
from tests.shape.sources import AREAS, folder_of, parse, select_area, without_tests

TABLE = Path(__file__).parent / "limits.toml"


def read_limits() -> dict[str, Any]:
    """Read the table of limits."""
    return tomllib.loads(TABLE.read_text("utf-8"))


def find_exceeded(sources: Mapping[str, str], limits: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence for each limit of a function or of prose that the files exceed."""
    yield from exceeded_lengths(sources, limits["function"])
    yield from exceeded_prose(sources, limits["prose"])


def exceeded_lengths(sources: Mapping[str, str], limits: Mapping[str, int]) -> Iterator[str]:
    """Check how many lines each function has without its docstring."""
    for path, text in sorted(without_tests(sources)):
        for node in ast.walk(parse(text)):
            if isinstance(node, Function):
                n_lines = count_code(node)
                limit = limits.get(f"{path}:{node.name}", limits["any"])
                if n_lines > limit:
                    yield f"{path}:{node.lineno}: {node.name} has {n_lines} lines, {limit} are allowed: split it"


def count_code(function: Function) -> int:
    """Count the lines of a function from `def` to its end, without its docstring."""
    n_lines = (function.end_lineno or function.lineno) - function.lineno + 1
    if ast.get_docstring(function) is None:
        return n_lines
    docstring = function.body[0]
    return n_lines - ((docstring.end_lineno or docstring.lineno) - docstring.lineno + 1)


def exceeded_shapes(sources: Mapping[str, str], limits: Mapping[str, Mapping[str, float]]) -> Iterator[str]:
    """Check the figures of each area that `python -m tests.shape` prints."""
    for area, bars in limits.items():
        shape = measure(select_area(sources, AREAS[area]))
        for figure, bar in bars.items():
            if (value := getattr(shape, figure)) > bar:
                yield f"{area}: {figure.replace('_', ' ')} is {value:.1f}, at most {bar} is allowed"


def exceeded_words(pages: Mapping[str, str], limit: int) -> Iterator[str]:
    """Check how many words all Markdown files have together."""
    n_words = sum(len(text.split()) for text in pages.values())
    if n_words > limit:
        yield f"the Markdown files have {n_words:,} words, at most {limit:,} are allowed: shorten another page"


def exceeded_prose(sources: Mapping[str, str], limits: Mapping[str, int]) -> Iterator[str]:
    """List the faults of prose of each folder that has more of them than it may."""
    faults: dict[str, list[str]] = {}
    for path, fault in find_bad_prose(sources):
        faults.setdefault(folder_of(path), []).append(fault)
    for folder, sentences in sorted(faults.items()):
        if len(sentences) > limits.get(folder, 0):
            yield from sentences
            yield f"{folder}: {len(sentences)} faults of prose, at most {limits.get(folder, 0)} are allowed"
