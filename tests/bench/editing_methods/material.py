"""The bank as the peers see it, and edits read into rows, once for all of them."""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from models.nkb.reader import END
from models.nkb.trace import Trace, trace
from models.packs.pack import Item
from tests.bench.editing_methods.draw import Wish
from tests.bench.editing_methods.methods.method import Bank, Edit, covariance
from tests.bench.editing_methods.methods.targets import targets
from tests.bench.editing_methods.said import Model, batches, padded

PHRASINGS = 3  # of each reference fact that are asked
RIDGE = 1e-3  # rho, as a share of C0's mean diagonal


def texts(items: Sequence[Item]) -> list[str]:
    """Questions about the reference facts, and sentences that state them, which are no questions."""
    asked = [item.relation.question(item.subject.label, p) for item in items for p in range(PHRASINGS)]
    told = [
        item.relation.statements[0].replace("{subject}", item.subject.label).replace("{object}", item.answer)
        for item in items
    ]
    return asked + told


def bank(model: Model, reference: Sequence[Item]) -> Bank:
    """C0 and the reference keys from what the base says to the reference texts."""
    decoder, asked = model.reader.decoder, texts(reference)
    slots = decoder.layers[-1].feed_forward.slots
    assert slots is not None, "the last decoder layer has no bank"
    answers = [_spelt(model, said) for said in model.base(asked)]
    weights = torch.cat([traced.a[0] for traced in _traces(model, asked, answers)])
    n = torch.stack([one.n for one in model.read(asked)])
    return Bank(slots.stored_rows, decoder.head_weight, decoder.epsilon, covariance(weights, RIDGE), n)


def edits(model: Model, wishes: Sequence[Wish]) -> list[Edit]:
    answers = [_spelt(model, wish.answer) for wish in wishes]
    traces = _traces(model, [wish.question for wish in wishes], answers)
    x = [(traced.s + traced.ex)[0] for traced in traces]
    decoder, wanted = model.reader.decoder, torch.cat([torch.tensor(one) for one in answers])
    aims = targets(decoder.head_weight, decoder.epsilon, torch.cat(x), wanted).split(
        [len(one) for one in answers]
    )
    return [
        Edit(wish.id, wish.question, wish.answer, torch.tensor(tokens), traced.n[0], traced.a[0], own, aim)
        for wish, tokens, traced, own, aim in zip(wishes, answers, traces, x, aims, strict=True)
    ]


def _spelt(model: Model, answer: str) -> list[int]:
    return model.reader.spell(answer)


def _traces(model: Model, questions: Sequence[str], answers: Sequence[list[int]]) -> list[Trace]:
    """One for each question, cut to its answer."""
    found: list[Trace] = []
    for some in batches(list(zip(model.read(questions), answers, strict=True))):
        states, mask = padded([question for question, _ in some])
        tokens = [torch.tensor(answer) for _, answer in some]
        read = trace(
            model.reader.decoder, states, mask, pad_sequence(tokens, batch_first=True, padding_value=END)
        )
        found += [_cut(read, row, len(own)) for row, own in enumerate(tokens)]
    return found


def _cut(read: Trace, row: int, length: int) -> Trace:
    def own(part: Tensor) -> Tensor:
        return part[row : row + 1, :length].clone()

    return Trace(own(read.n), own(read.a), own(read.s), own(read.ex))
