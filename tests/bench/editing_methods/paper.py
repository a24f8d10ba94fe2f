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
from tests.bench.editing_methods.draw import Answers, EditRequest, canonical_question, held_out_phrasings
from tests.bench.editing_methods.editors import Product
from tests.bench.editing_methods.model import Model, pad
from tests.bench.editing_methods.score import Counts

EDITS, BYSTANDERS = 67, 5
LAMBDAS = (0.03, 0.07, 0.09, 0.3, 1.0, 2.0, 4.0, 8.0)
MARGIN, LIMIT = 0.5, 20.0  # of the smallest sufficient lambda, as the product chooses it


@dataclass(frozen=True)
class Trial:
    """An edit, and questions that should keep their answers."""

    request: EditRequest
    bystanders: tuple[str, ...]

    @property
    def questions(self) -> list[str]:
        return [self.request.question, *self.bystanders]


def draw_trials(model: Model, items: Sequence[Item], answers: Answers, seed: int) -> list[Trial]:
    """Draw facts that the base answers with one token, and another one-token answer of the relation."""
    rng = random.Random(f"paper {seed}")
    trials: list[Trial] = []
    for place in rng.sample(range(len(items)), len(items)):
        item = items[place]
        (base_answer,) = model.base([canonical_question(item)])
        alternatives = [
            alternative
            for alternative in answers.alternatives(item, base_answer)
            if _is_token(model, alternative)
        ]
        if _is_token(model, base_answer) and alternatives:
            request = EditRequest(
                f"{place:05d}",
                canonical_question(item),
                rng.choice(alternatives),
                held_out_phrasings(item),
            )
            rest = [
                canonical_question(bystander)
                for bystander in rng.sample(items, BYSTANDERS + 1)
                if bystander != item
            ][:BYSTANDERS]
            trials.append(Trial(request, tuple(rest)))
        if len(trials) == EDITS:
            break
    return trials


def _is_token(model: Model, answer: str) -> bool:
    return len(model.reader.spell(answer)) == 2  # itself and the end


def count_cells(model: Model, trials: Sequence[Trial]) -> Iterator[tuple[str, Counts]]:
    for scale in (*LAMBDAS, None):
        name = "surgery, smallest lambda" if scale is None else f"surgery, lambda {scale:g}"
        yield name, _count_surgery(model, trials, scale)
    yield "gated", _count_product(model, trials)


def _count_surgery(model: Model, trials: Sequence[Trial], scale: float | None) -> Counts:
    counts = Counts()
    reads = [_operate(model, trial.request, scale) for trial in trials]
    questions = [question for trial in trials for question in trial.questions]
    generations = iter(model.decode(questions, [read for read in reads for _ in range(1 + BYSTANDERS)]))
    for trial, read in zip(trials, reads, strict=True):
        generation, *bystander_generations = [next(generations) for _ in trial.questions]
        target_tokens = model.reader.spell(trial.request.answer)
        counts.add("first token", [read is not None and list(generation.tokens[:1]) == target_tokens[:1]])
        counts.add(
            "whole answer",
            [read is not None and generation.finished and list(generation.tokens) == target_tokens[:-1]],
        )
        before = model.base(trial.bystanders)
        counts.add(
            "destroyed",
            [model.reader.say(a.tokens) != b for a, b in zip(bystander_generations, before, strict=True)],
        )
    return counts


def _operate(model: Model, request: EditRequest, scale: float | None) -> Overlay | None:
    """None where surgery refuses."""
    decoder = model.reader.decoder
    states, mask = pad(model.read([request.question]))
    (base_answer,), target_token = model.base([request.question]), model.reader.spell(request.answer)[0]
    edit_trace = trace(decoder, states, mask, torch.tensor([[target_token]]))
    site = Site(edit_trace.a[0, 0], (edit_trace.s + edit_trace.ex)[0, 0])
    head = Head(decoder.head_weight, decoder.embedding, decoder.epsilon)
    try:
        move = operate(
            site,
            head,
            target_token,
            model.reader.spell(base_answer)[0],
            scale=scale,
            margin=MARGIN,
            limit=LIMIT,
        )
    except EditRefused:
        return None
    bank = decoder.layers[-1].feed_forward.slots
    assert bank is not None, "the last decoder layer has no bank"
    values = torch.tensor([move.slot]), bank.stored_rows[move.slot][None] + move.delta
    return Overlay({len(decoder.layers) - 1: values})


def _count_product(model: Model, trials: Sequence[Trial]) -> Counts:
    """Count the product's results; a withheld answer is a failure here, whatever its first token would have been."""
    counts, product = Counts(), Product(model)
    for trial in trials:
        reply, *bystander_replies = product.apply([trial.request]).say(trial.questions)
        answer = "" if reply.answer is None else reply.answer
        counts.add(
            "first token", [model.reader.spell(answer)[0] == model.reader.spell(trial.request.answer)[0]]
        )
        counts.add("whole answer", [answer == trial.request.answer])
        before = model.base(trial.bystanders)
        counts.add(
            "destroyed",
            [bystander_reply.best != b for bystander_reply, b in zip(bystander_replies, before, strict=True)],
        )
    return counts
