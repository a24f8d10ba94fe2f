"""The contract of an answering system, so that the service need not know one from another.

A system answers from the memories it names (models/memory.py); an edit writes a memory and never a system.
Abilities of only some systems are optional capabilities (models/capabilities.py). models/README.md shows a whole system
in sixty lines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, get_args, runtime_checkable

from models.graph.knowledge import Entity, Mention
from models.memory import Memory, Views

Input: TypeAlias = Literal["graph", "context", "candidates", "document", "sampling"]
INPUTS: frozenset[str] = frozenset(get_args(Input))


@dataclass(frozen=True)
class Thresholds:
    """Probabilities that a question asks for an edit's fact."""

    opens: float = 0.5  # probability from which the edit answers
    near: float = 0.2  # probability from which a reply names the edit, though the base answers
    replaces: float = 0.9  # probability from which a new edit takes the place of an earlier one


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
    as_of: str = ""  # the day on which facts are current, as 2026-11-28; "" for today
    passages: tuple[int, ...] = (0,)  # places of the context's texts in it, where the caller sent several
    # Whether only an edit may answer, so that a system with a scope need not ask its base; others may answer anyway
    edits_only: bool = False


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
NO_EDIT = Reason("no_edit", "No edit answers the question, and only an edit was asked.")


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


@dataclass(frozen=True)
class Bundle:
    """The result of a loader. Systems of one process share a memory by its name."""

    system: System
    memories: tuple[Memory, ...]  # every memory that the system names
    device: str = "cpu"  # device on which the views of the memories lie; the service sets it
