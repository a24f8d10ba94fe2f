"""The paper's surgery for a whole answer, and the edits that an answer rests on.

Dai et al. (arXiv:2208.00399), equation 12 (`models/editors/surgery.py`), is applied at each position of the answer
whose token the base would not say after the tokens before it. Moves of one edit see each other, never those of
others.

An answer rests on surgery if the base says something else: a moved slot that fires proves nothing. It then rests on
the edits that moved a slot which fires most at one of its tokens, for that slot is the one equation 12 chooses; if
none of those was moved, it rests on all edits whose slots fired.
"""

from collections.abc import Mapping

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from models.editors.surgery import Head, Site, Surgery, operate
from models.memory import EditRefused
from models.nkb.answers import DecodedAnswer
from models.nkb.overlay import Place
from models.nkb.reader import END, Read, Reader
from models.nkb.trace import Trace, trace

MARGIN = 0.5  # logits by which each token must lead
ROUNDS = 4  # passes over the answer, as a later move may disturb an earlier token
LARGEST = 20.0  # largest lambda: beyond it a row is noise to every other question
EditsByPlace = Mapping[Place, tuple[str, ...]]


def operate_on(reader: Reader, read: Read, tokens: list[int], scale: float | None = None) -> list[Surgery]:
    """Compute the moves with which the base gives an answer.

    Args:
        reader: The checkpoint.
        read: One question.
        tokens: Tokens of the answer, with the end token.
        scale: Lambda of each move, in one pass as in the paper; the report then says whether the base gives the answer.
            None takes the smallest with which each token leads.

    Raises:
        EditRefused: `no_bank`, `unreachable`, `no_change`, or a code of `operate`.
    """
    base = trace(reader.decoder, read.states, read.mask, torch.tensor([tokens], device=read.states.device))
    if base.a.shape[-1] == 0:
        raise EditRefused("no_bank", "the last decoder layer has no bank: use method 'gated'")
    head = Head(reader.decoder.head_weight, reader.decoder.embedding, reader.decoder.epsilon)
    moves: list[Surgery] = []

    def best_token(step: int) -> int:
        return int((head.rows @ _norm_input(reader, base, step, moves)).argmax())

    for _ in range(ROUNDS):
        for step, token in enumerate(tokens):
            best = best_token(step)
            if best != token:
                site = Site(base.a[0, step], _norm_input(reader, base, step, moves))
                moves.append(operate(site, head, token, best, scale=scale, margin=MARGIN, limit=LARGEST))
        if scale is not None and moves:
            return moves
        if [best_token(step) for step in range(len(tokens))] == tokens:
            if moves:
                return moves
            raise EditRefused(
                "no_change", f"the base already gives this answer ({len(tokens)} tokens): nothing to move"
            )
    raise EditRefused("unreachable", "moving single rows does not bring the whole answer out: use 'gated'")


def _norm_input(reader: Reader, base: Trace, step: int, moves: list[Surgery]) -> Float[Tensor, " d"]:
    """Return the input of the final norm at one position, with the moves so far."""
    x = (base.s + base.ex)[0, step].clone()
    bank = reader.decoder.layers[-1].feed_forward.slots
    assert bank is not None
    for move in moves:
        x += base.a[0, step, move.slot] * bank.acting(move.delta[None])[0]
    return x


def rests_on(
    reader: Reader,
    read: Read,
    answers: Mapping[int, DecodedAnswer],
    edits: Mapping[int, EditsByPlace],
    max_tokens: int,
) -> dict[int, tuple[str, ...]]:
    """Find the edits that answers rest on.

    Args:
        reader: The checkpoint.
        read: Questions as they were read.
        answers: Answers by row of the batch.
        edits: Edits of each moved slot, for the rows that read moved slots.
        max_tokens: Limit of the base's answers.

    Returns:
        Ids of edits by row; rows that rest on no edit are left out.
    """
    if not edits:
        return {}
    rows = list(edits)
    tokens = [torch.tensor([*answers[row].tokens, END], device=read.states.device) for row in rows]
    targets = pad_sequence(tokens, batch_first=True, padding_value=END)
    weights = trace(reader.decoder, read.states[rows], read.mask[rows], targets).a
    layer = len(reader.decoder.layers) - 1
    candidates: dict[int, tuple[str, ...]] = {}
    for row, own_weights, own_tokens in zip(rows, weights, tokens, strict=True):
        slot_weights = own_weights[: len(own_tokens)]
        strongest_slots = dict.fromkeys(slot_weights.argmax(-1).tolist())
        leading = [edit for slot in strongest_slots for edit in edits[row].get((layer, slot), ())]
        if not leading:
            fires = (slot_weights.amax(0) > 0).tolist()
            leading = [edit for (_, slot), owners in edits[row].items() if fires[slot] for edit in owners]
        if leading:
            candidates[row] = tuple(dict.fromkeys(leading))
    if not candidates:
        return {}
    rows = list(candidates)
    base = reader.decoder.generate(read.states[rows], read.mask[rows], max_tokens=max_tokens)
    return {
        row: candidates[row]
        for row, answer in zip(rows, base, strict=True)
        if answer.tokens != answers[row].tokens
    }
