"""The tests of what was changed: `python -m tests.quick [COMMIT]` runs them.

A test file that was changed is run, and of a file of the code the test file that mirrors it, or else the tests of the
nearest mirrored folder above it that has some. A template or a script counts as a file of the code.
"""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LIMIT_S = 20  # seconds that one test may take: slower ones belong to `make test`


def find_changes(base: str) -> list[str]:
    """List files that differ from a commit, new ones included."""
    commands = (["diff", "--name-only", base], ["ls-files", "--others", "--exclude-standard"])
    outputs = [subprocess.check_output(["git", *words], cwd=ROOT, text=True) for words in commands]
    return sorted({line for output in outputs for line in output.splitlines()})


def find_tests(path: str) -> list[Path]:
    """Return the test files of a file; none of a page of text, or of one outside the code."""
    file = Path(path)
    if not (ROOT / file).is_file() or file.suffix == ".md":
        return []
    if file.parts[0] == "tests":
        return [file] if file.name.startswith("test_") and file.suffix == ".py" else []
    folder = Path("tests", *file.parent.parts)
    mirror = folder / f"test_{file.stem}.py"
    if (ROOT / mirror).is_file():
        return [mirror]
    return next(filter(None, map(_list, (folder, *folder.parents[: len(folder.parts) - 2]))), [])


def _list(folder: Path) -> list[Path]:
    return [path.relative_to(ROOT) for path in sorted((ROOT / folder).glob("test_*.py"))]


def main(base: str) -> int:
    """Run them, and return the exit status."""
    files = sorted({test for path in find_changes(base) for test in find_tests(path)})
    print(f"{len(files)} test files of what differs from {base}: {' '.join(map(str, files)) or 'none'}")
    if not files:
        return 0
    words = ["--quiet", "--numprocesses", "2", "--timeout", str(LIMIT_S), "--maxfail", "5"]
    return int(pytest.main([*words, *map(str, files)]))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:] or ["HEAD"]))
