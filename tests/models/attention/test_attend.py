"""Both paths of attention agree, reduce to plain attention, and treat queries without keys as they are asked to."""

import pytest
import torch
from torch import Tensor

from models.attention.attend import SPARSE_BELOW, EmptyRow, Path, attend
from models.attention.mask import Mask, compile_mask
from models.attention.pairs import Shape
from models.attention.rules.facts import Facts, Relation

PATHS: tuple[Path, ...] = ("dense", "pairs")
LENGTH, SIZE, SCALE = 40, 8, 8**-0.5


def random_mask(share: float, heads: int | None = None) -> Mask:
    axes = (LENGTH, LENGTH) if heads is None else (heads, LENGTH, LENGTH)
    facts = Facts({"vis": Relation((torch.rand(axes) < share).nonzero())})
    terms = "I,J" if heads is None else "H,I,J"
    return compile_mask(f"attend({terms}) <= hidden.vis({terms})", Shape.square(LENGTH, heads), facts)


def inputs(*batch: int, dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor, Tensor]:
    query, key, value = torch.randn(3, *batch, LENGTH, SIZE, dtype=dtype)
    return query, key, value[..., :5]


@pytest.mark.parametrize("share", [0.03, 0.2, 0.9])
@pytest.mark.parametrize("batch", [(), (3,), (2, 3)])
def test_both_paths_agree(share: float, batch: tuple[int, ...]) -> None:
    mask, parts = random_mask(share), inputs(*batch)
    dense, sparse = (attend(*parts, mask, SCALE, path=path) for path in PATHS)
    assert dense.shape == (*batch, LENGTH, 5)
    torch.testing.assert_close(sparse, dense, atol=1e-6, rtol=0)
    auto = attend(*parts, mask, SCALE)
    assert auto.equal(sparse if mask.density < SPARSE_BELOW else dense)


@pytest.mark.parametrize("path", PATHS)
def test_a_rule_that_allows_everything_is_plain_attention(path: Path) -> None:
    query, key, value = inputs(2)
    mask = compile_mask("attend(I,J) <= true", Shape.square(LENGTH))
    expected = torch.softmax(query @ key.mT * SCALE, -1) @ value
    torch.testing.assert_close(attend(query, key, value, mask, SCALE, path=path), expected, atol=1e-6, rtol=0)


@pytest.mark.parametrize("path", PATHS)
def test_a_query_without_keys_is_zero_dropped_or_nearly_an_average(path: Path) -> None:
    mask, (query, key, value) = compile_mask("attend(I,J) <= lt(J,I)", Shape.square(LENGTH)), inputs()

    def run(empty_row: EmptyRow) -> Tensor:
        return attend(query, key, value, mask, SCALE, empty_row, path)

    assert mask.empty_rows.tolist() == [[0]]
    assert run("zero")[0].eq(0).all()
    assert run("drop").equal(run("zero")[1:])
    authors = torch.softmax(query @ key.mT * SCALE + mask.additive("uer"), -1) @ value
    torch.testing.assert_close(
        run("uniform"), authors, atol=2e-3, rtol=0
    )  # scores near -10000 keep four digits
    torch.testing.assert_close(run("uniform")[1:], run("zero")[1:], atol=1e-6, rtol=0)
