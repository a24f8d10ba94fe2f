"""Which surgery an answer rests on: the edits that moved the slot which fires most when the answer begins.

That slot is the one equation 12 chooses, so a question whose top slot was moved reads what the edit wrote.
"""

from collections.abc import Mapping, Sequence

import torch

from models.nkb.reader import Read, Reader
from models.nkb.trace import trace

Place = tuple[int, int]


def operated_on(
    reader: Reader, read: Read, rows: Sequence[int], moved: Sequence[Mapping[Place, tuple[str, ...]]]
) -> dict[int, tuple[str, ...]]:
    """By row of the batch, the edits it rests on. moved[i]: for rows[i], the edits of each moved slot."""
    if not rows:
        return {}
    chosen = list(rows)
    first = torch.full((len(chosen), 1), reader.decoder.start)
    weights = trace(reader.decoder, read.states[chosen], read.mask[chosen], first).a[:, 0]
    layer = len(reader.decoder.layers) - 1
    tops = weights.argmax(-1).tolist()
    return {row: places.get((layer, top), ()) for row, top, places in zip(chosen, tops, moved, strict=True)}
