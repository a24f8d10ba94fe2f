"""How the bank's rows follow from its base and the active edits: a pure function, so undo is exact.

Gated: each edit owns its block, and the image is the union of the active ones. Surgery: base plus deltas in ledger
order (specs: Dai et al., eq. 12). Nothing here looks at edits that are not active.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import torch
from torch import Tensor

from models.memory import Block, Image, Material
from models.nkb.decode import Decoder

Place = tuple[int, int]  # layer, slot
Rows = Mapping[int, tuple[Tensor, Tensor]]  # layer -> slots that surgery moved, and their rows


def fold(base: Image, decoder: Decoder, active: Sequence[Material]) -> Image:
    """The image of the active materials. The order of the sequence does not matter, that of the blocks does."""
    ordered = sorted((material.block for material in active), key=lambda block: block.order)
    blocks = {block.key: block for block in ordered if block.kind == "gated"}
    for place, deltas in _by_place(ordered).items():
        block = _value_block(decoder, place, deltas)
        blocks[block.key] = block
    return Image(base.base, blocks)


def _by_place(ordered: Sequence[Block]) -> dict[Place, list[tuple[str, Tensor]]]:
    places: dict[Place, list[tuple[str, Tensor]]] = defaultdict(list)
    for block in ordered:
        if block.kind == "delta":
            places_of = zip(block.tensors["layers"].tolist(), block.tensors["slots"].tolist(), strict=True)
            for place, delta in zip(places_of, block.tensors["deltas"], strict=True):
                places[place].append((block.key.removeprefix("edit/"), delta))
    return places


def _value_block(decoder: Decoder, place: Place, deltas: Sequence[tuple[str, Tensor]]) -> Block:
    layer, slot = place
    row = stored_rows(decoder, layer)[slot].clone()
    for _, delta in deltas:
        row += delta
    edits = "+".join(dict.fromkeys(edit for edit, _ in deltas))
    tensors = {"layer": torch.tensor(layer), "slot": torch.tensor(slot), "row": row}
    return Block(f"value/{layer:02d}/{slot:05d}/{edits}", 0, "value", tensors)


def stored_rows(decoder: Decoder, layer: int) -> Tensor:
    bank = decoder.layers[layer].feed_forward.slots
    assert bank is not None, f"layer {layer} has no bank"
    return bank.stored


def value_rows(
    blocks: Sequence[Block],
) -> tuple[Rows, Mapping[Place, tuple[str, ...]]]:
    """Value blocks as a read: per layer the slots and rows; and for each place the edits that moved it."""
    layers: dict[int, tuple[list[int], list[Tensor]]] = defaultdict(lambda: ([], []))
    operated: dict[Place, tuple[str, ...]] = {}
    for block in blocks:
        layer, slot = int(block.tensors["layer"]), int(block.tensors["slot"])
        layers[layer][0].append(slot)
        layers[layer][1].append(block.tensors["row"])
        operated[layer, slot] = tuple(_edits(block.key))
    values = {layer: (torch.tensor(slots), torch.stack(rows)) for layer, (slots, rows) in layers.items()}
    return values, operated


def same_rows(one: Rows, other: Rows) -> bool:
    """Bit for bit."""
    return one.keys() == other.keys() and all(
        torch.equal(mine, theirs)
        for layer in one
        for mine, theirs in zip(one[layer], other[layer], strict=True)
    )


def _edits(key: str) -> Iterator[str]:
    yield from key.split("/")[-1].split("+")
