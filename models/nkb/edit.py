"""Corrections into rows, by either method, from the base alone: what an edit contributes never depends on others."""

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from models.memory import Block
from models.nkb.operate import operate_on
from models.nkb.position import LONGEST
from models.nkb.reader import Read, Reader
from models.nkb.trace import trace
from models.system import Correction, EditRefused, Material

CHUNK = 32  # corrections read together


def materials(reader: Reader, corrections: Sequence[Correction], method: str) -> list[Material]:
    """One material for each correction, `order` still 0. EditRefused names the question that cannot be edited."""
    make = _EDITORS.get(method)
    if make is None:
        raise EditRefused("unknown_method", f"method {method!r} is not one of {', '.join(METHODS)}")
    return [_made(make, reader, correction) for correction in corrections]


def _made(
    make: Callable[[Reader, Correction, list[int]], Material], reader: Reader, correction: Correction
) -> Material:
    tokens = reader.spell(correction.answer)
    if len(tokens) > LONGEST:
        raise EditRefused(
            "answer_too_long",
            f"the answer to {correction.question!r} takes {len(tokens)} tokens, the decoder says {LONGEST}",
        )
    if reader.say(tokens[:-1]) != correction.answer:
        raise EditRefused(
            "unspeakable",
            f"{correction.question!r}: the answer {correction.answer!r} cannot be said to the letter; "
            "leave out spaces around it",
        )
    try:
        return make(reader, correction, tokens)
    except EditRefused as refusal:
        raise EditRefused(refusal.code, f"{correction.question!r}: {refusal.detail}") from refusal


@torch.inference_mode()
def _gated(reader: Reader, correction: Correction, tokens: list[int]) -> Material:
    read = reader.read([correction.question, *correction.paraphrases])
    states = _states(reader, read, tokens)
    steps, margin = reader.pushes.values(
        [torch.cat([states[:, step], reader.reference]) for step in range(len(tokens))],
        tokens,
    )
    block = Block(
        f"edit/{correction.id}",
        0,
        "gated",
        {"keys": read.keys.clone(), "numbers": read.numbers, "steps": steps.clone()},
    )
    return Material(
        correction.id,
        "gated",
        block,
        {"slots": len(tokens), "gates": len(read.keys), "margin": round(margin, 3)},
    )


def _states(reader: Reader, read: Read, tokens: list[int]) -> Tensor:
    """s at each position of the answer, for each wording: [wording, token, d]."""
    targets = torch.tensor([tokens]).expand(len(read.keys), -1)
    return trace(reader.decoder, read.states, read.mask, targets).s


@torch.inference_mode()
def _surgery(reader: Reader, correction: Correction, tokens: list[int]) -> Material:
    read = reader.read([correction.question])
    layer = len(reader.decoder.layers) - 1
    moves = operate_on(reader, read, tokens)
    tensors = {
        "layers": torch.full((len(moves),), layer),
        "slots": torch.tensor([move.slot for move in moves]),
        "deltas": torch.stack([move.delta for move in moves]).clone(),
    }
    notes: Mapping[str, object] = {
        "slots": len({move.slot for move in moves}),
        "moved": [{"slot": m.slot, "weight": round(m.weight, 4), "lambda": round(m.scale, 4)} for m in moves],
    }
    return Material(correction.id, "surgery", Block(f"edit/{correction.id}", 0, "delta", tensors), notes)


_EDITORS: Mapping[str, Callable[[Reader, Correction, list[int]], Material]] = {
    "gated": _gated,
    "surgery": _surgery,
}
METHODS = tuple(_EDITORS)
