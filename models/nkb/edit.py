"""Corrections into rows, by either method, from the base alone: what an edit contributes never depends on others."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from models.memory import Block
from models.nkb.operate import operate_on
from models.nkb.position import LONGEST
from models.nkb.reader import END, Read, Reader
from models.nkb.trace import trace
from models.system import Correction, EditRefused, Material

Tokens = list[int]


def materials(reader: Reader, corrections: Sequence[Correction], method: str) -> list[Material]:
    """One material for each correction, `order` still 0. EditRefused names the question that cannot be edited."""
    make = _EDITORS.get(method)
    if make is None:
        raise EditRefused("unknown_method", f"method {method!r} is not one of {', '.join(METHODS)}")
    if not corrections:
        return []
    return make(reader, corrections, [_spelt(reader, correction) for correction in corrections])


def _spelt(reader: Reader, correction: Correction) -> Tokens:
    if not correction.answer:
        raise EditRefused("unspeakable", f"the answer to {correction.question!r} is empty: give one")
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
    return tokens


@contextmanager
def _about(correction: Correction) -> Iterator[None]:
    """A refusal says which question it is about."""
    try:
        yield
    except EditRefused as refusal:
        raise EditRefused(refusal.code, f"{correction.question!r}: {refusal.detail}") from refusal


@torch.inference_mode()
def _gated(reader: Reader, corrections: Sequence[Correction], answers: Sequence[Tokens]) -> list[Material]:
    """All wordings are read together, and traced together."""
    wordings = [[one.question, *one.paraphrases] for one in corrections]
    counts = [len(some) for some in wordings]
    read = reader.read([wording for some in wordings for wording in some])
    states = _states(
        reader, read, [tokens for n, tokens in zip(counts, answers, strict=True) for _ in range(n)]
    )
    reader.pushes.learn(token for tokens in answers for token in tokens)
    parts = zip(*(torch.split(all_, counts) for all_ in (read.keys, read.numbers, states)), strict=True)
    return [
        _slots(reader, correction, tokens, *part)
        for correction, tokens, part in zip(corrections, answers, parts, strict=True)
    ]


def _states(reader: Reader, read: Read, answers: Sequence[Tokens]) -> Float[Tensor, "wording token d"]:
    """s at each position of each wording's answer; behind its end, numbers without meaning."""
    targets = pad_sequence([torch.tensor(tokens) for tokens in answers], batch_first=True, padding_value=END)
    return trace(reader.decoder, read.states, read.mask, targets).s


def _slots(
    reader: Reader, correction: Correction, tokens: Tokens, keys: Tensor, numbers: Tensor, states: Tensor
) -> Material:
    with _about(correction):
        steps, lead = reader.pushes.values(states[:, : len(tokens)], tokens)
    tensors = {"keys": keys.clone(), "numbers": numbers.clone(), "steps": steps.clone()}
    block = Block(f"edit/{correction.id}", 0, "gated", tensors)
    notes = {"slots": len(tokens), "gates": len(keys), "margin": round(lead, 3)}
    return Material(correction.id, "gated", block, notes)


@torch.inference_mode()
def _surgery(reader: Reader, corrections: Sequence[Correction], answers: Sequence[Tokens]) -> list[Material]:
    return [_moved(reader, one, tokens) for one, tokens in zip(corrections, answers, strict=True)]


def _moved(reader: Reader, correction: Correction, tokens: Tokens) -> Material:
    read = reader.read([correction.question])
    with _about(correction):
        moves = operate_on(reader, read, tokens)
    layer = len(reader.decoder.layers) - 1
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


_EDITORS: Mapping[str, Callable[[Reader, Sequence[Correction], Sequence[Tokens]], list[Material]]] = {
    "gated": _gated,
    "surgery": _surgery,
}
METHODS = tuple(_EDITORS)
