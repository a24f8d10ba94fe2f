"""`make quick` runs tests for every file of the code."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.quick import ROOT, find_tests


@pytest.mark.parametrize("area", ["clients", "models", "service"])
def test_every_file_of_the_code_has_tests(area: str) -> None:
    kinds = {".py", ".lua", ".html"}
    files = [path.relative_to(ROOT) for path in sorted((ROOT / area).rglob("*")) if path.suffix in kinds]
    assert files
    assert [str(file) for file in files if not find_tests(str(file))] == []


def test_the_nearest_tests_are_those_of_a_file() -> None:
    assert find_tests("clients/python/errata/files.py") == [Path("tests/clients/python/errata/test_files.py")]
    assert find_tests("README.md") == []
