"""`python -m models.training kbert-unseen`: fit the scale of relations that no training has seen, and measure it.

A graph of one fact gets questions for that fact in other words, and for facts that only resemble it: groups of
questions that people wrote (`groups/` of the editing sets), of which the judge has read none. Figures are measured on
groups by another writer (`near.open.jsonl`), about other subjects and of other kinds.
"""

import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from models.confidence import Confidence, calibration_error, fit
from models.encoder.minilm import MiniLM
from models.graph.knowledge import Entity, Fact, Mention
from models.kbert.answer import Answerer, describe_best
from models.kbert.checkpoint import Model, add_unseen, load
from models.kbert.unseen import UnseenCheck, UnseenRecord
from models.packs.pack import Pack
from models.scope.judge import Judge
from models.steps import finish
from models.system import Ask
from models.training.kbert.calibrate import MAX_ITERATIONS, SURE
from models.training.kbert.training import PLAN
from models.training.kit.run import Run
from models.training.kit.scale import DECAY
from models.training.scope.__main__ import read_sentences
from models.training.scope.choosing import split_written
from models.training.scope.plan import DEFAULT as JUDGE_PLAN
from models.training.texts.relations import split_relations


@dataclass(frozen=True)
class Trial:
    """A linked question to a graph of one fact."""

    ask: Ask
    is_asked: bool  # whether it asks for the fact, and not for one that resembles it


def train(run: Run) -> bool:
    """Fit the scale, and write it beside the checkpoint."""
    model, judge = load(run.out, with_unseen=False), Judge.load(MiniLM())
    scale = fit_scale(model, judge, _sets(run))
    add_unseen(UnseenRecord(list_seen(Pack.load(run.pack)), judge.digest, scale), run.out)
    return True


def measure(run: Run) -> None:
    """Say how many questions of groups by another writer are answered; nothing is written."""
    model = load(run.out)
    if model.relation_check is None:
        raise SystemExit(f"{run.out} has no scale yet: leave --measure out")
    for line in describe(model, model.relation_check, list(read_trials(_sets(run) / "near.open.jsonl"))):
        run.say(line)


def _sets(run: Run) -> Path:
    if run.sets is None:
        raise SystemExit(
            "give --sets: models/training/kbert/README.md says which files, and where they are found"
        )
    return run.sets


def list_seen(pack: Pack) -> frozenset[str]:
    """Return the labels of the pack's relations and of the practice relations that weights have seen."""
    relations = split_relations(pack, PLAN.seed, PLAN.n_tuning)
    labels = [label for relation in relations.train.values() for label in relation.labels]
    return frozenset(label.casefold() for label in (*labels, *(r.label for r in pack.relations.values())))


def fit_scale(model: Model, judge: Judge, sets: Path) -> Confidence:
    """Fit the scale on the pointer's best answers; one is given from SURE on."""
    check = UnseenCheck(UnseenRecord(frozenset(), judge.digest, Confidence((), 0.0, 0.0)), judge)
    trials = draw_trials(sets)
    rows = [
        (features, trial.is_asked)
        for features, trial in zip(read_features(model, check, trials), trials, strict=True)
        if features
    ]
    all_features, is_asked = zip(*rows, strict=True)
    scale = fit(all_features, is_asked, decay=DECAY, max_iterations=MAX_ITERATIONS)
    return replace(scale, threshold=SURE)


def draw_trials(sets: Path) -> list[Trial]:
    """Return the questions of the groups that the judge is chosen by: half ask for the fact, and half resemble it."""
    rng = random.Random(PLAN.seed)
    facts = split_written(JUDGE_PLAN, sets, partial(read_sentences, MiniLM()))
    wordings = {fact.question for fact in facts.choose}
    trials: list[Trial] = []
    for file in sorted((sets / "groups").glob("*.jsonl")):
        for row in map(json.loads, file.read_text("utf-8").splitlines()):
            if row["wording"] in wordings:
                group = make_trials(row)
                same = [trial for trial in group if trial.is_asked]
                near = [trial for trial in group if not trial.is_asked]
                trials += same + rng.sample(near, min(len(same), len(near)))
    return trials


def read_trials(path: Path) -> Iterator[Trial]:
    """Yield the questions of all groups of a file."""
    for line in path.read_text("utf-8").splitlines():
        yield from make_trials(json.loads(line))


def make_trials(group: Mapping[str, Any]) -> list[Trial]:
    """Return the questions of a group that name its subject."""
    subject = group["subject"]
    entity = Entity("subject", subject, facts=(Fact("asked", group["asks"], group["answer"]),))
    questions = [(text, True) for text in (group["wording"], *group["same"])]
    questions += [(near["question"], False) for near in group["near"]]
    return [
        Trial(Ask(text, mentions=(Mention(match.start(), match.end(), (entity,)),)), is_asked)
        for text, is_asked in questions
        if (match := re.search(re.escape(subject), text, re.IGNORECASE))
    ]


def read_features(model: Model, check: UnseenCheck, trials: Sequence[Trial]) -> Iterator[tuple[float, ...]]:
    """Yield the features of each best option and those of the judge, if the pointer is sure."""
    answerer, scale = Answerer(model), model.confidences["object"]
    for trial in trials:
        [reading] = finish(answerer.read([trial.ask]))
        if reading.options is None or not reading.options.by_logit:
            yield ()
            continue
        features, relation = describe_best(reading.options), reading.options.by_logit[0].relation
        if relation is None or scale.score(features) < scale.threshold:
            yield ()
        else:
            yield (*features, *check.read(trial.ask.question, reading.links, relation))


def describe(model: Model, check: UnseenCheck, trials: Sequence[Trial]) -> Iterator[str]:
    """Yield the share of answered questions, by the pointer alone and with the judge, and the calibration error."""
    scores = [check.record.scale.score(row) if row else None for row in read_features(model, check, trials)]
    for is_asked, name in ((True, "the fact is asked for"), (False, "a fact that resembles it")):
        group_scores = [
            score for score, trial in zip(scores, trials, strict=True) if trial.is_asked is is_asked
        ]
        n_pointer = sum(score is not None for score in group_scores)
        n_answered = sum(
            score is not None and score >= check.record.scale.threshold for score in group_scores
        )
        yield (
            f"{name}: {len(group_scores)} questions, answered by the pointer alone "
            f"{100 * n_pointer / len(group_scores):.1f} %, with the judge {100 * n_answered / len(group_scores):.1f} %"
        )
    pairs = [(s, t.is_asked) for s, t in zip(scores, trials, strict=True) if s is not None]
    error = calibration_error([score for score, _ in pairs], [is_asked for _, is_asked in pairs])
    yield f"calibration error of what the pointer would answer: {error:.1f} points"
