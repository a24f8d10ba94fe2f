"""What a cell is keyed by: code, not its comments."""

from pathlib import Path

import pytest

from tests.bench.editing_methods import digests


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module `models.first`, which imports `models.second`."""
    (tmp_path / "models").mkdir()
    for name in ("__init__", "second"):
        (tmp_path / f"models/{name}.py").write_text("A = 1\n")
    path = tmp_path / "models/first.py"
    path.write_text(
        '"""About it."""\nfrom models.second import A\n\n\ndef f():\n    """Return it."""\n    return A\n'
    )
    monkeypatch.setattr(digests, "ROOT", tmp_path)
    digests._read.cache_clear()
    return path


@pytest.fixture(autouse=True)
def _forget_modules() -> None:
    digests._read.cache_clear()


def digest(*not_followed: str) -> str:
    digests._read.cache_clear()
    return digests.digest_code(["models.first"], not_followed)


def test_a_comment_a_docstring_or_a_layout_changes_no_digest(module: Path) -> None:
    before = digest()
    module.write_text("from models.second import (\n    A,\n)\n# A comment.\ndef f(): return A\n")
    assert digest() == before


@pytest.mark.parametrize("name", ["first", "second"])
def test_code_changes_the_digest_of_its_module_and_of_those_that_import_it(module: Path, name: str) -> None:
    before = digest()
    path = module.with_name(f"{name}.py")
    path.write_text(path.read_text() + "B = 2\n")
    assert digest() != before


def test_a_module_that_is_not_followed_counts_without_its_imports(module: Path) -> None:
    assert digests.find_imports(["models.first"]) == {"models.first", "models.second"}
    before = digest("models.first")
    (module.with_name("second.py")).write_text("A = 2\n")
    assert digest("models.first") == before
    module.write_text(module.read_text() + "B = 2\n")
    assert digest("models.first") != before


def test_a_name_that_is_no_module_is_refused() -> None:
    with pytest.raises(AssertionError, match=r"models\.nowhere"):
        digests.digest_code(["models.nowhere"])
