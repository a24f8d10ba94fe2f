"""From logits to scores that mean something, and the scores below which nothing is said (kbert/confidence.py)."""

from collections.abc import Sequence
from dataclasses import replace

import torch

from models.encoder.weights import find
from models.kbert.answering import Answerer
from models.kbert.confidence import Confidence, features
from models.kbert.default import Model, Settings, Trained, assemble
from models.kbert.support import supports
from models.system import Ask
from models.training.kbert import tuning
from models.training.kbert.asked import Asker
from models.training.kbert.net import Net
from models.training.kbert.plan import Plan
from models.training.kbert.prepare import Prepared
from models.training.kbert.scale import fit

OPEN = {"object": Confidence((0.0,) * 4, 0.0, 0.0), "span": Confidence((0.0,) * 2, 0.0, 0.0)}
PAIR = Confidence((1.0,), 0.0, 0.0)
CONTEXTS, CHOICES, BATCH = 600, 400, 64


def calibrated(plan: Plan, prepared: Prepared, net: Net, asker: Asker) -> Trained:
    """What the net has learned, with scales and thresholds."""
    settings = Settings(
        plan.max_length, plan.max_entities, plan.max_mentions, plan.lora_alpha / plan.lora_rank
    )
    trained = Trained(settings, net.adapters(), net.heads(), prepared.bend, {**OPEN, "pair": PAIR})
    model = assemble(find(), trained)
    items = tuning.halves(prepared)[0]
    pair, weight = _pairs(plan, prepared, model, asker)
    spans = list(tuning.contexts(prepared, plan.seed, items, CONTEXTS))
    scales = {
        "object": _objects(plan, prepared, model, asker),
        "span": fitted(
            model, [ask for ask, _, _ in spans], [answer for _, answer, _ in spans], plan.declined
        ),
        "pair": pair,
    }
    heads = {**trained.heads, "support.weight": torch.tensor(weight)}
    return replace(trained, heads=heads, confidences=scales)


def _objects(plan: Plan, prepared: Prepared, model: Model, asker: Asker) -> Confidence:
    asked = tuning.objects(prepared, asker, plan.seed)
    return fitted(model, [one.ask for one in asked], [one.expected for one in asked], plan.declined)


def fitted(model: Model, asks: Sequence[Ask], expected: Sequence[str | None], declined: float) -> Confidence:
    """The scale of what the pointer says first to these questions. declined: share of the right ones to withhold."""
    answerer = Answerer(model)
    x: list[tuple[float, ...]] = []
    right: list[bool] = []
    for start in range(0, len(asks), BATCH):
        for read, answer in zip(answerer.read(asks[start : start + BATCH]), expected[start:], strict=False):
            if read.options is not None and read.options.found:
                x.append(features(read.options))
                right.append(read.options.found[0].answer == answer)
    return fit(x, right, declined)


def _pairs(plan: Plan, prepared: Prepared, model: Model, asker: Asker) -> tuple[Confidence, float]:
    """The scale of pairs, and the weight of support beside the ranker's own log-odds."""
    items = tuning.halves(prepared)[0]
    answerer = Answerer(model)
    x: list[tuple[float, ...]] = []
    right: list[bool] = []
    chosen = list(tuning.choices(prepared, asker, plan.seed, items, CHOICES))
    for start in range(0, len(chosen), BATCH):
        some = chosen[start : start + BATCH]
        reads = answerer.read([ask for ask, _ in some])
        pairs = [
            (ask, read, text) for (ask, _), read in zip(some, reads, strict=True) for text in ask.candidates
        ]
        fits = iter(answerer.fits(pairs))
        for (ask, answer), read in zip(some, reads, strict=True):
            for text, support in zip(ask.candidates, supports(read.options, ask.candidates), strict=True):
                x.append((next(fits) or 0.0, support))
                right.append(text == answer)
    both = fit(x, right, plan.declined)
    own, other = both.weights
    own = max(own, 0.05)
    return Confidence((own,), both.bias, both.threshold), other / own
