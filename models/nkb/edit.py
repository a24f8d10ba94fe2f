"""Corrections become rows, and rows an image of the bank, by pure functions, so undo is exact.

The rows of an edit follow from the base alone and never depend on other edits. A gated edit owns its block, and the
image is the union of the active blocks. Surgery adds deltas to the base in ledger order (Dai et al., equation 12).
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from models.blocks import Block, Image, block_key
from models.kit.batching import by_length
from models.memory import AnswerChange, EditRefused, Material
from models.nkb.decode import Decoder
from models.nkb.gated import Places, solve
from models.nkb.overlay import Place
from models.nkb.positions import LONGEST
from models.nkb.reader import END, Read, Reader
from models.nkb.surgery import apply_value_edit
from models.nkb.trace import trace
from models.scope.readings import Readings
from models.scope.warnings import wording_warnings
from models.scope.wordings.block import write_block

Tokens = list[int]
TOKENS_PER_PASS = 128  # tokens of answers that are traced together, padded to the longest of them
ReadQuestions = Callable[[Sequence[str]], Read]  # `Reader.read`, or its cached form


def materials(
    reader: Reader,
    read_questions: ReadQuestions,
    corrections: Sequence[AnswerChange],
    method: str,
    scale: float | None = None,
) -> list[Material]:
    """Build the material of each change, with `order` still 0.

    Args:
        method: `gated` or `surgery`.
        scale: Lambda of surgery; None takes the smallest that brings the answer out.

    EditRefused: a question cannot be edited; the text names it.
    """
    if not corrections:
        return []
    answers = [_spell(reader, correction) for correction in corrections]
    if method == "surgery":
        if any(correction.counterexamples for correction in corrections):
            raise EditRefused(
                "no_scope", "rows moved by surgery have no scope: leave the counterexamples out"
            )
        return _build_surgery(reader, read_questions, corrections, answers, scale)
    if scale is not None:
        raise EditRefused("bad_lambda", "only the method 'surgery' takes a lambda: leave it out")
    return _build_gated(reader, read_questions, corrections, answers)


def _spell(reader: Reader, correction: AnswerChange) -> Tokens:
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


@torch.inference_mode()
def _build_gated(
    reader: Reader,
    read_questions: ReadQuestions,
    corrections: Sequence[AnswerChange],
    answers: Sequence[Tokens],
) -> list[Material]:
    """Build gated edits: all wordings are read and traced together, and all values are solved together."""
    reader.pushes.prepare(token for tokens in answers for token in tokens)
    for correction, tokens in zip(corrections, answers, strict=True):
        impossible = [token for token in tokens if reader.pushes.gaps[token] <= 0]
        if impossible:
            detail = f"token {impossible[0]} of the answer cannot win; write the answer differently"
            raise EditRefused("unreachable", f"{correction.question!r}: {detail}")
    wordings = [correction.wordings for correction in corrections]
    counts, lengths = [len(texts) for texts in wordings], [len(tokens) for tokens in answers]
    read = read_questions([text for texts in wordings for text in texts])
    counterexamples = [text for correction in corrections for text in correction.counterexamples]
    against = read_questions(counterexamples).readings if counterexamples else read.readings.select([])
    decoder, places = reader.decoder, _places(reader, read, counts, answers)
    strengths, leads = solve(decoder.head_weight, decoder.epsilon, reader.pushes, places, sum(lengths))
    parts = zip(
        corrections,
        answers,
        torch.split(strengths, lengths),
        torch.split(leads, lengths),
        read.readings.split(counts),
        against.split([len(correction.counterexamples) for correction in corrections]),
        strict=True,
    )
    return [_gated_material(reader, *part) for part in parts]


def _places(reader: Reader, read: Read, counts: Sequence[int], answers: Sequence[Tokens]) -> Places:
    """Return s at each position of each wording's answer.

    A position of an edit's answer has one value for all its wordings.
    """
    starts = accumulate((len(tokens) for tokens in answers), initial=0)
    pairs = [
        (torch.tensor(tokens), torch.arange(start, start + len(tokens)))
        for tokens, start, count in zip(answers, starts, counts, strict=False)
        for _ in range(count)
    ]
    parts: list[Places] = []
    for group in by_length([len(tokens) for tokens, _ in pairs], TOKENS_PER_PASS):
        tokens, rows = zip(*(pairs[place] for place in group), strict=True)
        targets = pad_sequence([*tokens], batch_first=True, padding_value=END)
        is_real = torch.arange(targets.shape[1]) < torch.tensor([[len(part)] for part in tokens])
        device = read.states.device
        targets, is_real = targets.to(device), is_real.to(device)
        states = trace(reader.decoder, read.states[group], read.mask[group], targets).s[is_real]
        parts.append(Places(states, targets[is_real], torch.cat(rows).to(device)))
    return Places.concatenate(parts)


def _gated_material(
    reader: Reader,
    correction: AnswerChange,
    answer: Tokens,
    strengths: Tensor,
    leads: Tensor,
    readings: Readings,
    against: Readings,
) -> Material:
    """Make the material of one edit, a token and a strength for each step.

    The row that makes a token win is a direction of the base, scaled by the strength.
    """
    rows = {"tokens": torch.tensor(answer, dtype=torch.int32), "strengths": _on_cpu(strengths)}
    texts, n_against = (*correction.wordings, *correction.counterexamples), len(correction.counterexamples)
    scope = write_block(texts, Readings.concatenate([readings, against]), correction.replaces, n_against)
    block = Block.of(block_key(correction.id), 0, "gated", rows | scope)
    notes: dict[str, object] = {
        "slots": len(answer),
        "gates": len(correction.wordings),
        "margin": round(float(leads.min()), 3),
    }
    texts_of_curator = (correction.question, *correction.paraphrases)
    warnings = list(wording_warnings(reader.scope, texts_of_curator, readings))
    return Material(correction.id, "gated", block, {**notes, "warnings": warnings} if warnings else notes)


@torch.inference_mode()
def _build_surgery(
    reader: Reader,
    read_questions: ReadQuestions,
    corrections: Sequence[AnswerChange],
    answers: Sequence[Tokens],
    scale: float | None,
) -> list[Material]:
    """Build the edits one by one, for each is refused separately."""
    layer = len(reader.decoder.layers) - 1
    result: list[Material] = []
    for correction, tokens in zip(corrections, answers, strict=True):
        try:
            moves = apply_value_edit(reader, read_questions([correction.question]), tokens, scale)
        except EditRefused as refusal:
            raise EditRefused(refusal.code, f"{correction.question!r}: {refusal.detail}") from refusal
        tensors = {
            "layers": torch.full((len(moves),), layer),
            "slots": torch.tensor([move.slot for move in moves]),
            "deltas": _on_cpu(torch.stack([move.delta for move in moves])),
        }
        notes: Mapping[str, object] = {
            "slots": len({move.slot for move in moves}),
            "moved": [
                {"slot": move.slot, "weight": round(move.weight, 4), "lambda": round(move.scale, 4)}
                for move in moves
            ],
        }
        block = Block.of(block_key(correction.id), 0, "delta", tensors)
        result.append(Material(correction.id, "surgery", block, notes))
    return result


def _on_cpu(tensor: Tensor) -> Tensor:
    """Return a copy, which keeps no larger tensor in memory."""
    return tensor.detach().cpu().clone()


def fold(base: Image, decoder: Decoder, active: Sequence[Material]) -> Image:
    """Fold the active materials into an image, by the order of their blocks and not of the sequence."""
    blocks = sorted((material.block for material in active), key=lambda block: block.order)
    image = {block.key: block for block in blocks if block.kind == "gated"}
    deltas: dict[Place, list[tuple[str, Tensor]]] = defaultdict(list)
    for block in blocks:
        if block.kind == "delta":
            columns = (
                block.tensors["layers"].tolist(),
                block.tensors["slots"].tolist(),
                block.tensors["deltas"],
            )
            for layer, slot, delta in zip(*columns, strict=True):
                deltas[layer, slot].append((block.edit, delta))
    for (layer, slot), moves in deltas.items():
        bank = decoder.layers[layer].feed_forward.slots
        assert bank is not None, f"layer {layer} has no bank"
        row = _on_cpu(bank.stored_rows[slot])
        for _, delta in moves:
            row += delta
        edits = "+".join(dict.fromkeys(edit for edit, _ in moves))
        tensors = {"layer": torch.tensor(layer), "slot": torch.tensor(slot), "row": row}
        key = f"value/{layer:02d}/{slot:05d}/{edits}"
        image[key] = Block.of(key, 0, "value", tensors)
    return Image(base.base, image)
