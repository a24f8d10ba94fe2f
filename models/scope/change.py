"""The difference between the active edits of versions, and the questions that it may route to another edit."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import torch
from jaxtyping import Bool, Int
from more_itertools import chunked
from torch import Tensor

from models.kit.batching import Cache
from models.scope.active import ActiveEdits
from models.scope.candidates import Candidates
from models.scope.judge import RIVAL
from models.scope.readings import Readings, StoredReadings, Tokens
from models.scope.scope import Scope, find_contenders, with_marks_of

FLOAT_ERROR = 1e-4  # largest difference of one cosine that is computed in two ways
# Questions of a step whose candidates are found at once: each takes a byte for every row
COMPARED_AT_ONCE = 64
REPAIRED_CACHED = 2_048  # repaired questions, 2 kB each


@dataclass(frozen=True)
class Change:
    """A change from one version to another of the same generation, in one step or in several."""

    views: Sequence[ActiveEdits]  # each version, in order
    # Rows that one side of a step alone reads, or that another edit answers
    is_changed: Bool[Tensor, "step row"]

    @staticmethod
    def between(*views: ActiveEdits) -> "Change":
        """Compare versions, each with the one before it."""
        is_changed = torch.zeros(len(views) - 1, max(len(view.table) for view in views), dtype=torch.bool)
        for line, (old, new) in zip(is_changed, pairwise(views), strict=True):
            if old is not new:
                changed_rows = new.changed_rows(old)
                line[: len(changed_rows)] = changed_rows
        return Change(views, is_changed)

    @property
    def table(self) -> StoredReadings:
        """Return the rows of all versions."""
        return max((view.table for view in self.views), key=len)

    @cached_property
    def rows(self) -> Int[Tensor, " wording"]:
        """Return the rows that any step changes."""
        return self.is_changed.any(0).nonzero().squeeze(1)

    @cached_property
    def wordings(self) -> Readings:
        """Return the wordings at these rows."""
        return self.table.select(self.rows.tolist())

    def meet(self, meets: Bool[Tensor, "question wording"]) -> Bool[Tensor, "step question"]:
        """Return which questions meet a wording that each step changes, given those that meet each wording."""
        return (self.is_changed[:, self.rows].float() @ meets.cpu().float().T) > 0

    def repair(self, questions: Sequence[Tokens]) -> list[list[str | None]]:
        """Return each question with its misspelt words put right at each version; most repairs depend on no change."""
        repairs = []
        dependent = self.views[-1].lexicon.find_dependent(questions, self.wordings.tokens)
        for question, is_dependent in zip(questions, dependent.tolist(), strict=True):
            first = self.views[0].repair(question)
            for view in () if is_dependent else self.views[1:]:
                view.keep_repair(question, first)
            repairs.append([view.repair(question) if is_dependent else first for view in self.views])
        return repairs

    def is_against(self, step: int, row: int) -> bool:
        """Return whether the wording at a row is a counterexample at one of the versions of a step."""
        return any(row in view.against for view in self.views[step : step + 2])

    def differing_pairs(self, steps: Sequence[int], before: Candidates, after: Candidates) -> Candidates:
        """Return the pairs that are candidates at one version alone, and those with a wording that changed.

        Args:
            steps: The step of each of some questions.
            before: Candidates of the questions at the old version of their step.
            after: Candidates of the same questions at the new one.
        """
        cosines = [
            dict(
                zip(
                    zip(side.question.tolist(), side.wording.tolist(), strict=True),
                    side.cosine.tolist(),
                    strict=True,
                )
            )
            for side in (before, after)
        ]
        differing = sorted(
            pair
            for pair in cosines[0].keys() | cosines[1].keys()
            if self.is_changed[steps[pair[0]], pair[1]] or not (pair in cosines[0] and pair in cosines[1])
        )
        question, wording = torch.tensor(differing, dtype=torch.long).reshape(-1, 2).T
        cosine = torch.tensor([(cosines[0] | cosines[1])[pair] for pair in differing])
        return Candidates(question, wording, cosine)


class Rerouting:
    """Tells which questions a change of the active edits may reach. Threads may share it."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._cache: Cache[str, Readings] = Cache(REPAIRED_CACHED)

    def may_be_rerouted(self, questions: Readings, *views: ActiveEdits) -> list[list[bool]]:
        """Return for each step from a version to the next one False only for a question that the same edit answers.

        Judged are only the wordings that make a difference between two versions, all in one batch, and hardly any
        question meets one.
        """
        if len({view.generation for view in views}) > 1:
            if len(views) == 2:
                return [[True] * len(questions)]
            return [self.may_be_rerouted(questions, *pair)[0] for pair in pairwise(views)]
        change = Change.between(*views)
        if not len(questions) or not len(change.rows):
            return [[False] * len(questions) for _ in change.is_changed]
        may_be = change.meet(questions.wordings[:, None] == change.wordings.wordings)
        may_be |= self._may_be_judged_otherwise(questions, change, ~may_be)
        repairs = change.repair(questions.tokens)
        may_be |= torch.tensor(
            [[old != new for old, new in pairwise(texts)] for texts in repairs], dtype=torch.bool
        ).T
        texts = [
            (place, text) for place, texts in enumerate(repairs) for text in dict.fromkeys(texts) if text
        ]
        if texts:
            places = [place for place, _ in texts]
            readings = with_marks_of(self._read_repaired([text for _, text in texts]), questions, places)
            judged_otherwise = self._may_be_judged_otherwise(readings, change, ~may_be[:, places])
            for place, column in zip(places, judged_otherwise.T, strict=True):
                may_be[:, place] |= column
        may: list[list[bool]] = may_be.tolist()
        return may

    def _may_be_judged_otherwise(
        self, questions: Readings, change: Change, is_open: Bool[Tensor, "step question"]
    ) -> Bool[Tensor, "step question"]:
        """Return whether each question meets a wording that makes a difference: likely enough, or a counterexample.

        Args:
            is_open: The questions of each step that are compared; the others count as not met.
        """
        min_cosine = self._scope.min_cosine
        near = change.meet(questions.vectors @ change.wordings.vectors.T >= min_cosine - FLOAT_ERROR)
        may_be = torch.zeros_like(near)
        for items in chunked((near & is_open).nonzero().tolist(), COMPARED_AT_ONCE):
            steps, chunk = [step for step, _ in items], questions.select([place for _, place in items])
            sides = [
                find_contenders(chunk, [change.views[step + side] for step in steps], min_cosine)
                for side in (0, 1)
            ]
            pairs = change.differing_pairs(steps, *sides)
            counts = self._scope.judge_candidates(chunk, change.table, pairs) >= min(
                self._scope.thresholds.opens, RIVAL
            )
            rows = zip(pairs.question.tolist(), pairs.wording.tolist(), strict=True)
            counts |= torch.tensor(
                [change.is_against(steps[item], row) for item, row in rows], dtype=torch.bool
            )
            for item in pairs.question[counts].tolist():
                may_be[tuple(items[item])] = True
        return may_be

    def _read_repaired(self, texts: Sequence[str]) -> Readings:
        """Read repaired questions; an editor meets the same ones again with each change."""
        readings = self._cache.of(texts, lambda new: self._scope.judge.encode(new).split_evenly(1))
        return Readings.concatenate([readings[text] for text in texts])
