"""The contract of an answering system, so that the service need not know one from another.

A system answers from the memories it names (models/memory.py); an edit writes a memory and never a system.
Abilities of only some systems are optional capabilities: separate protocols, which the service looks for with
`isinstance`. models/README.md shows a whole system in sixty lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, get_args, runtime_checkable

from models.graph.knowledge import Entity, Mention
from models.graph.neighbours import Reach
from models.memory import Memory, Views


@dataclass(frozen=True)
class Thresholds:
    """Probabilities that a question asks for an edit's fact."""

    opens: float = 0.5  # probability from which the edit answers
    near: float = 0.2  # probability from which a reply names the edit, though the base answers
    replaces: float = 0.9  # probability from which a new edit takes the place of an earlier one


Input: TypeAlias = Literal["graph", "context", "candidates", "document", "sampling"]
Verdict: TypeAlias = Literal[
    "answers", "less_likely", "near", "not_asked", "other_literal", "other_subject", "far"
]
INPUTS: frozenset[str] = frozenset(get_args(Input))


@dataclass(frozen=True)
class SamplingOptions:
    """The settings of a drawn text, for systems with the input `sampling`."""

    temperature: float = 0.0  # temperature of the draw; 0 takes the most probable token
    top_p: float = 1.0  # probability mass of the most probable tokens that are drawn from, in (0, 1]
    seed: int = 0  # seed of the draws
    max_tokens: int | None = None  # most tokens of the answer; None for the system's own limit
    stop: tuple[str, ...] = ()  # texts before which the answer ends
    # Number of other tokens that are listed beside each token of the answer; None lists no token
    logprobs: int | None = None


@dataclass(frozen=True)
class Ask:
    """One question, after the wire's checks."""

    question: str  # the question in the caller's words
    top_k: int = 1  # number of answers wanted; more than one asks for alternatives
    explain: bool = False  # whether the reply has to explain itself
    context: str | None = None  # text to take the answer from, for systems with this input
    document: str | None = None  # id of the document to take the answer from, for systems with this input
    candidates: tuple[str, ...] = ()  # answers to choose from, for systems with this input
    # What the graph says about the words of the question, for systems with the input `graph`
    mentions: tuple[Mention, ...] = ()
    # Further entities around those of `mentions`, the nearest first, for systems that fulfil `ReadsNeighbours`
    neighbours: tuple[Entity, ...] = ()
    use_graph: bool = True  # false if the caller wants an answer without the graph
    # How the answer is drawn, for systems with this input; it is given whatever its score
    sampling: SamplingOptions | None = None
    passages: tuple[int, ...] = (0,)  # places of the context's texts in it, where the caller sent several


@dataclass(frozen=True)
class Alternative:
    """Another answer with its probability."""

    answer: str
    score: float


@dataclass(frozen=True)
class NearbyEdit:
    """An edit that the question may ask for, though not surely enough to be answered by it."""

    edit: str  # id of the edit
    question: str  # the wording of the edit that is near
    probability: float  # probability that both ask for the same


class Reason(str):
    """A code that says why a system declines, with a sentence for a person; equal to its code."""

    sentence: str

    def __new__(cls, code: str, sentence: str) -> Reason:
        """Make the reason of a code."""
        reason = super().__new__(cls, code)
        reason.sentence = sentence
        return reason


UNSURE = Reason("unsure", "The model is not sure enough to answer.")


@dataclass(frozen=True)
class TokenScore:
    """A token of an answer with its log-probability, whatever the temperature."""

    text: str  # the token to the letter
    logprob: float  # its log-probability
    # The most probable tokens in its place with their log-probabilities, the most probable first
    top: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class Reply:
    """A system's reply to one question."""

    answer: str | None  # the answer; None when the system declines, and `reason` says why
    score: float  # calibrated probability that the answer is right, in [0, 1]
    best: str  # what the system would answer without declining; "" when it has nothing to answer
    reason: Reason | None = None  # why the system declines
    edits: tuple[str, ...] = ()  # ids of the edits whose rows the answer rests on
    alternatives: tuple[Alternative, ...] = ()  # other answers, the likeliest first
    truncated: bool = False  # whether the question was cut
    # What the answer rests on, as JSON values, if the question asked for it
    explanation: Mapping[str, Any] | None = None
    # Triples of the graph that the answer rests on: `entity`, `subject`, `relation`, `object`, `edit`
    facts: tuple[Mapping[str, Any], ...] = ()
    # An edit that the caller may ask back about; None where an edit answers
    nearby_edit: NearbyEdit | None = None
    # First character of the answer in the context or document that it was read from, and the one behind it
    place: tuple[int, int] | None = None
    wording: str = ""  # the wording by which the edit that answers was found; "" where none was
    # How a drawn answer ended: by itself or before a stop, or at its limit; None if none was drawn
    finish: Literal["stop", "length"] | None = None
    tokens: tuple[TokenScore, ...] = ()  # tokens of a drawn answer, if the question asked for them


@dataclass(frozen=True)
class AnswerDelta:
    """A part of an answer that is still being made."""

    text: str = ""  # next part of the answer; the texts of all deltas together are the answer
    # How far a system has come that reads before it writes, as JSON values
    progress: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Probes:
    """The questions by which the side effects of an edit are measured."""

    core: tuple[str, ...] = ()  # questions that are compared at every commit
    # All questions that the system was trained on; those near an edit are chosen from them
    training: tuple[str, ...] = ()
    # Wordings of each relation, with `{subject}`, untrained ones first. They reword the question of an edit, to see
    # how far it reaches.
    templates: tuple[tuple[str, ...], ...] = ()


class Side(NamedTuple):
    """The same questions on one side of a change; the graph may say other things about their words on the other."""

    asks: Sequence[Ask]
    views: Views


@runtime_checkable
class System(Protocol):
    """One answering system. Its members may be called from any thread: views and weights never change."""

    @property
    def name(self) -> str:
        """Return the name under which /v1/models lists the system."""

    @property
    def memories(self) -> tuple[str, ...]:
        """Return the names of the memories that the system reads."""

    @property
    def inputs(self) -> frozenset[Input]:
        """Return the inputs that the system takes beside the question."""

    @property
    def probes(self) -> Probes:
        """Return the questions by which side effects are measured."""

    def answer(self, asks: Sequence[Ask], views: Sequence[Views]) -> list[Reply]:
        """Answer a batch in one forward pass; `asks[i]` reads `views[i]`, and one view may serve several questions."""

    def describe(self) -> Mapping[str, Any]:
        """Return sizes, checkpoint, engine and device for GET /v1/models, as JSON values."""


@runtime_checkable
class Foresees(Protocol):
    """Foresees that an answer stays: much cheaper than asking, and needed for hundreds of questions per commit."""

    def may_differ(self, before: Side, after: Side) -> list[bool]:
        """Return False only if the answer and its edits are certainly the same on both sides; True may be wrong."""


@runtime_checkable
class ForeseesTaught(Protocol):
    """Foresees which of all questions in `Probes.training` a change may reach."""

    def may_reach(self, before: Views, after: Views) -> Sequence[str] | None:
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
    # number or code (`other_literal`) or another known subject; or `far`
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


@dataclass(frozen=True)
class Bundle:
    """The result of a loader. Systems of one process share a memory by its name."""

    system: System
    memories: tuple[Memory, ...]  # every memory that the system names
    device: str = "cpu"  # device on which the views of the memories lie; the service sets it
