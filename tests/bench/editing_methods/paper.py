"""The paper's own protocol: single edits of one-token answers, and whether five other questions keep theirs.

Dai et al., Neural Knowledge Bank (arXiv:2208.00399), section on editing: 67 edits, success 98.5 %, destruction 2.7 %.
Success there is that the first token becomes the wanted one; whether the whole answer does is counted beside it. An
answer is destroyed when it is not what it was; the questions are drawn with a seed, the edited one never among them.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from models.editors.surgery import Head, Site, operate
from models.memory import EditRefused
from models.nkb.overlay import Overlay
from models.nkb.trace import trace
from models.packs.pack import Item
from tests.bench.editing_methods.draw import Answers, Wish, canonical, held
from tests.bench.editing_methods.said import Model, padded
from tests.bench.editing_methods.score import Counts
from tests.bench.editing_methods.ways import Product

EDITS, OTHERS = 67, 5
LAMBDAS = (0.03, 0.07, 0.09, 0.3, 1.0, 2.0, 4.0, 8.0)
MARGIN, MOST = 0.5, 20.0  # of the smallest lambda that does it, as the product has them


@dataclass(frozen=True)
class Trial:
    """An edit, and the questions that ought to keep their answers."""

    wish: Wish
    others: tuple[str, ...]

    @property
    def asked(self) -> list[str]:
        return [self.wish.question, *self.others]


def trials(model: Model, items: Sequence[Item], answers: Answers, seed: int) -> list[Trial]:
    """Facts that the base answers with one token, and another answer of the relation that is one token too."""
    rng = random.Random(f"paper {seed}")
    found: list[Trial] = []
    for place in rng.sample(range(len(items)), len(items)):
        item = items[place]
        (said,) = model.base([canonical(item)])
        others = [one for one in answers.others(item, said) if _is_token(model, one)]
        if _is_token(model, said) and others:
            wish = Wish(f"{place:05d}", item, canonical(item), rng.choice(others), held(item))
            rest = [canonical(one) for one in rng.sample(items, OTHERS + 1) if one != item][:OTHERS]
            found.append(Trial(wish, tuple(rest)))
        if len(found) == EDITS:
            break
    return found


def _is_token(model: Model, answer: str) -> bool:
    return len(model.reader.spell(answer)) == 2  # itself and the end


def cells(model: Model, some: Sequence[Trial]) -> Iterator[tuple[str, Counts]]:
    for scale in (*LAMBDAS, None):
        name = "surgery, smallest lambda" if scale is None else f"surgery, lambda {scale:g}"
        yield name, _surgery(model, some, scale)
    yield "gated", _product(model, some)


def _surgery(model: Model, some: Sequence[Trial], scale: float | None) -> Counts:
    counts = Counts()
    reads = [_read(model, trial.wish, scale) for trial in some]
    asked = [question for trial in some for question in trial.asked]
    decoded = iter(model.decode(asked, [read for read in reads for _ in range(1 + OTHERS)]))
    for trial, read in zip(some, reads, strict=True):
        own, *others = [next(decoded) for _ in trial.asked]
        wanted = model.reader.spell(trial.wish.answer)
        counts.add("first token", [read is not None and list(own.tokens[:1]) == wanted[:1]])
        counts.add("whole answer", [read is not None and own.finished and list(own.tokens) == wanted[:-1]])
        before = model.base(trial.others)
        counts.add(
            "destroyed", [model.reader.say(a.tokens) != b for a, b in zip(others, before, strict=True)]
        )
    return counts


def _read(model: Model, wish: Wish, scale: float | None) -> Overlay | None:
    """None where surgery refuses."""
    decoder = model.reader.decoder
    states, mask = padded(model.read([wish.question]))
    (said,), wanted = model.base([wish.question]), model.reader.spell(wish.answer)[0]
    seen = trace(decoder, states, mask, torch.tensor([[wanted]]))
    site = Site(seen.a[0, 0], (seen.s + seen.ex)[0, 0])
    head = Head(decoder.head_weight, decoder.embedding, decoder.epsilon)
    try:
        move = operate(
            site, head, wanted, model.reader.spell(said)[0], scale=scale, margin=MARGIN, limit=MOST
        )
    except EditRefused:
        return None
    bank = decoder.layers[-1].feed_forward.slots
    assert bank is not None, "the last decoder layer has no bank"
    values = torch.tensor([move.slot]), bank.stored_rows[move.slot][None] + move.delta
    return Overlay({len(decoder.layers) - 1: values})


def _product(model: Model, some: Sequence[Trial]) -> Counts:
    """Here a withheld answer is a failure, whatever its first token would have been."""
    counts, way = Counts(), Product(model)
    for trial in some:
        own, *others = way.make([trial.wish]).say(trial.asked)
        given = "" if own.given is None else own.given
        counts.add("first token", [model.reader.spell(given)[0] == model.reader.spell(trial.wish.answer)[0]])
        counts.add("whole answer", [given == trial.wish.answer])
        before = model.base(trial.others)
        counts.add("destroyed", [said.best != b for said, b in zip(others, before, strict=True)])
    return counts
