"""Which edit's gate a question opens, each question at its own version."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from models.memory import Block
from models.nkb.alike import Keyed, Pairs, alike, best
from models.nkb.scope import Scope
from models.nkb.slots import Gates
from models.nkb.wordings import NOBODY


@dataclass(frozen=True)
class Opened:
    """The edit that answers a question, and how sure the gate is that it asks for the edit's fact (log-odds)."""

    block: Block
    logit: float

    @property
    def edit(self) -> str:
        return self.block.key.removeprefix("edit/")


def opened(scope: Scope, asked: Keyed, gates: Sequence[Gates]) -> list[Opened | None]:
    """For each question, the latest edit about the fact that the best gate of its version is for, if one opens.

    One product with the largest table of a generation serves every version in the batch.
    """
    found: list[Opened | None] = [None] * len(asked)
    for generation in {view.generation for view in gates}:
        places = [place for place, view in enumerate(gates) if view.generation == generation]
        views = [gates[place] for place in places]
        for place, one in zip(places, _opened(scope, asked.select(torch.tensor(places)), views), strict=True):
            found[place] = one
    return found


def _opened(scope: Scope, asked: Keyed, gates: Sequence[Gates]) -> list[Opened | None]:
    """The same for versions of one generation."""
    table = max((view.table for view in gates), key=len)
    return chosen(alike(scope, asked, table), gates)


def chosen(pairs: Pairs, gates: Sequence[Gates]) -> list[Opened | None]:
    """Of the rows that each question is alike to, the best that somebody owns at its version, and who answers there.

    The views are of one generation.
    """
    if not len(pairs):
        return [None] * len(gates)
    views = {view: place for place, view in enumerate(dict.fromkeys(gates))}
    owned = torch.zeros(len(views), max(len(view.table) for view in views), dtype=torch.bool)
    for view, place in views.items():
        owned[place, : len(view.owned)] = view.owned
    place_of = torch.tensor([views[view] for view in gates])
    logits, rows = best(pairs.select(owned[place_of[pairs.asked], pairs.found]), len(gates))
    return [
        None if row == NOBODY else Opened(view.edits[int(view.latest[row])], logit)
        for view, row, logit in zip(gates, rows.tolist(), logits.tolist(), strict=True)
    ]
