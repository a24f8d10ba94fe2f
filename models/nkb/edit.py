"""AnswerChanges into rows, by either method, from the base alone: what an edit contributes never depends on others."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import accumulate

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from models.editors.gated import Places, solve
from models.memory import AnswerChange, Block, EditRefused, Material
from models.nkb.operate import operate_on
from models.nkb.position import LONGEST
from models.nkb.reader import END, Read, Reader
from models.nkb.trace import trace
from models.scope.keys import QuestionKeys
from models.scope.warnings import wording_warnings

Tokens = list[int]
Reads = Callable[[Sequence[str]], Read]  # as `Reader.read`; what was read lately need not be read again


def materials(
    reader: Reader, reads: Reads, changes: Sequence[AnswerChange], method: str, scale: float | None = None
) -> list[Material]:
    """One material for each change, `order` still 0. EditRefused names the question that cannot be edited.

    scale: lambda of surgery; None takes the smallest that brings the answer out.
    """
    if not changes:
        return []
    answers = [_spelt(reader, change) for change in changes]
    if method == "surgery":
        return _surgery(reader, reads, changes, answers, scale)
    if scale is not None:
        raise EditRefused("bad_lambda", "only the method 'surgery' takes a lambda: leave it out")
    return _gated(reader, reads, changes, answers)


def _spelt(reader: Reader, correction: AnswerChange) -> Tokens:
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
def _about(correction: AnswerChange) -> Iterator[None]:
    """A refusal says which question it is about."""
    try:
        yield
    except EditRefused as refusal:
        raise EditRefused(refusal.code, f"{correction.question!r}: {refusal.detail}") from refusal


@torch.inference_mode()
def _gated(
    reader: Reader, reads: Reads, corrections: Sequence[AnswerChange], answers: Sequence[Tokens]
) -> list[Material]:
    """All wordings are read together and traced together, and all values are solved together."""
    for correction, tokens in zip(corrections, answers, strict=True):
        _reachable(reader, correction, tokens)
    wordings = [[one.question, *one.paraphrases] for one in corrections]
    counts = [len(some) for some in wordings]
    read = reads([wording for some in wordings for wording in some])
    places = _places(reader, read, counts, answers)
    lengths = [len(tokens) for tokens in answers]
    decoder = reader.decoder
    values, leads = solve(decoder.head_weight, decoder.epsilon, reader.pushes, places, sum(lengths))
    parts = zip(
        corrections,
        torch.split(values, lengths),
        torch.split(leads, lengths),
        read.question_keys.split(counts),
        strict=True,
    )
    return [_slots(reader, *part) for part in parts]


def _reachable(reader: Reader, correction: AnswerChange, tokens: Tokens) -> None:
    lost = [token for token in tokens if reader.pushes.gaps[token] <= 0]
    if lost:
        detail = f"token {lost[0]} of the answer cannot win; write the answer differently"
        raise EditRefused("unreachable", f"{correction.question!r}: {detail}")


def _places(reader: Reader, read: Read, counts: Sequence[int], answers: Sequence[Tokens]) -> Places:
    """s at each position of each wording's answer; a position of an edit's answer has one value for all wordings."""
    starts = accumulate((len(tokens) for tokens in answers), initial=0)
    told = [
        (torch.tensor(tokens), torch.arange(start, start + len(tokens)))
        for tokens, start, count in zip(answers, starts, counts, strict=False)
        for _ in range(count)
    ]
    targets = pad_sequence([tokens for tokens, _ in told], batch_first=True, padding_value=END)
    lengths = torch.tensor([len(tokens) for tokens, _ in told])
    real = torch.arange(targets.shape[1]) < lengths[:, None]
    states = trace(reader.decoder, read.states, read.mask, targets).s[real]
    return Places(states, targets[real], torch.cat([rows for _, rows in told]))


def _slots(
    reader: Reader, correction: AnswerChange, steps: Tensor, leads: Tensor, gates: QuestionKeys
) -> Material:
    keys = gates.keys
    read = {"keys": keys.clone(), "numbers": gates.numbers.clone(), "words": gates.words.clone()}
    tensors = {**read, "steps": steps.clone()}
    block = Block(f"edit/{correction.id}", 0, "gated", tensors)
    notes: dict[str, object] = {
        "slots": len(steps),
        "gates": len(keys),
        "margin": round(float(leads.min()), 3),
    }
    wordings = (correction.question, *correction.paraphrases)
    warnings = list(wording_warnings(reader.scope, reader.kinds, wordings, keys))
    return Material(correction.id, "gated", block, {**notes, "warnings": warnings} if warnings else notes)


@torch.inference_mode()
def _surgery(
    reader: Reader,
    reads: Reads,
    changes: Sequence[AnswerChange],
    answers: Sequence[Tokens],
    scale: float | None,
) -> list[Material]:
    return [
        _moved(reader, reads([change.question]), change, tokens, scale)
        for change, tokens in zip(changes, answers, strict=True)
    ]


def _moved(
    reader: Reader, read: Read, correction: AnswerChange, tokens: Tokens, scale: float | None
) -> Material:
    with _about(correction):
        moves = operate_on(reader, read, tokens, scale)
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
