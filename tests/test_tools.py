"""The tools of these tests: which tests are of a change, how shapes are checked, and the way of a question."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from beartype import BeartypeConf, beartype
from beartype.roar import BeartypeCallHintViolation
from jaxtyping import Float, Int
from torch import Tensor

from tests import scheduling
from tests.quick import ROOT, find_tests
from tests.shapes import with_checks
from tests.tiers import NAMES, PLACES, find_tier, is_left_out
from tests.way import MOST_FILES, measure, split


@pytest.mark.parametrize("area", ["clients", "models", "service"])
def test_every_file_of_the_code_has_tests(area: str) -> None:
    kinds = {".py", ".lua", ".html"}
    files = [path.relative_to(ROOT) for path in sorted((ROOT / area).rglob("*")) if path.suffix in kinds]
    assert files
    assert [str(file) for file in files if not find_tests(str(file))] == []


def test_the_nearest_tests_are_those_of_a_file() -> None:
    assert find_tests("clients/python/errata/files.py") == [Path("tests/clients/python/errata/test_files.py")]
    assert find_tests("README.md") == []


@pytest.mark.parametrize("shortest_first", [False, True])
def test_files_are_run_whole_and_by_the_seconds_that_they_took(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shortest_first: bool
) -> None:
    monkeypatch.setattr(scheduling, "RECORD", tmp_path / "seconds.json")
    scheduling.RECORD.write_text('{"tests/b.py": 9}')
    items: list[Any] = [SimpleNamespace(nodeid=f"tests/{test}") for test in ("a.py::1", "b.py::1", "a.py::2")]
    scheduling.sort_tests(items, shortest_first)
    names = "".join(item.nodeid[6] for item in items)
    assert names == ("aab" if shortest_first else "baa")


check: Callable[..., Any] = with_checks(typechecker=beartype(conf=BeartypeConf(is_pep484_tower=True)))


@check
def multiply(
    rows: Float[Tensor, "row inner"], columns: Float[Tensor, "inner column"], transpose: bool = False
) -> Float[Tensor, "row column"]:
    product = rows @ columns
    return product.T if transpose else product


@check
@dataclass
class Batch:
    ids: Int[Tensor, "sentence token"]
    lengths: Int[Tensor, " sentence"]


@check
def shout(word: str) -> str:
    return word.upper()


def test_what_fits_is_let_through() -> None:
    assert multiply(torch.ones(2, 3), torch.ones(3, 4)).shape == (2, 4)
    assert multiply(torch.ones(5, 1), columns=torch.ones(1, 5), transpose=True).shape == (5, 5)
    assert Batch(torch.ones(2, 3, dtype=torch.long), lengths=torch.ones(2, dtype=torch.long)).ids.shape == (
        2,
        3,
    )
    assert shout("peru") == "PERU"


@pytest.mark.parametrize(
    "call",
    [
        lambda: multiply(torch.ones(2, 3), torch.ones(4, 3)),
        lambda: multiply(torch.ones(2, 3), torch.ones(3)),
        lambda: multiply(torch.ones(2, 3), torch.ones(3, 4, dtype=torch.long)),
        lambda: multiply(torch.ones(2, 3), torch.ones(3, 4), transpose=True),
        lambda: Batch(torch.ones(2, 3, dtype=torch.long), torch.ones(3, dtype=torch.long)),
        lambda: shout(7),
    ],
)
def test_what_does_not_fit_fails(call: Callable[[], object]) -> None:
    with pytest.raises(BeartypeCallHintViolation):
        call()
    assert multiply(torch.ones(1, 2), torch.ones(2, 1)).shape == (1, 1), (
        "the sizes of that call are forgotten"
    )


async def test_no_request_enters_more_files_than_it_did() -> None:
    ways = await measure()
    assert {name: len(split(files)[1]) <= MOST_FILES[name] for name, files in ways.items()} == {
        "a question": True,
        "an edit": True,
    }, ways


def test_every_test_is_in_a_tier_and_every_place_of_a_tier_is_there() -> None:
    places = [place for places in PLACES.values() for place in places]
    assert [place for place in places if not (ROOT / place).exists()] == []
    tiers = {find_tier(path.relative_to(ROOT).as_posix()) for path in (ROOT / "tests").rglob("test_*.py")}
    assert tiers == {*NAMES, "apart"}
    file = ROOT / "tests/cluster/test_kills.py"
    assert [is_left_out(file, tier) for tier in (*NAMES, None)] == [True, True, False, False]
