"""Whether a system and its memories keep the contract: each rule, and the sentence that names what breaks it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from inspect import getattr_static
from typing import Any, TypeAlias

from models.capabilities import AnswersInSteps, Streams
from models.graph.memory import GRAPH
from models.memory import CHANGE_KINDS, Fields, Options, TakesFields
from models.system import INPUTS, AnswerDelta, Ask, Bundle, Reason, Reply

SYSTEM_MEMBERS = ("name", "memories", "inputs", "probes", "answer", "describe")
MEMORY_MEMBERS = ("name", "accepts", "options", "base", "build", "fold", "view", "usage")
MISSING = object()

Rules: TypeAlias = Iterator[tuple[bool, str]]
"""Whether each rule holds, and the sentence if it does not; a rule may rest on those before it."""


class BrokenContract(TypeError):
    """A system that does not keep the contract, in a sentence that names the system and the member."""


def check_contract(bundle: object, name: str) -> Bundle:
    """Return the bundle if it keeps the contract. BrokenContract: a member is missing or wrong."""
    if not isinstance(bundle, Bundle):
        raise BrokenContract(f"the loader of {name!r} has to return Bundle(system, memories), not {bundle!r}")
    _raise_first(_judge_bundle(bundle, name))
    return bundle


def check_reply(bundle: Bundle) -> None:
    """Ask one question, with the base of each memory.

    BrokenContract: the reply has no score or no reason, or steps or stream end with another reply.
    """
    _raise_first(_judge_replies(bundle))


def _raise_first(rules: Iterable[tuple[bool, str]]) -> None:
    for holds, sentence in rules:
        if not holds:
            raise BrokenContract(sentence)


def _judge_bundle(bundle: Bundle, name: str) -> Rules:
    system, memories, label = bundle.system, bundle.memories, f"the system {name!r}"
    yield isinstance(memories, tuple), f"the memories of {name!r} have to be a tuple, not {memories!r}"
    yield from _judge_members(system, SYSTEM_MEMBERS, label)
    for memory in memories:
        yield from _judge_memory(memory, f"the memory {getattr(memory, 'name', memory)!r} of {name!r}")
    names = [memory.name for memory in memories]
    loader_has = ", ".join(names) or "none"
    yield (
        len(set(names)) == len(names),
        f"the loader of {name!r} returns two memories of one name: {loader_has}",
    )
    memory_names = system.memories
    yield (
        isinstance(memory_names, tuple),
        f"`memories` of {label} has to be a tuple of names, not {memory_names!r}",
    )
    for memory_name in memory_names:
        detail = f"reads the memory {memory_name!r}, which its loader does not return: {loader_has}"
        yield memory_name in names, f"{name!r} {detail}"
    yield from _judge_values(system.inputs, INPUTS, f"{label} has the input")
    has_graph = "graph" not in system.inputs or GRAPH in memory_names
    yield has_graph, f"{label} has the input 'graph' and does not read the memory {GRAPH!r}"


def _judge_memory(memory: Any, label: str) -> Rules:
    yield from _judge_members(memory, MEMORY_MEMBERS, label)
    yield from _judge_values(memory.accepts, CHANGE_KINDS, f"{label} accepts")
    options: Any = memory.options
    is_subclass = isinstance(options, type) and issubclass(options, Options)
    yield is_subclass, f"`options` of {label} has to be a subclass of models.memory.Options"
    try:
        hash(options())
    except (TypeError, ValueError) as error:
        yield False, f"every field of `options` of {label} needs a default that can be hashed: {error}"
    fields = memory.fields if isinstance(memory, TakesFields) else {}
    for kind in sorted(memory.accepts - {"answer", "triple"}):
        has_fields = isinstance(fields.get(kind), type) and issubclass(fields[kind], Fields)
        detail = "its `fields` have to name a subclass of models.memory.Fields for it"
        yield has_fields, f"{label} accepts {kind!r}: {detail}"


def _judge_members(instance: object, members: Iterable[str], label: str) -> Rules:
    """Look for members without evaluating them, for `probes` reads a whole pack and `base` a checkpoint."""
    for member in members:
        is_there = getattr_static(instance, member, MISSING) is not MISSING
        yield is_there, f"{label} has no `{member}`: models/README.md says what it is"


def _judge_values(values: object, expected: frozenset[str], label: str) -> Rules:
    is_set = isinstance(values, frozenset)
    yield is_set, f"{label} {values!r}, which has to be a frozenset"
    for value in sorted(values - expected) if isinstance(values, frozenset) else ():
        yield False, f"{label} {value!r}, which is none of {', '.join(sorted(expected))}"


def _judge_replies(bundle: Bundle) -> Rules:
    ask, label, system = (
        Ask("What is the capital of France?"),
        f"the system {bundle.system.name!r}",
        bundle.system,
    )
    views = {memory.name: memory.view(memory.base) for memory in bundle.memories}
    replies: Any = system.answer([ask], [views])
    is_single = isinstance(replies, list) and len(replies) == 1 and isinstance(replies[0], Reply)
    yield is_single, f"`answer` of {label} has to return one Reply for each question: {replies!r}"
    reply: Reply = replies[0]
    is_reason = reply.reason is None or isinstance(reply.reason, Reason)
    yield is_reason, f"a reply of {label} has the reason {reply.reason!r}: it has to be a Reason"
    is_share = isinstance(reply.score, float) and 0 <= reply.score <= 1
    yield is_share, f"a reply of {label} has the score {reply.score!r}: it has to be a probability"
    if isinstance(system, AnswersInSteps):
        *steps, last_step = system.answer_in_steps(ask, views)
        detail = f"with the Reply of `answer`, after nothing but None: {steps!r}, {last_step!r}"
        ends_well = last_step == reply and all(step is None for step in steps)
        yield ends_well, f"`answer_in_steps` of {label} has to end {detail}"
    if isinstance(system, Streams):
        *deltas, last = system.stream(ask, views)
        text = "".join(delta.text for delta in deltas if isinstance(delta, AnswerDelta))
        detail = f"with a Reply whose answer is the text before it: {text!r}, {last!r}"
        ends_well = isinstance(last, Reply) and text == (last.answer or "")
        yield ends_well, f"`stream` of {label} has to end {detail}"
