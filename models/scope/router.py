"""Routes questions to edits for a system, so that every system with a scope keeps the contract in the same way.

A system inherits from `Router`; its memory's view has the `ActiveEdits` of a version. models/capabilities.py documents
`Routes`, `HasScope` and `KnowsWords`.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

import torch
from more_itertools import chunked

from models.capabilities import ScopeVerdict
from models.memory import Views
from models.scope.active import ActiveEdits, Match
from models.scope.change import COMPARED_AT_ONCE, Rerouting
from models.scope.literals import digest_wordings
from models.scope.readings import Readings
from models.scope.scope import Scope
from models.scope.verdicts import examine
from models.system import Ask, NearbyEdit, Thresholds

Read = Callable[[Sequence[str]], Readings]


class EditsView(Protocol):
    """A view of a memory whose edits are found by a scope."""

    @property
    def active_edits(self) -> ActiveEdits:
        """The active edits of the version."""


class Router:
    """Implements `Routes`, `HasScope` and `KnowsWords` for a system.

    Args:
        scope: Decides which question an edit answers.
        read: Reads questions as the scope compares them, perhaps from a cache.
        memory: Name of the memory whose view has the active edits.
    """

    def __init__(self, scope: Scope, read: Read, memory: str) -> None:
        self._scope, self._read_questions, self._routed_memory = scope, read, memory
        self._rerouting = Rerouting(scope)

    @property
    def thresholds(self) -> Thresholds:
        """The probabilities from which the scope decides."""
        return self._scope.thresholds

    def set_thresholds(self, thresholds: Thresholds) -> None:
        """Set the probabilities from which the scope decides, before the first question."""
        self._scope.thresholds = thresholds

    def is_common(self, word: str) -> bool:
        """Return whether the judge reads a word in lower case whole."""
        return self._scope.judge.tokenizer.token_to_id(word) is not None

    @torch.inference_mode()
    def find_nearest(self, asks: Sequence[Ask], views: Views) -> list[NearbyEdit | None]:
        """Return the edit that each question most probably asks for; None if no edit is near."""
        matches = self._scope.find_nearest(self._read_asks(asks), self._active_edits(views))
        return [None if match is None else match.nearby_edit for match in matches]

    @torch.inference_mode()
    def examine_scope(self, ask: Ask, views: Views) -> list[ScopeVerdict]:
        """Return the verdicts on the wordings that a question resembles most."""
        return examine(self._scope, self._read_asks([ask]), self._active_edits(views))

    @torch.inference_mode()
    def route(self, asks: Sequence[Ask], views: Views) -> list[str | None]:
        """Return the edit that answers each question; None if the base does."""
        active_edits = [self._active_edits(views)] * len(asks)
        routes = self.find_routes([ask.question for ask in asks], active_edits)
        return [None if match is None else match.edit for match in routes]

    @torch.inference_mode()
    def find_same(self, asks: Sequence[Ask], views: Views) -> list[tuple[str, ...]]:
        """Return the active edits that a new edit of each question replaces."""
        active_edits = self._active_edits(views)
        same = self._scope.find_same(self._read_asks(asks), active_edits)
        return [tuple(active_edits.edits[edit].edit for edit in edits) for edits in same]

    @torch.inference_mode()
    def find_misrouted(self, views: Views) -> dict[str, tuple[str | None, ...]]:
        """Return, for each edit that does not answer all its wordings, the edits that answer them."""
        active_edits = self._active_edits(views)
        edits = active_edits.edits
        return {
            edits[edit].edit: tuple(edits[other].edit for other in answering)
            for edit, answering in active_edits.find_misrouted().items()
        }

    def find_routes(self, questions: Sequence[str], views: Sequence[ActiveEdits]) -> list[Match | None]:
        """Return the match of each question at its version; one taught word for word need not be read."""
        wordings = digest_wordings(questions).tolist()
        matches = [
            match
            for wording, view in zip(wordings, views, strict=True)
            for match in self._scope.match_exactly([wording], view)
        ]
        rest = [place for place, match in enumerate(matches) if match is None]
        if rest:
            readings = self._read_questions([questions[place] for place in rest])
            routes = self._scope.route(readings, [views[place] for place in rest])
            for place, match in zip(rest, routes, strict=True):
                matches[place] = match
        return matches

    def find_rerouted(self, questions: Sequence[str], *views: ActiveEdits) -> list[list[bool]]:
        """Return for each step from a version to the next one which questions other edits, or other rows, answer."""
        may_be_rerouted = self._rerouting.may_be_rerouted(self._read_questions(questions), *views)
        near = [
            (step, place)
            for step, may_be in enumerate(may_be_rerouted)
            for place in range(len(questions))
            if may_be[place]
        ]
        digests: dict[tuple[int, int], tuple[str, str] | None] = {}
        items = dict.fromkeys((step + side, place) for step, place in near for side in (0, 1))
        for batch in chunked(items, COMPARED_AT_ONCE):
            routes = self.find_routes(
                [questions[place] for _, place in batch], [views[version] for version, _ in batch]
            )
            keys = [None if route is None else (route.block.key, route.block.digest) for route in routes]
            digests |= zip(batch, keys, strict=True)
        for step, place in near:
            may_be_rerouted[step][place] = digests[step, place] != digests[step + 1, place]
        return may_be_rerouted

    def _active_edits(self, views: Views) -> ActiveEdits:
        view: EditsView = views[self._routed_memory]
        return view.active_edits

    def _read_asks(self, asks: Sequence[Ask]) -> Readings:
        return self._read_questions([ask.question for ask in asks])
