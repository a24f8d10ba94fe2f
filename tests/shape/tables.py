"""Tables of files in the README of a folder: each path in them exists, and they name each module and subfolder.

A table is read where the heading of a column is one of `HEADINGS`. A word of its cells with a slash or a suffix is a
path from the README's folder, from the folder of the path before it in the cell, or from the root. A README without
such a table is left alone; `__init__.py` and `__main__.py` need no row; a path below a subfolder names the subfolder.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from tests.shape.sources import ROOT, folder_of

AREAS = ("clients/", "deploy/", "models/", "service/")
HEADINGS = frozenset({"file", "file or folder", "folder", "path", "script", "where", "with"})
WITHOUT_ROW = ("/__init__.py", "/__main__.py")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
ROWS = re.compile(r"(?:^ {0,3}\|.*\n?)+", re.MULTILINE)
BETWEEN = re.compile(r"(?<!\\)\|")
RULE = re.compile(r"[-:| ]+")
LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
PATH = re.compile(r"[\w./*-]*(?:/[\w-]*|\.\w+)")


def find_stale_tables(pages: Mapping[str, str], modules: Iterable[str], root: Path = ROOT) -> Iterator[str]:
    """Yield a sentence for each path that does not exist, and for each module or subfolder without a row.

    Args:
        pages: Markdown files by path from `root`; the READMEs below `AREAS` are read.
        modules: Paths of Python files from `root`.
        root: The folder of the project.
    """
    members = list_members(modules)
    for page, text in sorted(pages.items()):
        if not page.startswith(AREAS) or not page.endswith("/README.md"):
            continue
        folder, tables = folder_of(page), list(read_tables(text))
        if any(not RULE.fullmatch(rule) for _, rule, *_ in tables):
            yield f"{page}: a table has no line |---| below its headings"
        cells = [cell for table in tables for cell in read_cells(table)]
        paths: set[str] = set()
        for name, path in (pair for cell in cells for pair in resolve(cell, folder, root)):
            if path is None:
                yield f"{page}: a table names {name}, which does not exist"
            else:
                paths.add(path)
        for member in sorted(members.get(folder, ())) if cells else ():
            if not any(path == member or path.startswith(f"{member}/") for path in paths):
                yield f"{page}: no table names {os.path.basename(member)}"


def list_members(modules: Iterable[str]) -> dict[str, set[str]]:
    """Map each folder to its modules that need a row, and to its subfolders that hold a module."""
    members: dict[str, set[str]] = {}
    for path in modules:
        folder = folder_of(path)
        members.setdefault(folder_of(folder), set()).add(folder)
        if not path.endswith(WITHOUT_ROW):
            members.setdefault(folder, set()).add(path)
    return members


def read_tables(markdown: str) -> Iterator[list[str]]:
    """Yield the lines of each table: headings, the line below them, rows."""
    for table in ROWS.findall(FENCE.sub("", markdown)):
        yield [*table.splitlines(), ""]


def read_cells(table: Iterable[str]) -> Iterator[str]:
    """Yield the cells below `HEADINGS` as plain text."""
    headings, _, *rows = ([cell.strip() for cell in BETWEEN.split(line)] for line in table)
    for row in rows:
        yield from (
            LINK.sub(r"\1", cell) for heading, cell in zip(headings, row, strict=False) if heading in HEADINGS
        )


def resolve(cell: str, folder: str, root: Path) -> Iterator[tuple[str, str | None]]:
    """Yield each path of a cell as it is written, and from `root`; None where there is no such file or folder."""
    beside = folder
    for name in PATH.findall(cell):
        options = [os.path.normpath(f"{base}/{name}") for base in (folder, beside, ".")]
        path = next((option for option in options if any(root.glob(option))), None)
        beside = beside if path is None else os.path.dirname(path)
        yield name, path
