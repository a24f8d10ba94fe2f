"""The Python files of the project, in the working tree or at a revision, and the areas that they belong to."""

import ast
import io
import subprocess
import tarfile
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path, PurePath

ROOT = Path(__file__).parents[2]
AREAS = {
    "service": "service/",
    "client": "clients/",
    "models": "models/",
    "tests": "tests/",
}
TRAINING = "models/training/"  # makes checkpoints and packs, and is not served


def read_working_tree() -> dict[str, str]:
    """Return the text of each Python file that git knows or does not ignore, by path."""
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.py"]
    paths = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    return {path: (ROOT / path).read_text("utf-8") for path in sorted(set(paths)) if (ROOT / path).exists()}


def read_revision(name: str) -> dict[str, str]:
    """Return the text of each Python file of a git revision, by path."""
    archive = subprocess.run(["git", "archive", name], cwd=ROOT, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        members = [member for member in tar if member.isfile() and member.name.endswith(".py")]
        return {member.name: tar.extractfile(member).read().decode() for member in members}  # type: ignore[union-attr]


def select_area(sources: Mapping[str, str], prefix: str) -> dict[str, str]:
    """Keep the files below a prefix, without those of the training."""
    return {
        path: text
        for path, text in sources.items()
        if path.startswith(prefix) and not path.startswith(TRAINING)
    }


def folder_of(path: str) -> str:
    """Return the folder of a path, "." for the root."""
    return str(PurePath(path).parent)


def without_tests(sources: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield path and text of each file that is not a test."""
    return ((path, text) for path, text in sources.items() if not path.startswith("tests/"))


@cache
def parse(text: str) -> ast.Module:
    """Parse a file once for all rules that read it."""
    return ast.parse(text)
