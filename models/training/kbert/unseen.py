"""`python -m models.training kbert-unseen`: fit the scale of relations that no training has seen, and measure it.

A graph of one fact gets questions for that fact in other words, and for facts that only resemble it: groups of
questions that people wrote (`groups/` of the editing sets), of which the judge has read none. Figures are measured on
groups by another writer (`near.open.jsonl`), about other subjects and of other kinds.
"""

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from models.confidence import Confidence, calibration_error, fit
from models.encoder.minilm import MiniLM
from models.graph.knowledge import Entity, Fact, Mention
from models.kbert.answer import Answerer
from models.kbert.checkpoint import Model, add_unseen, load
from models.kbert.options import describe_best
from models.kbert.unseen import Query, UnseenCheck, UnseenRecord
from models.packs.pack import Pack
from models.scope.judge import Judge
from models.steps import finish
from models.system import Ask
from models.training.kbert.calibrate import MAX_ITERATIONS, SURE
from models.training.kbert.training import PLAN
from models.training.kit.card import percent
from models.training.kit.exam import Question
from models.training.kit.run import Run
from models.training.kit.scale import DECAY
from models.training.scope.choosing import split_written
from models.training.scope.training import PLAN as JUDGE_PLAN
from models.training.scope.training import read_sentences
from models.training.scope.written import read_rows
from models.training.texts.relations import split_relations


def train(run: Run) -> bool:
    """Fit the scale, and write it beside the checkpoint."""
    model, judge = load(run.out, with_unseen=False), Judge.load(MiniLM())
    check = UnseenCheck(UnseenRecord(frozenset(), judge.digest, Confidence((), 0.0, 0.0)), judge)
    trials = draw_trials(run.editing_sets("kbert"))
    rows = zip(read_features(model, check, trials), trials, strict=True)
    features, is_asked = zip(*((row, trial.expected is not None) for row, trial in rows if row), strict=True)
    scale = fit(features, is_asked, decay=DECAY, max_iterations=MAX_ITERATIONS)
    record = UnseenRecord(list_seen(Pack.load(run.pack)), judge.digest, replace(scale, threshold=SURE))
    add_unseen(record, run.out)
    return True


def measure(run: Run) -> None:
    """Say how many questions of groups by another writer are answered; nothing is written."""
    model = load(run.out)
    if model.relation_check is None:
        raise SystemExit(f"{run.out} has no scale yet: leave --measure out")
    groups = read_rows(run.editing_sets("kbert") / "near.open.jsonl")
    trials = [trial for group in groups for trial in make_trials(group)]
    for line in describe(model, model.relation_check, trials):
        run.say(line)


def list_seen(pack: Pack) -> frozenset[str]:
    """Return the labels of the pack's relations and of the practice relations that weights have seen."""
    relations = split_relations(pack, PLAN.seed, PLAN.n_tuning)
    labels = [label for relation in relations.train.values() for label in relation.labels]
    return frozenset(label.casefold() for label in (*labels, *(r.label for r in pack.relations.values())))


def draw_trials(sets: Path) -> list[Question]:
    """Return the questions of the groups that the judge is chosen by: half ask for the fact, and half resemble it."""
    rng = random.Random(PLAN.seed)
    facts = split_written(JUDGE_PLAN, sets, partial(read_sentences, MiniLM()))
    wordings = {fact.question for fact in facts.choose}
    trials: list[Question] = []
    for file in sorted((sets / "groups").glob("*.jsonl")):
        for row in read_rows(file):
            if row["wording"] in wordings:
                group = make_trials(row)
                near = [trial for trial in group if trial.expected is None]
                same = [trial for trial in group if trial.expected is not None]
                trials += same + rng.sample(near, min(len(same), len(near)))
    return trials


def make_trials(group: Mapping[str, Any]) -> list[Question]:
    """Return the questions of a group that name its subject, to a graph of one fact; only some ask for it."""
    subject, answer = group["subject"], group["answer"]
    entity = Entity("subject", subject, facts=(Fact("asked", group["asks"], answer),))
    questions = [(text, answer) for text in (group["wording"], *group["same"])]
    questions += [(near["question"], None) for near in group["near"]]
    return [
        Question(Ask(text, mentions=(Mention(match.start(), match.end(), (entity,)),)), expected)
        for text, expected in questions
        if (match := re.search(re.escape(subject), text, re.IGNORECASE))
    ]


def read_features(
    model: Model, check: UnseenCheck, trials: Sequence[Question]
) -> Iterator[tuple[float, ...]]:
    """Yield the features of each best option and those of the judge, if the pointer is sure."""
    answerer = Answerer(model)
    for trial in trials:
        [reading] = finish(answerer.read([trial.ask]))
        relation = answerer.find_sure(reading)
        if relation is None or reading.options is None:
            yield ()
        else:
            [judge_features] = check.read([Query(trial.ask.question, reading.links, relation)])
            yield (*describe_best(reading.options), *judge_features)


def describe(model: Model, check: UnseenCheck, trials: Sequence[Question]) -> Iterator[str]:
    """Yield the share of answered questions, by the pointer alone and with the judge, and the calibration error."""
    scale, is_asked = check.record.scale, [trial.expected is not None for trial in trials]
    scores = [scale.score(row) if row else None for row in read_features(model, check, trials)]
    for kind, name in ((True, "the fact is asked for"), (False, "a fact that resembles it")):
        group = [score for score, asks in zip(scores, is_asked, strict=True) if asks is kind]
        alone = percent(score is not None for score in group)
        share = percent(score is not None and score >= scale.threshold for score in group)
        yield f"{name}: {len(group)} questions, answered by the pointer alone {alone} %, with the judge {share} %"
    pairs = [(score, asks) for score, asks in zip(scores, is_asked, strict=True) if score is not None]
    error = calibration_error([score for score, _ in pairs], [asks for _, asks in pairs])
    yield f"calibration error of what the pointer would answer: {error:.1f} points"
