"""The judge's verdicts on the pairs of a trial, and the edit with which the scope answers each question."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from more_itertools import chunked
from torch import Tensor

from models.blocks import Block, block_key
from models.encoder.minilm import MiniLM
from models.scope.active import NO_EDIT
from models.scope.candidates import find_candidates
from models.scope.judge import Judge
from models.scope.readings import Readings, StoredReadings
from models.scope.scope import Scope
from models.scope.wordings.block import write_block
from models.scope.wordings.table import WordingTable
from models.system import Thresholds
from models.training.kit.card import table
from models.training.scope.trials import FOLLOWS, Trial

BATCH = 64  # questions in one pass
ANY, OPENS = Thresholds(near=0.0), Thresholds().opens
BINS = 10
CURVE = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)  # thresholds
COLUMNS = "set | edits | questions | follows | wrongly answered | calibration error | turned by the order"


@dataclass(frozen=True)
class JudgedPairs:
    """Candidate pairs of a trial, as places of `question` and `edit`, with the `raw` output of the judge's layers.

    The output is the mean over both orders of the texts.
    """

    trial: Trial
    question: Int[Tensor, " pair"]
    edit: Int[Tensor, " pair"]
    raw: Float[Tensor, " pair"]
    cosine: Float[Tensor, " pair"]
    signs: Float[Tensor, "pair sign"]

    @property
    def is_right(self) -> Bool[Tensor, " pair"]:
        """Whether the question of each pair asks for its edit."""
        return self.trial.expected_edits[self.question] == self.edit


@dataclass(frozen=True)
class Outcomes:
    """The likeliest edit of each question and its probability; NO_EDIT and 0 if none is near."""

    trial: Trial
    probability: Float[Tensor, " question"]
    edit: Int[Tensor, " question"]

    @cached_property
    def is_right(self) -> Bool[Tensor, " question"]:
        """Whether the likeliest edit is asked for."""
        return (self.edit == self.trial.expected_edits) & (self.edit != NO_EDIT)


@torch.inference_mode()
def judge_pairs(trial: Trial, encoder: MiniLM, judge: Judge) -> JudgedPairs:
    """Judge the pairs of a trial in both orders."""
    edits = read_questions(encoder, judge, trial.edits)
    questions = read_questions(encoder, judge, [question.text for question in trial.questions])
    pairs = find_candidates(questions, StoredReadings.of(edits))
    places = zip(pairs.question.tolist(), pairs.wording.tolist(), strict=True)
    tokens = [(questions.tokens[question], edits.tokens[edit]) for question, edit in places]
    raw = (judge.read_pairs(tokens) + judge.read_pairs([pair[::-1] for pair in tokens])) / 2
    cosine, signs = pairs.cosine, judge.contrast(tokens)
    with torch.inference_mode(False):  # a calibration can be fitted on these tensors
        return JudgedPairs(
            trial, *(part.clone() for part in (pairs.question, pairs.wording, raw, cosine, signs))
        )


@torch.inference_mode()
def answer_trial(trial: Trial, encoder: MiniLM, judge: Judge) -> Outcomes:
    """Answer a trial as a service routes questions to its edits, without known subjects."""
    readings = read_questions(encoder, judge, [text for wordings in trial.wordings for text in wordings])
    parts = readings.split([len(wordings) for wordings in trial.wordings])
    blocks = [
        Block.of(block_key(str(place)), place, "gated", write_block(wordings, reading))
        for place, (wordings, reading) in enumerate(zip(trial.wordings, parts, strict=True))
    ]
    view, scope = WordingTable(judge).view(blocks), Scope(judge, ANY)
    questions = read_questions(encoder, judge, [question.text for question in trial.questions])
    matches = scope.match(questions, [view] * len(questions))
    probability = [0.0 if match is None else match.probability for match in matches]
    edit = [NO_EDIT if match is None else int(match.edit) for match in matches]
    return Outcomes(trial, torch.tensor(probability), torch.tensor(edit))


@torch.inference_mode()
def share_turned(outcomes: Outcomes, encoder: MiniLM, judge: Judge, threshold: float) -> float:
    """Compute the share of verdicts, in per cent, that another order of the two texts turns.

    Each question is judged with its likeliest edit, which it asks for from the threshold on.
    """
    trial = outcomes.trial
    places = [place for place, edit in enumerate(outcomes.edit.tolist()) if edit != NO_EDIT]
    questions = read_questions(encoder, judge, [trial.questions[place].text for place in places])
    edits = read_questions(encoder, judge, [trial.edits[edit] for edit in outcomes.edit[places].tolist()])
    cosines = (questions.vectors * edits.vectors).sum(-1)
    pairs = list(zip(questions.tokens, edits.tokens, strict=True))
    verdicts = [
        judge(order, cosines).sigmoid() >= threshold for order in (pairs, [pair[::-1] for pair in pairs])
    ]
    return share((verdicts[0] != verdicts[1]).tolist())


def read_questions(encoder: MiniLM, judge: Judge, questions: Sequence[str]) -> Readings:
    """Read questions without known subjects, for the scope alone."""
    return Readings.concatenate(
        [judge.read(part, encoder.encode(part).sentences) for part in chunked(questions, BATCH)]
    )


def count(outcomes: Outcomes, threshold: float) -> tuple[float, dict[str, float]]:
    """Return the share of edits that are followed at a threshold, and of wrong answers by kind, in per cent."""
    gets_answer = (outcomes.probability >= threshold).tolist()
    hits, wrong = list[bool](), dict[str, list[bool]](all=[])
    marks = zip(outcomes.trial.questions, outcomes.is_right.tolist(), gets_answer, strict=True)
    for question, is_right, is_answered in marks:
        if question.edit is not None:
            hits.append(is_answered and is_right)
        for kind in ("all", question.kind):
            wrong.setdefault(kind, []).append(is_answered and not is_right)
    wrong.pop(FOLLOWS, None)
    return share(hits), {kind: share(values) for kind, values in wrong.items()}


def share(values: Sequence[bool]) -> float:
    return 100 * sum(values) / max(1, len(values))


def expected_error(outcomes: Outcomes, threshold: float) -> float:
    """Compute the expected calibration error of the answers of edits, in points: ten bins of equal size."""
    probability = outcomes.probability
    answers = (probability >= threshold).nonzero().squeeze(1)
    order = answers[probability[answers].argsort()]
    bins = [part for part in torch.tensor_split(order, BINS) if len(part)]
    gaps = [
        len(part) * abs(float(probability[part].mean() - outcomes.is_right[part].float().mean()))
        for part in bins
    ]
    return 100 * sum(gaps) / max(1, len(answers))


def describe(trials: Iterable[tuple[Outcomes, float]]) -> tuple[dict[str, Any], str]:
    """Return the figures of trials, each with the share of verdicts that another order turns, and tables of them."""
    figures, rows, curves = dict[str, Any](), [], [[f"{threshold:g}"] for threshold in CURVE]
    for outcomes, reversals in trials:
        trial, error = outcomes.trial, expected_error(outcomes, OPENS)
        follows, wrong = count(outcomes, OPENS)
        figures[trial.name] = {
            "follows": round(follows, 1),
            "wrong": {kind: round(share, 2) for kind, share in wrong.items()},
            "calibration error": round(error, 1),
            "turned by the order": round(reversals, 1),
        }
        kinds = [kind for kind in wrong if kind not in ("all", "paraphrase")]
        shares = "; ".join(f"{kind} {wrong[kind]:.1f}" for kind in (kinds if len(kinds) == 2 else ["all"]))
        counts = f"{len(trial.edits):,}", f"{len(trial.questions):,}"
        rows.append([trial.name, *counts, f"{follows:.1f}", shares, f"{error:.1f}", f"{reversals:.1f}"])
        for threshold, row in zip(CURVE, curves, strict=True):
            follows, wrong = count(outcomes, threshold)
            row.append(f"{follows:.1f} / {wrong['all']:.1f}")
    names = " | ".join(figures)
    heading = "Follows / wrongly answered at each threshold:"
    lines = [*table(COLUMNS, rows), heading, "", *table(f"threshold | {names}", curves)]
    return figures, "\n".join(lines).rstrip()
