"""The difference between the active edits of two versions, and the questions that it may route to another edit."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Bool
from torch import Tensor

from models.kit.batching import Cache
from models.scope.active import ActiveEdits
from models.scope.candidates import Candidates, find_candidates
from models.scope.judge import RIVAL
from models.scope.readings import Readings, StoredReadings
from models.scope.scope import Scope, with_marks_of

FLOAT_ERROR = 1e-4  # largest difference of one cosine that is computed in two ways
REPAIRED_CACHED = 2_048  # repaired questions, 2 kB each


@dataclass(frozen=True)
class Change:
    """A change from one version to another of the same generation."""

    old: ActiveEdits
    new: ActiveEdits
    is_changed: Bool[Tensor, " row"]  # rows that one version alone reads, or that another edit answers

    @staticmethod
    def between(old: ActiveEdits, new: ActiveEdits) -> "Change":
        """Compare two versions."""
        return Change(old, new, new.changed_rows(old))

    @property
    def table(self) -> StoredReadings:
        """Return the rows of both versions."""
        return max(self.old.table, self.new.table, key=len)

    @cached_property
    def wordings(self) -> Readings:
        """Return the wordings at the rows that changed."""
        return self.table.select(self.is_changed.nonzero().squeeze(1).tolist())

    def is_against(self, row: int) -> bool:
        """Return whether the wording at a row is a counterexample at one of the versions."""
        return row in self.old.against or row in self.new.against

    def differing_pairs(self, before: Candidates, after: Candidates) -> Candidates:
        """Return the pairs that are candidates at one version alone, and those with a wording that changed.

        Args:
            before: Candidates of some questions at the old version.
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
            if self.is_changed[pair[1]] or not (pair in cosines[0] and pair in cosines[1])
        )
        question, wording = torch.tensor(differing, dtype=torch.long).reshape(-1, 2).T
        cosine = torch.tensor([(cosines[0] | cosines[1])[pair] for pair in differing])
        return Candidates(question, wording, cosine)


class Rerouting:
    """Tells which questions a change of the active edits may reach. Threads may share it."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._cache: Cache[str, Readings] = Cache(REPAIRED_CACHED)

    def may_be_rerouted(self, questions: Readings, old: ActiveEdits, new: ActiveEdits) -> list[bool]:
        """Return False only for a question that the same edit answers at both versions.

        Judged are only the wordings that make a difference between the versions, and hardly any question meets one.
        """
        if old.generation != new.generation:
            return [True] * len(questions)
        change = Change.between(old, new)
        if not len(questions) or not len(change.wordings):
            return [False] * len(questions)
        may_be = torch.isin(questions.wordings, change.wordings.wordings).cpu()
        may_be |= self._may_be_judged_otherwise(questions, change)
        repairs = [(old.repair(tokens), new.repair(tokens)) for tokens in questions.tokens]
        may_be |= torch.tensor([before != after for before, after in repairs])
        texts = {place: text for place, (text, _) in enumerate(repairs) if text and not may_be[place]}
        if texts:
            repaired_questions = with_marks_of(
                self._read_repaired(list(texts.values())), questions, list(texts)
            )
            may_be[list(texts)] = self._may_be_judged_otherwise(repaired_questions, change)
        return [bool(may) for may in may_be]

    def _may_be_judged_otherwise(self, questions: Readings, change: Change) -> Bool[Tensor, " question"]:
        """Return whether each question meets a wording that makes a difference: likely enough, or a counterexample."""
        min_cosine = self._scope.min_cosine
        cosines = questions.vectors @ change.wordings.vectors.T
        near = (cosines.amax(1) >= min_cosine - FLOAT_ERROR).nonzero().squeeze(1).cpu()
        may_be = torch.zeros(len(questions), dtype=torch.bool)
        if not len(near):
            return may_be
        chunk = questions.select(near.tolist())
        sides = [
            find_candidates(chunk, view.table, view.is_read[None], min_cosine)
            for view in (change.old, change.new)
        ]
        pairs = change.differing_pairs(*sides)
        counts = self._scope.judge_candidates(chunk, change.table, pairs) >= min(
            self._scope.thresholds.opens, RIVAL
        )
        counts |= torch.tensor([change.is_against(row) for row in pairs.wording.tolist()], dtype=torch.bool)
        may_be[near[pairs.question[counts]]] = True
        return may_be

    def _read_repaired(self, texts: Sequence[str]) -> Readings:
        """Read repaired questions; an editor meets the same ones again with each change."""
        readings = self._cache.of(texts, lambda new: self._scope.judge.encode(new).split_evenly(1))
        return Readings.concatenate([readings[text] for text in texts])
