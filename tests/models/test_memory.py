"""Blocks are named by their content, and an image forgets how it came to be."""

import gc
import hashlib

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import save

from models.blocks import Block, BlockError, Delta, Image
from models.versioned_blocks import KnownBlocks, VersionedBlocks


def block(name: str, order: int, value: float) -> Block:
    return Block.of(name, order, "gated", {"row": torch.tensor([value, -value])})


def test_a_block_comes_back_as_it_was() -> None:
    original = block("edit/a", 7, 1.5)
    back = Block.decode(original.encoded, key="edit/a", order=7, digest=original.digest)
    assert (back.key, back.order, back.kind) == (original.key, original.order, original.kind)
    assert torch.equal(back.tensors["row"], original.tensors["row"])


def test_altered_bytes_are_refused_by_name() -> None:
    original = block("edit/a", 7, 1.5)
    damaged_bytes = original.encoded[:-1] + bytes([original.encoded[-1] ^ 1])
    with pytest.raises(BlockError, match="edit/a"):
        Block.decode(damaged_bytes, key="edit/a", order=7, digest=original.digest)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\2\0\0\0\0\0\0\0{}",
        b"\x1f\0\0\0\0\0\0\0" + b'{"__metadata__":{"kind":"gate"}}',
        save({"row": torch.zeros(1)}),
        save({"row": torch.zeros(1)}, metadata={"sort": "gated"}),
    ],
)
def test_bytes_that_are_no_block_are_refused_by_name_though_their_digest_fits(data: bytes) -> None:
    digest = "sha256:" + hashlib.sha256(data).hexdigest()
    with pytest.raises(BlockError, match=f"edit/a.*{digest}"):
        Block.decode(data, key="edit/a", order=7, digest=digest)


def test_the_digest_knows_content_and_kind_but_not_the_place() -> None:
    assert block("a", 1, 2.0).digest == block("b", 9, 2.0).digest
    assert block("a", 1, 2.0).digest != block("a", 1, 3.0).digest
    assert Block.of("a", 1, "value", {"row": torch.tensor([2.0, -2.0])}).digest != block("a", 1, 2.0).digest


def test_a_delta_that_removes_what_is_not_there_is_our_own_mistake() -> None:
    with pytest.raises(KeyError):
        Image("base").apply(Delta(removes=("edit/a",)))


names = st.dictionaries(
    st.sampled_from("abcdef"), st.tuples(st.integers(0, 9), st.integers(0, 3)), max_size=6
)


def image(content: dict[str, tuple[int, int]]) -> Image:
    return Image("base", {name: block(name, order, float(value)) for name, (order, value) in content.items()})


@given(names, names)
def test_the_delta_between_two_images_leads_from_one_to_the_other(
    before: dict[str, tuple[int, int]], after: dict[str, tuple[int, int]]
) -> None:
    result = image(before).apply(image(before).delta_to(image(after)))
    assert result.checksum == image(after).checksum
    assert result.blocks.keys() == image(after).blocks.keys()
    assert not image(after).delta_to(result)


@given(names)
def test_the_checksum_does_not_depend_on_the_order_of_arrival(content: dict[str, tuple[int, int]]) -> None:
    backwards = Image("base", dict(reversed(image(content).blocks.items())))
    assert backwards.checksum == image(content).checksum


def test_the_checksum_depends_on_base_order_and_content() -> None:
    plain = image({"a": (1, 1), "b": (2, 2)})
    assert Image("other", plain.blocks).checksum != plain.checksum
    assert image({"a": (2, 1), "b": (1, 2)}).checksum != plain.checksum
    assert image({"a": (1, 1)}).checksum != plain.checksum


@given(st.lists(names, max_size=4))
def test_versions_that_share_their_blocks_are_what_each_is_alone(
    steps: list[dict[str, tuple[int, int]]],
) -> None:
    """Each version adds to the newest one or to an earlier one, and replaces blocks with an existing key."""
    versions = [image({"a": (1, 1)})]
    expected = [{"a": (1, 1)}]
    for number, step in enumerate(steps):
        start = number // 2
        puts = tuple(image(step).blocks.values())
        versions.append(versions[start].apply(Delta(puts)))
        expected.append(expected[start] | step)
    for version, content in zip(versions, expected, strict=True):
        assert version.checksum == image(content).checksum
        assert dict(version.blocks) == dict(image(content).blocks)
        assert [block.key for block in version.ordered_blocks] == [
            block.key for block in image(content).ordered_blocks
        ]
        for other, other_content in zip(versions, expected, strict=True):
            assert version.apply(version.delta_to(other)).checksum == image(other_content).checksum


def test_a_version_that_adds_shares_the_blocks_of_the_one_before() -> None:
    before = Image("base").apply(Delta((block("a", 1, 1.0),)))
    after = before.apply(Delta((block("b", 2, 2.0),)))
    assert isinstance(after.blocks, VersionedBlocks)
    assert isinstance(before.blocks, VersionedBlocks)
    assert after.blocks.in_order.starts_with(before.blocks.in_order)
    assert list(before.blocks) == ["a"]
    assert "b" not in before.blocks


def test_a_draft_that_was_given_up_leaves_nothing_behind() -> None:
    before = Image("base").apply(Delta((block("a", 1, 1.0),)))
    draft = before.apply(Delta((block("x", 2, 9.0),)))
    beside = before.apply(Delta((block("b", 2, 2.0),)))
    assert (list(draft.blocks), list(beside.blocks)) == (["a", "x"], ["a", "b"])
    again = before.apply(Delta((block("x", 2, 9.0),)))
    assert again.ordered_blocks.shares_list(draft.ordered_blocks)
    del draft, again
    gc.collect()
    after = before.apply(Delta((block("c", 3, 3.0),)))
    assert after.ordered_blocks.shares_list(before.ordered_blocks)
    assert list(after.blocks) == ["a", "c"]
    assert "x" not in after.blocks


def test_known_blocks_are_those_of_versions_that_are_used_and_of_the_same_content() -> None:
    known_blocks, a, b = KnownBlocks(), block("a", 1, 1.0), block("b", 2, 2.0)
    version = Image("base").apply(Delta((a, b)))
    known_blocks.add(version.versioned_blocks)
    entries = [("a", 1, a.digest), ("b", 2, a.digest), ("b", 3, b.digest), ("c", 4, a.digest)]
    assert known_blocks.find(entries) == [a, None, None, None]
    del version
    gc.collect()
    assert known_blocks.find(entries) == [None] * 4


def test_blocks_of_the_same_shapes_share_a_header() -> None:
    first, second, longer = (
        block("a", 1, 1.0),
        block("b", 2, 2.0),
        Block.of("c", 3, "gated", {"row": torch.ones(3)}),
    )
    assert first.header is second.header
    assert first.header is not longer.header
