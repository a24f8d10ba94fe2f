"""Both paths of attention agree, reduce to plain attention, and treat queries without keys as they are asked to."""

import pytest
import torch
import torch.nn.functional as F
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
def test_each_head_has_its_mask(path: Path) -> None:
    mask, (query, key, value) = random_mask(0.3, heads=3), inputs(2, 3)
    expected = F.scaled_dot_product_attention(query, key, value, attn_mask=mask.additive("inf"), scale=SCALE)
    assert not len(mask.empty_rows)
    torch.testing.assert_close(attend(query, key, value, mask, SCALE, path=path), expected, atol=1e-6, rtol=0)


@pytest.mark.parametrize("path", PATHS)
def test_gradients_are_those_of_the_definition(path: Path) -> None:
    """Queries without keys among them: they pass no gradient on, and none that is not a number."""
    mask = random_mask(0.04)
    assert len(mask.empty_rows)
    parts = [part.requires_grad_() for part in inputs(dtype=torch.float64)]
    gradients = torch.autograd.grad(attend(*parts, mask, SCALE, path=path).square().sum(), parts)
    query, key, value = parts
    powers = torch.exp(query @ key.mT * SCALE) * mask.allowed
    expected = powers @ value / powers.sum(1, keepdim=True).clamp(min=1e-300)
    for actual, reference in zip(gradients, torch.autograd.grad(expected.square().sum(), parts), strict=True):
        torch.testing.assert_close(actual, reference, atol=1e-10, rtol=0)


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


def test_rows_are_dropped_only_where_heads_agree() -> None:
    heads = "attend(H,I,J) <= eq(H,0), lt(J,I)\nattend(1,I,J) <= "
    query, key, value = inputs(2)
    one_row, one_head = (
        compile_mask(heads + body, Shape.square(LENGTH, 2)) for body in ("causal", "lt(J,I), geq(J,I)")
    )
    with pytest.raises(ValueError, match="heads differ in the queries that have no key"):
        attend(query, key, value, one_row, SCALE, "drop")
    with pytest.raises(ValueError, match="heads differ"):
        attend(query, key, value, one_head, SCALE, "drop")
    same = compile_mask(heads + "next(J,I)", Shape.square(LENGTH, 2))
    assert attend(query, key, value, same, SCALE, "drop").shape == (2, LENGTH - 1, 5)


def test_queries_and_keys_may_differ_in_number() -> None:
    """Three states of a memory before a segment of four tokens, the last one padding."""
    facts = Facts({"real": Relation(torch.arange(3)[:, None])})
    mask = compile_mask("attend(I,J) <= segment_memory(3)", Shape(queries=4, keys=7), facts)
    query, key, value = torch.randn(4, SIZE), torch.randn(7, SIZE), torch.randn(7, 5)
    expected = torch.softmax(query[:3] @ key[:6].T * SCALE, -1) @ value[:6]
    for path in PATHS:
        actual = attend(query, key, value, mask, SCALE, path=path)
        torch.testing.assert_close(actual[:3], expected, atol=1e-6, rtol=0)
        assert actual[3].eq(0).all()
