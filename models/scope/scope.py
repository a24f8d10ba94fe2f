"""Which edit a question asks for: word for word first, then by the judge among the wordings that are near.

A question that was taught word for word is answered by its own edit, whatever another edit's scope says; of several
edits with that wording by the latest, and by its heir if it was replaced. Any other question is judged with the
candidates (`candidates.py`) of its nearest edits, and the likeliest decides, the less surely the likelier another edit
is. An edit passes over its counterexamples, and over questions that are clearly nearer to one of them than to its own
wording.
"""

import heapq
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from math import exp, inf
from typing import Any

import torch
from jaxtyping import Bool
from torch import Tensor

from models.scope.active import ActiveEdits, Match
from models.scope.candidates import Candidates, find_candidates
from models.scope.judge import LOG_ODDS_OF_RIVAL, RIVAL, Judge, Pair
from models.scope.readings import Readings, StoredReadings
from models.system import Thresholds

COSINE_WEIGHT = 20.0  # log-odds of a cosine of one where a wording is compared with a counterexample
LEAN = (
    1.0  # log-odds by which a counterexample in other words than the question has to be nearer than a wording
)
RIVALS = (
    2  # edits that a question is judged with, the nearest; of 926 questions near more, a third decided none
)
EXACT = 0.995  # probability that the answer taught with these very words is wanted


