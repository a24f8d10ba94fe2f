"""The contract of an answering system, so that the service need not know one from another.

A system answers from the memories it names (models/memory.py); an edit writes a memory and never a system. What only
some systems can tell is an optional capability: a protocol of its own, which the service looks for with `isinstance`.
models/README.md shows a whole system in sixty lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from inspect import getattr_static
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, get_args, runtime_checkable

from models.graph.knowledge import Mention
from models.graph.memory import GRAPH
from models.memory import CHANGE_KINDS, Fields, Memory, Options, TakesFields, Views


@dataclass(frozen=True)
class Thresholds:
    """Probabilities that a question asks for an edit's fact.

    opens: from which the edit answers. near: from which a reply names it, though the base answers. replaces: from
    which a new edit takes the place of an earlier one.
    """

    opens: float = 0.25
    near: float = 0.1
    replaces: float = 0.9


Input: TypeAlias = Literal["graph", "context", "candidates", "document"]
Verdict: TypeAlias = Literal[
    "answers", "less_likely", "near", "not_asked", "other_literal", "other_subject", "far"
]
INPUTS: frozenset[str] = frozenset(get_args(Input))


@dataclass(frozen=True)
class Ask:
    """One question, after the wire's checks. `top_k` > 1 asks for alternatives, `explain` for a trace.

    context, candidates, document: what to choose the answer from, for systems with these inputs.
    mentions: what the graph at the asked version says of the words of the question, for systems with the input
    `graph`; empty without the graph, too. use_graph: False where the caller wants an answer without the graph.
    """

    question: str
    top_k: int = 1
    explain: bool = False
    context: str | None = None
    document: str | None = None
    candidates: tuple[str, ...] = ()
    mentions: tuple[Mention, ...] = ()
    use_graph: bool = True


@dataclass(frozen=True)
class Alternative:
    answer: str
    score: float


@dataclass(frozen=True)
class NearbyEdit:
    """An edit that the question may ask for, and not surely enough to be answered by it.

    question: the wording of the edit that is near. probability: that both ask for the same.
    """

    edit: str
    question: str
    probability: float


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
class Reply:
    """A system's reply to one question.

    answer: None when the system declines; `reason` then says why.
    score: calibrated probability that the answer is right, in [0, 1].
    edits: ids of the edits whose rows this answer rests on.
    facts: what the answer rests on in the graph, as JSON values: `entity`, `subject`, `relation`, `object`, `edit`.
    best: what would be answered without declining; "" when there is nothing to answer.
    nearby_edit: what a caller may ask back about; None where an edit answers.
    """

    answer: str | None
    score: float
    best: str
    reason: Reason | None = None
    edits: tuple[str, ...] = ()
    alternatives: tuple[Alternative, ...] = ()
    truncated: bool = False
    explanation: Mapping[str, Any] | None = None
    facts: tuple[Mapping[str, Any], ...] = ()
    nearby_edit: NearbyEdit | None = None


@dataclass(frozen=True)
class AnswerDelta:
    """A part of an answer that is still being made.

    text: what the answer goes on with; the texts of all deltas are the answer. progress: for systems that read before
    they write, as JSON values.
    """

    text: str = ""
    progress: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Probes:
    """The questions by which the side effects of an edit are measured; none of them by default.

    core: compared at every commit. training: all questions the system was trained on, from which those near an edit are
    chosen. templates: for each relation its wordings, with `{subject}`, those nobody trained on first: they reword
    the question of an edit, to see how far it reaches.
    """

    core: tuple[str, ...] = ()
    training: tuple[str, ...] = ()
    templates: tuple[tuple[str, ...], ...] = ()


class Side(NamedTuple):
    """The same questions on one side of a change: what the graph says of their words may differ between the two."""

    asks: Sequence[Ask]
    views: Views


@runtime_checkable
class System(Protocol):
    """One answering system. Thread-safe: views are immutable and the weights never change.

    name: what /v1/models calls it. memories: names of those it reads. inputs: what it takes beside the question.
    """

    @property
    def name(self) -> str: ...

    @property
    def memories(self) -> tuple[str, ...]: ...

    @property
    def inputs(self) -> frozenset[Input]: ...

    @property
    def probes(self) -> Probes: ...

    def answer(self, asks: Sequence[Ask], views: Sequence[Views]) -> list[Reply]:
        """One forward pass for the whole batch; `views[i]` is what `asks[i]` reads. Bit-equal views may repeat."""

    def describe(self) -> Mapping[str, Any]:
        """For GET /v1/models: sizes, checkpoint, engine, device. JSON values only."""


@runtime_checkable
class Foresees(Protocol):
    """Tells without asking that an answer stays: much cheaper, and measured on hundreds of questions per commit."""

    def may_differ(self, before: Side, after: Side) -> list[bool]:
        """False where both sides certainly give the same answer from the same edits. False is never wrong."""


@runtime_checkable
class ForeseesTaught(Protocol):
    """Tells which of all questions in `Probes.training` a change may reach."""

    def may_reach(self, before: Views, after: Views) -> Sequence[str] | None:
        """The taught questions that may be answered differently, the likeliest first; None where it cannot tell."""


@runtime_checkable
class Routes(Protocol):
    """Routes a question to the edit that answers it, so that the answer of a routed question needs no forward pass."""

    def route(self, asks: Sequence[Ask], views: Views) -> list[str | None]:
        """The edit that answers each question; None where only asking tells."""

    def find_same(self, asks: Sequence[Ask], views: Views) -> list[tuple[str, ...]]:
        """The active edits that each question asks for with high probability: a new edit of it takes their place."""

    def find_misrouted(self, views: Views) -> Mapping[str, Sequence[str | None]]:
        """Of the active edits, those that do not certainly answer all their own wordings.

        Returns: edit -> the edit that answers each wording, the question first (None: the base answers), or () where
        only asking tells. Exact, and cheap when a close view was examined before.
        """


@dataclass(frozen=True)
class ScopeVerdict:
    """What became of one wording that a question resembles.

    owner: the edit that was given the wording. edit: the one that answers for it. question: the wording. probability:
    that both ask for the same; None where nobody was asked. verdict: it answers; it could, and another is likelier; it
    is near; it is not asked for; it names another number or code, or another known subject; it reads too differently.
    """

    owner: str
    edit: str
    question: str
    cosine: float
    probability: float | None
    verdict: Verdict


@runtime_checkable
class HasScope(Protocol):
    """Judges whether a question asks for the fact of an edit, and lets a person say how sure it has to be."""

    @property
    def thresholds(self) -> Thresholds: ...

    def set_thresholds(self, thresholds: Thresholds) -> None:
        """Before the first question."""

    def find_nearest(self, asks: Sequence[Ask], views: Views) -> list[NearbyEdit | None]:
        """The edit that each question likeliest asks for, however unlikely; None where no edit is near."""

    def examine_scope(self, ask: Ask, views: Views) -> list[ScopeVerdict]:
        """The wordings that the question resembles most, the likeliest first."""


@runtime_checkable
class Streams(Protocol):
    """Tells an answer while it is made. Each step blocks the system for as long as it takes, and no longer."""

    def stream(self, ask: Ask, views: Views) -> Iterator[AnswerDelta | Reply]:
        """Yield deltas as they are made, and last the Reply that `answer` gives. One that declines has no text."""


@runtime_checkable
class AnswersInSteps(Protocol):
    """Answers a long question in steps of 0.1 s at the most, so that others are answered in between.

    It is given up between two of them when nobody waits for it any more.
    """

    def answer_in_steps(self, ask: Ask, views: Views) -> Iterator[Reply | None]:
        """Yield None after each step, and last the Reply that `answer` gives."""


@dataclass(frozen=True)
class Bundle:
    """What a loader returns: a system and every memory that it names. Systems of one process share a memory by name.

    device: where the views of the memories lie; the service sets it.
    """

    system: System
    memories: tuple[Memory, ...]
    device: str = "cpu"


class BrokenContract(TypeError):
    """A system that does not keep the contract, in a sentence that names the system and the member."""


def check_contract(bundle: object, name: str) -> Bundle:
    """`bundle` if it keeps the contract; BrokenContract names the first member that does not.

    Args:
        bundle: what a loader returned.
        name: under which the system is served.
    """
    if not isinstance(bundle, Bundle):
        raise BrokenContract(f"the loader of {name!r} has to return Bundle(system, memories), not {bundle!r}")
    system = bundle.system
    if not isinstance(bundle.memories, tuple):
        raise BrokenContract(f"the memories of {name!r} have to be a tuple, not {bundle.memories!r}")
    _check_members(
        system, ("name", "memories", "inputs", "probes", "answer", "describe"), f"the system {name!r}"
    )
    for memory in bundle.memories:
        label = f"the memory {getattr(memory, 'name', memory)!r} of {name!r}"
        _check_members(
            memory, ("name", "accepts", "options", "base", "build", "fold", "view", "usage"), label
        )
        _check_known(memory.accepts, CHANGE_KINDS, f"{label} accepts")
        _check_options(memory.options, label)
        _check_fields(memory, label)
    names = [memory.name for memory in bundle.memories]
    if len(set(names)) < len(names):
        raise BrokenContract(f"the loader of {name!r} returns two memories of one name: {', '.join(names)}")
    if not isinstance(system.memories, tuple):
        raise BrokenContract(
            f"`memories` of the system {name!r} has to be a tuple of names, not {system.memories!r}"
        )
    if missing := [memory for memory in system.memories if memory not in names]:
        loader_has = ", ".join(names) or "none"
        detail = f"reads the memory {missing[0]!r}, which its loader does not return: {loader_has}"
        raise BrokenContract(f"{name!r} {detail}")
    _check_known(system.inputs, INPUTS, f"the system {name!r} has the input")
    if "graph" in system.inputs and GRAPH not in system.memories:
        raise BrokenContract(
            f"the system {name!r} has the input 'graph' and does not read the memory {GRAPH!r}"
        )
    return bundle


def _check_options(options: object, label: str) -> None:
    if not (isinstance(options, type) and issubclass(options, Options)):
        raise BrokenContract(f"`options` of {label} has to be a subclass of models.memory.Options")
    try:
        hash(options())
    except (TypeError, ValueError) as error:
        raise BrokenContract(
            f"every field of `options` of {label} needs a default that can be hashed: {error}"
        ) from None


def _check_fields(memory: Memory, label: str) -> None:
    fields = memory.fields if isinstance(memory, TakesFields) else {}
    for kind in sorted(memory.accepts - {"answer", "triple"}):
        if not (isinstance(fields.get(kind), type) and issubclass(fields[kind], Fields)):
            raise BrokenContract(
                f"{label} accepts {kind!r}: its `fields` have to name a subclass of models.memory.Fields for it"
            )


def _check_members(instance: object, members: Sequence[str], label: str) -> None:
    """Without evaluating a property: `probes` reads a whole pack, `base` a checkpoint."""
    for member in members:
        try:
            getattr_static(instance, member)
        except AttributeError:
            raise BrokenContract(f"{label} has no `{member}`: models/README.md says what it is") from None


def _check_known(values: object, expected: frozenset[str], label: str) -> None:
    if not isinstance(values, frozenset):
        raise BrokenContract(f"{label} {values!r}, which has to be a frozenset")
    if unknown := sorted(values - expected):
        raise BrokenContract(f"{label} {unknown[0]!r}, which is none of {', '.join(sorted(expected))}")


def check_reply(bundle: Bundle) -> None:
    """Ask one question of the memories' bases; BrokenContract when it has no reply, no score or another stream."""
    ask = Ask("What is the capital of France?")
    views = {memory.name: memory.view(memory.base) for memory in bundle.memories}
    replies = bundle.system.answer([ask], [views])
    name = bundle.system.name
    if not isinstance(replies, list) or len(replies) != 1 or not isinstance(replies[0], Reply):
        raise BrokenContract(
            f"`answer` of the system {name!r} has to return one Reply for each question: {replies!r}"
        )
    reason = replies[0].reason
    if reason is not None and not isinstance(reason, Reason):
        raise BrokenContract(
            f"a reply of the system {name!r} has the reason {reason!r}: it has to be a Reason"
        )
    score = replies[0].score
    if not isinstance(score, float) or not 0 <= score <= 1:
        raise BrokenContract(
            f"a reply of the system {name!r} has the score {score!r}: it has to be a probability"
        )
    if isinstance(bundle.system, AnswersInSteps):
        *steps, last_step = bundle.system.answer_in_steps(ask, views)
        if last_step != replies[0] or any(step is not None for step in steps):
            raise BrokenContract(
                f"`answer_in_steps` of the system {name!r} has to end with the Reply of `answer`, after nothing but "
                f"None: {steps!r}, {last_step!r}"
            )
    if isinstance(bundle.system, Streams):
        *deltas, last = bundle.system.stream(ask, views)
        text = "".join(delta.text for delta in deltas if isinstance(delta, AnswerDelta))
        if not isinstance(last, Reply) or text != (last.answer or ""):
            raise BrokenContract(
                f"`stream` of the system {name!r} has to end with a Reply whose answer is the text before it: "
                f"{text!r}, {last!r}"
            )
