"""The abilities of only some systems, each a protocol that the service looks for with `isinstance`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from models.graph.neighbours import Reach
from models.memory import Views
from models.system import AnswerDelta, Ask, NearbyEdit, Reply, Side, Thresholds

Verdict: TypeAlias = Literal[
    "answers", "less_likely", "near", "not_asked", "other_literal", "other_subject", "far"
]


@runtime_checkable
class PredictsAffected(Protocol):
    """Foresees that an answer stays: much cheaper than asking, and needed for hundreds of questions per commit."""

    def may_differ(self, before: Side, after: Side) -> list[bool]:
        """Return False only if the answer and its edits are certainly the same on both sides; True may be wrong."""


@runtime_checkable
class ForeseesSteps(PredictsAffected, Protocol):
    """Foresees for several consecutive changes at once, which costs much less than one after the other."""

    def may_differ_in_steps(self, asks: Sequence[Ask], versions: Sequence[Views]) -> list[list[bool]]:
        """Return for each step from a version to the next one what `may_differ` says of each question."""


@runtime_checkable
class ForeseesTaught(Protocol):
    """Foresees which of all questions in `Probes.training` a change may reach."""

    def find_affected(self, before: Views, after: Views) -> Sequence[str] | None:
        """Return the trained questions whose answers may have changed, first those to ask; None if it cannot tell."""


@runtime_checkable
class Routes(Protocol):
    """Routes a question to the edit that answers it, so that the answer of a routed question needs no forward pass."""

    def route(self, asks: Sequence[Ask], views: Views) -> list[str | None]:
        """Return the edit that answers each question; None where only asking tells."""

    def find_same(self, asks: Sequence[Ask], views: Views) -> list[tuple[str, ...]]:
        """Return the active edits that each question surely asks for; a new edit of the question replaces them."""

    def find_misrouted(self, views: Views) -> Mapping[str, Sequence[str | None]]:
        """Find the active edits that do not certainly answer all their own wordings.

        The result is exact, and cheap when a close view was examined before.

        Returns:
            Edit -> the edit that answers each wording, the question first (None: the base answers), or () where only
            asking tells.
        """


@dataclass(frozen=True)
class ScopeVerdict:
    """The scope's verdict on one wording that a question resembles."""

    owner: str  # the edit that was given the wording
    edit: str  # the edit that answers for it
    question: str  # the wording
    cosine: float  # cosine of the sentence vectors of question and wording
    probability: float | None  # probability that both ask for the same; None where the judge was not asked
    # `answers`; `less_likely` than another edit that answers; `near`; `not_asked`; excluded because it names another
    # number or code (`other_literal`) or another known subject; or `far`, as are edits
    # further than the two nearest
    verdict: Verdict


@runtime_checkable
class HasScope(Protocol):
    """Judges whether a question asks for the fact of an edit, and lets a person say how sure it has to be."""

    @property
    def thresholds(self) -> Thresholds:
        """Return how sure the scope has to be."""

    def set_thresholds(self, thresholds: Thresholds) -> None:
        """Set how sure the scope has to be, before the first question."""

    def find_nearest(self, asks: Sequence[Ask], views: Views) -> list[NearbyEdit | None]:
        """Return the edit that each question most probably asks for, however improbable; None if no edit is near."""

    def examine_scope(self, ask: Ask, views: Views) -> list[ScopeVerdict]:
        """Return the verdicts on the wordings that the question resembles most, the likeliest first."""


@runtime_checkable
class KnowsWords(Protocol):
    """Tells common words from rare ones, which may be misspelt."""

    def is_common(self, word: str) -> bool:
        """Return whether the system reads a word in lower case whole, and not in pieces."""


@runtime_checkable
class Streams(Protocol):
    """Tells an answer while it is made. The system is blocked during a step, and free between two."""

    def stream(self, ask: Ask, views: Views) -> Iterator[AnswerDelta | Reply]:
        """Yield deltas as they are made, and last the Reply that `answer` gives. A declined answer has no text."""


@runtime_checkable
class AnswersInSteps(Protocol):
    """Answers a long question in steps of 0.1 s at the most, so that others are answered in between.

    The service stops it between two steps when its caller has hung up.
    """

    def answer_in_steps(self, ask: Ask, views: Views) -> Iterator[Reply | None]:
        """Yield None after each step, and last the Reply that `answer` gives."""


@runtime_checkable
class Costs(Protocol):
    """Costs more to ask than `models.cost.default_cost` counts.

    The ingress, which loads no system, calls the same function: it is `cost` in a module `cost` beside the loader's
    module, and imports no torch.
    """

    def cost(self, ask: Ask) -> int:
        """Return the cost in short questions, 1 or more; of `Ask.mentions` only the number matters."""


@runtime_checkable
class ReadsNeighbours(Protocol):
    """Reads facts of entities that a question does not name; the service puts these into `Ask.neighbours`."""

    @property
    def reach(self) -> Reach:
        """Return how far from the entities of a question the system reads."""