class Scope:
    """Decides which edit a question asks for. It may be used by several threads."""

    def __init__(self, judge: Judge, thresholds: Thresholds | None = None) -> None:
        self.judge, self.thresholds = judge, thresholds or Thresholds()

    def describe(self) -> dict[str, Any]:
        """Return the judge's checkpoint and engine, and the thresholds, for people."""
        return {"checkpoint": self.judge.digest, "engine": self.judge.engine, **asdict(self.thresholds)}

    def match(self, questions: Readings, views: Sequence[ActiveEdits]) -> list[Match | None]:
        """Return, for each question, the edit that answers it at its version, or the likeliest one that is near.

        Near is also an edit that is asked about another name in the same words.

        Args:
            views: The active edits that each question reads.
        """
        return self._match_views(questions, views, self.thresholds.near, with_other_names=True)

    def route(self, questions: Readings, views: Sequence[ActiveEdits]) -> list[Match | None]:
        """Match questions as `match` does, without edits that are merely near."""
        return self._match_views(questions, views, self.thresholds.opens)

    def find_nearest(self, questions: Readings, view: ActiveEdits) -> list[Match | None]:
        """Match questions as `match` does, with edits that are hardly likely, too."""
        return self._match_views(questions, [view] * len(questions), 0.0)

    def match_exactly(self, wordings: Sequence[int], view: ActiveEdits) -> list[Match | None]:
        """Return the match of each question that was taught word for word, given by the digest of its wording."""
        rows = map(view.find_exact, wordings)
        return [None if row is None else Match(view, row, EXACT) for row in rows]

    def opens(self, match: Match) -> bool:
        """Return whether the match is sure enough for the edit to answer."""
        return match.probability >= self.thresholds.opens

    @property
    def min_cosine(self) -> float:
        """Return the cosine below which a wording neither answers a question nor makes another answer less likely."""
        return self.judge.calibration.min_cosine(min(self.thresholds.opens, RIVAL))

    def judge_candidates(
        self, questions: Readings | StoredReadings, wordings: Readings | StoredReadings, pairs: Candidates
    ) -> Tensor:
        """Return the probability of each pair."""
        return self.judge(_tokens(questions, wordings, pairs), pairs.cosine).sigmoid()

    def find_same(self, questions: Readings, view: ActiveEdits) -> list[list[int]]:
        """Return, for each question, the places of the edits made with it, or with one that surely asks the same.

        The judge has to be sure whichever of the two it reads first, and common names have to stand in one order. Edits
        with the question as a counterexample are left out.
        """
        if not view:
            return [[] for _ in range(len(questions))]
        rows: list[set[int]] = [set() for _ in range(len(questions))]
        for same, digest in zip(rows, questions.wordings.tolist(), strict=True):
            same.update(row for row in view.rows_with(digest) if view.question_rows[row])
        min_cosine = self.judge.calibration.min_cosine(self.thresholds.replaces)
        pairs = find_candidates(questions, view.table, view.question_rows[None], min_cosine)
        sure = pairs.select(self.judge_candidates(questions, view.table, pairs) >= self.thresholds.replaces)
        reverse = Candidates(sure.wording, sure.question, sure.cosine)
        sure = sure.select(self.judge_candidates(view.table, questions, reverse) >= self.thresholds.replaces)
        for question, row in zip(sure.question.tolist(), sure.wording.tolist(), strict=True):
            if self.judge.contrast.keeps_order(questions.tokens[question], view.table.tokens[row]):
                rows[question].add(row)
        digests = questions.wordings.tolist()
        edits = [{edit for row in places for edit in view.questions_at(row)} for places in rows]
        return [
            sorted(same - view.edits_against.get(digest, frozenset()))
            for same, digest in zip(edits, digests, strict=True)
        ]

    def _match_views(
        self,
        questions: Readings,
        views: Sequence[ActiveEdits],
        at_least: float,
        *,
        with_other_names: bool = False,
    ) -> list[Match | None]:
        """Match questions from a probability on; those with views of one table are judged together."""
        matches: list[Match | None] = [None] * len(questions)
        rows_by_table: dict[int, list[int]] = defaultdict(list)
        for row, view in enumerate(views):
            if view:
                rows_by_table[id(view.lexicon)].append(row)  # a table has one lexicon
        for rows in rows_by_table.values():
            table_views = [views[row] for row in rows]
            table_matches = self._match(questions.select(rows), table_views, at_least, with_other_names)
            for row, match in zip(rows, table_matches, strict=True):
                matches[row] = match
        return matches

    def _match(
        self, questions: Readings, views: Sequence[ActiveEdits], at_least: float, with_other_names: bool
    ) -> list[Match | None]:
        matches = [
            self.match_exactly([wording], view)[0]
            for wording, view in zip(questions.wordings.tolist(), views, strict=True)
        ]
        rest = [place for place, match in enumerate(matches) if match is None]
        likeliest = self._judge(
            questions.select(rest), [views[place] for place in rest], at_least, with_other_names
        )
        for place, match in zip(rest, likeliest, strict=True):
            matches[place] = match
        for place, match in self._judge_repaired(questions, matches, views, at_least):
            matches[place] = match
        return matches

    def _judge_repaired(
        self,
        questions: Readings,
        matches: Sequence[Match | None],
        views: Sequence[ActiveEdits],
        at_least: float,
    ) -> Iterator[tuple[int, Match]]:
        """Yield matches of unanswered questions that ask for an edit once a misspelt name is put right."""
        open_places = (place for place, match in enumerate(matches) if match is None or not self.opens(match))
        texts = {
            place: text
            for place in open_places
            if (text := views[place].repair(questions.tokens[place])) is not None
        }
        if not texts:
            return
        reading = with_marks_of(self.judge.encode(list(texts.values())), questions, list(texts))
        likeliest = self._judge(reading, [views[place] for place in texts], at_least)
        for place, match in zip(texts, likeliest, strict=True):
            probability = 0.0 if match is None else self.judge.calibration.slip * match.probability
            first_match = matches[place]
            first_probability = 0.0 if first_match is None else first_match.probability
            if match is not None and probability > first_probability and probability >= at_least:
                yield place, replace(match, probability=probability)

    def _judge(
        self,
        questions: Readings,
        views: Sequence[ActiveEdits],
        at_least: float,
        with_other_names: bool = False,
    ) -> list[Match | None]:
        """Return the likeliest candidate of each question at its view, if it is likely enough.

        Args:
            views: The active edits that each question reads, of one table.
            at_least: Lowest probability of a match.
            with_other_names: Whether an edit matches, too, that is asked about another name in the same words.
        """
        matches: list[Match | None] = [None] * len(questions)
        if not views:
            return matches
        table = max((view.table for view in views), key=len)
        pairs = find_contenders(questions, views, self.judge.calibration.min_cosine(min(at_least, RIVAL)))
        if not len(pairs.question):
            return matches
        probabilities = self.judge_candidates(questions, table, pairs)
        evidence, log_odds = _weigh(probabilities, pairs.cosine), probabilities.logit(1e-6)
        against = _against(questions, views, table, pairs, evidence)
        likeliest: list[dict[int, tuple[float, int]]] = [{} for _ in views]
        for pair in probabilities.argsort(stable=True).tolist():  # the likeliest last
            question, row = int(pairs.question[pair]), int(pairs.wording[pair])
            view = views[question]
            is_refused = against.get((question, int(view.owner[row])), -inf) >= float(evidence[pair]) + LEAN
            if view.is_owned[row] and not is_refused:
                likeliest[question][int(view.answering_edit[row])] = float(log_odds[pair]), row
        for question, (row, probability) in self._weigh_rivals(likeliest, table).items():
            tokens = questions.tokens[question], table.tokens[row]
            if probability >= at_least or (
                with_other_names and self.judge.contrast.differs_in_names(*tokens)
            ):
                matches[question] = Match(views[question], row, probability)
        return matches

    def _weigh_rivals(
        self, likeliest: Sequence[Mapping[int, tuple[float, int]]], table: StoredReadings
    ) -> dict[int, tuple[int, float]]:
        """Return the row of the likeliest edit for each question that has one, and its probability beside the next one.

        Two edits are no rivals if the judge holds that they ask for the same.

        Args:
            likeliest: Log-odds and row of each edit, by question.
            table: The table of the rows.
        """
        two = {place: heapq.nlargest(2, edits.values()) for place, edits in enumerate(likeliest) if edits}
        rivals = {place: edits[1] for place, edits in two.items() if len(edits) > 1}
        rivals = {place: edit for place, edit in rivals.items() if edit[0] > LOG_ODDS_OF_RIVAL}
        first, other = [two[place][0][1] for place in rivals], [row for _, row in rivals.values()]
        cosines = (table.select(first).vectors * table.select(other).vectors).sum(-1)
        pairs = Candidates(torch.tensor(first).long(), torch.tensor(other).long(), cosines)
        is_same = (self.judge_candidates(table, table, pairs) >= self.thresholds.opens).tolist()
        second = {
            place: log_odds
            for (place, (log_odds, _)), same in zip(rivals.items(), is_same, strict=True)
            if not same
        }
        beside = self.judge.calibration.beside
        return {
            place: (edits[0][1], 1 / (1 + exp(-beside(edits[0][0], second.get(place, -inf)))))
            for place, edits in two.items()
        }


