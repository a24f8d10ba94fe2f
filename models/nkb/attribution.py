"""Which surgery an answer rests on, decided by its effect: a moved slot that fires says nothing by itself.

An answer rests on surgery when the base says something else. Then it rests on the edits that moved a slot which
fires most at one of its tokens, for that slot is the one equation 12 chooses; and when none of those was moved, on
all edits whose slots fired.
"""

from collections.abc import Iterator, Mapping

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from models.nkb.answers import Decoded
from models.nkb.fold import Place
from models.nkb.reader import END, Read, Reader
from models.nkb.trace import trace

Moved = Mapping[Place, tuple[str, ...]]


def rests_on(
    reader: Reader, read: Read, said: Mapping[int, Decoded], moved: Mapping[int, Moved], max_tokens: int
) -> dict[int, tuple[str, ...]]:
    """Edits by row of the batch, for the rows of `moved`: the edits of each slot moved there, and what was said."""
    fired = _fired(reader, read, {row: said[row] for row in moved})
    found = {row: tuple(dict.fromkeys(_edits(reader, weights, moved[row]))) for row, weights in fired.items()}
    rows = [row for row, edits in found.items() if edits]
    if not rows:
        return {}
    base = reader.decoder.generate(read.states[rows], read.mask[rows], max_tokens=max_tokens)
    return {row: found[row] for row, one in zip(rows, base, strict=True) if one.tokens != said[row].tokens}


def _fired(reader: Reader, read: Read, said: Mapping[int, Decoded]) -> dict[int, Float[Tensor, "token slot"]]:
    """The slot weights at each token of what was said, the end token included."""
    if not said:
        return {}
    rows, tokens = list(said), [torch.tensor([*one.tokens, END]) for one in said.values()]
    targets = pad_sequence(tokens, batch_first=True, padding_value=END)
    weights = trace(reader.decoder, read.states[rows], read.mask[rows], targets).a
    return {row: one[: len(own)] for row, one, own in zip(rows, weights, tokens, strict=True)}


def _edits(reader: Reader, weights: Float[Tensor, "token slot"], moved: Moved) -> Iterator[str]:
    layer = len(reader.decoder.layers) - 1
    tops = dict.fromkeys(weights.argmax(-1).tolist())
    fired = weights.amax(0) > 0
    leading = [edit for slot in tops for edit in moved.get((layer, slot), ())]
    yield from leading or [edit for (_, slot), edits in moved.items() if fired[slot] for edit in edits]
