"""The files of a pack as tables and rows; a fault is reported by file and line.

The format is described in world/README.md.
"""

import hashlib
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FILES = ("relations.toml", "entities.tsv", "facts.tsv", "strangers.tsv", "probe.tsv")  # all but pack.toml


class PackError(ValueError):
    """A pack cannot be used. The message is one sentence: the place, the fault, the remedy."""


def check(holds: bool, where: str, problem: str) -> None:
    if not holds:
        raise PackError(f"{where}: {problem}.")


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def digests(folder: Path) -> dict[str, str]:
    """Compute the SHA-256 of each file that the pack has, whether or not its pack.toml states them."""
    return {name: digest(folder / name) for name in FILES if (folder / name).is_file()}


def rows(path: Path, columns: tuple[str, ...], optional: bool = False) -> Iterator[tuple[str, list[str]]]:
    """Yield "file:line" and the fields of each line after the header. Fields are separated by tabs, without quotes."""
    if not path.is_file():
        check(optional, f"{path}:1", "the file is missing: a pack needs it")
        return
    lines = _text(path).split("\n")
    has_header = lines[0] == "\t".join(columns)
    check(has_header, f"{path}:1", f"the header must be {', '.join(columns)}: write it so")
    for number, line in enumerate(lines[1:], 2):
        if not line and number == len(lines):
            return
        fields = line.split("\t")
        where = f"{path}:{number}"
        check(len(fields) == len(columns), where, f"expected {len(columns)} columns: check the tabs")
        yield where, fields


def toml(path: Path) -> dict[str, Any]:
    check(path.is_file(), f"{path}:1", "the file is missing: a pack needs it")
    try:
        return tomllib.loads(_text(path))
    except tomllib.TOMLDecodeError as error:
        raise PackError(f"{path}: not valid TOML ({error}): mend it.") from error


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise PackError(f"{path}: not UTF-8 at byte {error.start}: save it as UTF-8.") from error