def find_contenders(questions: Readings, views: Sequence[ActiveEdits], min_cosine: float) -> Candidates:
    """Find the pairs to judge: each question with the near wordings of its RIVALS nearest edits.

    Counterexamples, and edits that have one near, are judged beside these.

    Args:
        views: The active edits that each question reads, of one table.
        min_cosine: Cosine from which a pair is worth judging (`Calibration.min_cosine`).
    """
    table = max((view.table for view in views), key=len)
    pairs = find_candidates(questions, table, _stack_read(views, len(table)), min_cosine)
    rows = [*zip(pairs.question.tolist(), pairs.wording.tolist(), strict=True)]
    # edits with a counterexample near: they may have to pass, so they take no place of another edit
    edits_with_doubt = {(place, edit) for place, row in rows for edit in views[place].against.get(row, ())}
    edits: list[set[int]] = [set() for _ in views]
    is_judged = []
    for place, row in rows:
        view, answering_edit = views[place], int(views[place].answering_edit[row])
        is_free = row in view.against or (place, int(view.owner[row])) in edits_with_doubt
        if not is_free and len(edits[place]) < RIVALS:
            edits[place].add(answering_edit)
        is_judged.append(is_free or answering_edit in edits[place])
    return pairs.select(torch.tensor(is_judged, dtype=torch.bool))


def _stack_read(views: Sequence[ActiveEdits], n_rows: int) -> Bool[Tensor, "view row"]:
    """Return which rows each view reads: one line where all views are the same."""
    if all(view is views[0] for view in views) and len(views[0].is_read) == n_rows:
        return views[0].is_read[None]
    is_read = torch.zeros(len(views), n_rows, dtype=torch.bool)
    for line, view in zip(is_read, views, strict=True):
        line[: len(view.is_read)] = view.is_read
    return is_read


def _tokens(
    questions: Readings | StoredReadings, wordings: Readings | StoredReadings, pairs: Candidates
) -> list[Pair]:
    texts = zip(pairs.question.tolist(), pairs.wording.tolist(), strict=True)
    return [(questions.tokens[question], wordings.tokens[wording]) for question, wording in texts]


def with_marks_of(readings: Readings, questions: Readings, places: list[int]) -> Readings:
    """Return readings of repaired questions, with the literals and subjects of the questions as they were asked."""
    return replace(readings, literals=questions.literals[places], subjects=questions.subjects[places])


def _weigh(probabilities: Tensor, cosines: Tensor) -> Tensor:
    """Return how much speaks for each pair, in log-odds: the judge cannot tell apart all that the vectors can."""
    return probabilities.logit(1e-6) + COSINE_WEIGHT * cosines


def _against(
    questions: Readings,
    views: Sequence[ActiveEdits],
    table: StoredReadings,
    pairs: Candidates,
    evidence: Tensor,
) -> dict[tuple[int, int], float]:
    """Return, by question and edit, the evidence that a counterexample of the edit asks for the same."""
    highest: dict[tuple[int, int], float] = defaultdict(lambda: -inf)
    if not any(view.against for view in views):
        return highest
    is_exact = (questions.wordings.cpu()[pairs.question] == table.wordings.cpu()[pairs.wording]).tolist()
    columns = pairs.question.tolist(), pairs.wording.tolist(), is_exact, evidence.tolist()
    for question, row, exact, weight in zip(*columns, strict=True):
        for edit in views[question].against.get(row, ()):
            highest[question, edit] = max(highest[question, edit], inf if exact else weight)
    return highest
