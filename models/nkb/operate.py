"""The paper's surgery for a whole answer: equation 12 at each position where the base would say another token.

The paper steers the first token. An answer of several takes one move for each token that the base does not say
by itself, the tokens before it given; moves of one edit see each other, never those of other edits.
"""

import torch
from torch import Tensor

from models.editors.surgery import Head, Site, Surgery, operate
from models.memory import EditRefused
from models.nkb.reader import Read, Reader
from models.nkb.trace import Trace, trace

MARGIN = 0.5  # logits by which each token must lead
ROUNDS = 4  # passes over the answer: a later move may disturb an earlier token
LARGEST = 20.0  # lambda beyond which a row is noise to every other question


def operate_on(reader: Reader, read: Read, tokens: list[int], scale: float | None = None) -> list[Surgery]:
    """The moves that make the answer come out of the base. EditRefused when they do not.

    scale: lambda of each move, in one pass, as in the paper: whether the answer comes out is then for the report to
    say. None takes the smallest lambda that makes each token lead.
    """
    seen = trace(reader.decoder, read.states, read.mask, torch.tensor([tokens]))
    if seen.a.shape[-1] == 0:
        raise EditRefused("no_bank", "the last decoder layer has no bank: use method 'gated'")
    head = Head(reader.decoder.head_weight, reader.decoder.embedding, reader.decoder.epsilon)
    moves: list[Surgery] = []
    for _ in range(ROUNDS):
        for step, wanted in enumerate(tokens):
            x = _x(reader, seen, step, moves)
            said = int((head.rows @ x).argmax())
            if said != wanted:
                site = Site(seen.a[0, step], x)
                moves.append(operate(site, head, wanted, said, scale=scale, margin=MARGIN, most=LARGEST))
        if scale is not None or _holds(reader, seen, tokens, moves, head):
            return moves or _already_said(tokens)
    raise EditRefused("unreachable", "moving single rows does not bring the whole answer out: use 'gated'")


def _already_said(tokens: list[int]) -> list[Surgery]:
    raise EditRefused(
        "no_change", f"the base already gives this answer ({len(tokens)} tokens): nothing to move"
    )


def _x(reader: Reader, seen: Trace, step: int, moves: list[Surgery]) -> Tensor:
    """Input of the final norm at one position, with the moves made so far."""
    x = (seen.s + seen.ex)[0, step].clone()
    bank = reader.decoder.layers[-1].feed_forward.slots
    assert bank is not None
    for move in moves:
        x += seen.a[0, step, move.slot] * bank.acting(move.delta[None])[0]
    return x


def _holds(reader: Reader, seen: Trace, tokens: list[int], moves: list[Surgery], head: Head) -> bool:
    said = [int((head.rows @ _x(reader, seen, step, moves)).argmax()) for step in range(len(tokens))]
    return said == tokens
