"""A system that breaks the contract is refused before it answers anyone, in a sentence that names what is wrong."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest
from pydantic import Field

from models.memory import EditRefused, Image, Material, Options, Usage, Views
from models.system import (
    AnswerDelta,
    Ask,
    BrokenContract,
    Bundle,
    Probes,
    Reply,
    check_contract,
    check_reply,
)

NOTES = "tests/notes"


class Notes:
    """A memory that holds nothing."""

    def __init__(self) -> None:
        self.name: str = NOTES
        self.accepts: frozenset[Any] = frozenset({"answer"})
        self.options: Any = Options
        self.base = Image("notes")

    def build(self, changes: Sequence[Any], options: Any) -> list[Material | EditRefused]:
        return [EditRefused("full", "nothing can be noted") for _ in changes]

    def fold(self, materials: Sequence[Material]) -> Image:
        return self.base

    def view(self, image: Image) -> str:
        return "a view"

    def usage(self, image: Image) -> Usage:
        return Usage(0, None)


class Parrot:
    """Answers each question with the question."""

    def __init__(self, score: Any = 0.5) -> None:
        self.name = "parrot"
        self.memories: tuple[str, ...] = (NOTES,)
        self.inputs: frozenset[Any] = frozenset()
        self.probes = Probes()
        self._score = score

    def answer(self, asks: Sequence[Ask], views: Sequence[Views]) -> list[Reply]:
        assert list(views) == [{NOTES: "a view"}] * len(asks)
        replies = [Reply(ask.question, 0.5, ask.question) for ask in asks]
        for reply in replies:
            object.__setattr__(reply, "score", self._score)  # the types of a Reply are checked in tests only
        return replies

    def describe(self) -> Mapping[str, Any]:
        return {}


def check(system: Any, *memories: Any) -> Bundle:
    return check_contract(Bundle(system, memories), "polly")


def test_a_system_that_keeps_the_contract_is_what_its_loader_returned() -> None:
    parrot = Bundle(Parrot(), (Notes(),))
    assert check_contract(parrot, "polly") is parrot
    check_reply(parrot)


@pytest.mark.parametrize("result", [None, Parrot(), (Parrot(), (Notes(),))])
def test_a_loader_that_returns_something_else(result: object) -> None:
    with pytest.raises(BrokenContract, match=r"the loader of 'polly' has to return Bundle"):
        check_contract(result, "polly")


@pytest.mark.parametrize("member", ["name", "memories", "inputs", "probes"])
def test_a_system_without_a_member(member: str) -> None:
    system = Parrot()
    parrot = Bundle(system, (Notes(),))
    delattr(system, member)
    with pytest.raises(BrokenContract, match=f"'polly' has no `{member}`"):
        check_contract(parrot, "polly")


@pytest.mark.parametrize("member", ["accepts", "options", "base"])
def test_a_memory_without_a_member(member: str) -> None:
    memory = Notes()
    parrot = Bundle(Parrot(), (memory,))
    delattr(memory, member)
    with pytest.raises(BrokenContract, match=f"the memory '{NOTES}' of 'polly' has no `{member}`"):
        check_contract(parrot, "polly")


def test_a_memory_that_nobody_declared() -> None:
    system = Parrot()
    system.memories = (NOTES, "tests/diary")
    with pytest.raises(BrokenContract, match=f"'tests/diary', which its loader does not return: {NOTES}"):
        check(system, Notes())
    with pytest.raises(BrokenContract, match=f"'{NOTES}', which its loader does not return: none"):
        check(Parrot())


def test_an_unknown_kind_of_change() -> None:
    memory = Notes()
    memory.accepts = frozenset({"answer", "gossip"})
    with pytest.raises(
        BrokenContract, match=f"'{NOTES}' of 'polly' accepts 'gossip', which is none of answer, "
    ):
        check(Parrot(), memory)


def test_an_unknown_input() -> None:
    system = Parrot()
    system.inputs = frozenset({"graph", "smell"})
    with pytest.raises(BrokenContract, match="'polly' has the input 'smell', which is none of candidates, "):
        check(system, Notes())


@pytest.mark.parametrize("options", [None, dict, Options()])
def test_options_that_are_no_options(options: object) -> None:
    memory = Notes()
    memory.options = options
    with pytest.raises(
        BrokenContract, match=f"`options` of the memory '{NOTES}' of 'polly' has to be a subclass of"
    ):
        check(Parrot(), memory)


@pytest.mark.parametrize("score", [None, 1.5, -0.1, float("nan"), "0.5"])
def test_a_reply_without_a_score(score: object) -> None:
    with pytest.raises(BrokenContract, match="a reply of the system 'parrot' has the score"):
        check_reply(Bundle(Parrot(score), (Notes(),)))


class Silent(Parrot):
    def answer(self, asks: Sequence[Ask], views: Sequence[Views]) -> list[Reply]:
        return []


def test_a_question_without_a_reply() -> None:
    with pytest.raises(BrokenContract, match="one Reply for each question"):
        check_reply(Bundle(Silent(), (Notes(),)))


class Talker(Parrot):
    """Streams a question letter by letter, the first left out, and then the reply."""

    def __init__(self, skip: int, ends: bool = True) -> None:
        super().__init__()
        self._skip, self._ends = skip, ends

    def stream(self, ask: Ask, views: Views) -> Iterator[AnswerDelta | Reply]:
        yield from map(AnswerDelta, ask.question[self._skip :])
        if self._ends:
            yield from self.answer([ask], [views])


def test_a_stream_that_is_not_the_answer() -> None:
    check_reply(Bundle(Talker(skip=0), (Notes(),)))
    for talker in (Talker(skip=1), Talker(skip=0, ends=False)):
        with pytest.raises(BrokenContract, match="`stream` of the system 'parrot' has to end with a Reply"):
            check_reply(Bundle(talker, (Notes(),)))


class Walker(Parrot):
    """Answers in two steps, of which the first is `step`; the reply is that of another question."""

    def __init__(self, step: Reply | None, other: str = "") -> None:
        super().__init__()
        self._step, self._other = step, other

    def answer_in_steps(self, ask: Ask, views: Views) -> Iterator[Reply | None]:
        yield self._step
        yield from self.answer([Ask(self._other or ask.question)], [views])


def test_steps_that_do_not_end_in_the_answer() -> None:
    check_reply(Bundle(Walker(None), (Notes(),)))
    for walker in (Walker(Reply("early", 1.0, "early")), Walker(None, "another question")):
        with pytest.raises(BrokenContract, match="`answer_in_steps` of the system 'parrot' has to end with"):
            check_reply(Bundle(walker, (Notes(),)))


def test_the_graph_as_an_input_needs_the_graph_as_a_memory() -> None:
    system = Parrot()
    system.inputs = frozenset({"graph"})
    with pytest.raises(
        BrokenContract, match="has the input 'graph' and does not read the memory 'graph/triples'"
    ):
        check(system, Notes())


def test_two_memories_of_one_name() -> None:
    with pytest.raises(BrokenContract, match="two memories of one name"):
        check(Parrot(), Notes(), Notes())


def test_kinds_of_change_that_are_no_frozenset() -> None:
    memory = Notes()
    memory.accepts = ["answer"]  # type: ignore[assignment]
    with pytest.raises(BrokenContract, match="which has to be a frozenset"):
        check(Parrot(), memory)


class Demanding(Options):
    strength: float


class Unhashable(Options):
    words: list[str] = Field(default_factory=list)


@pytest.mark.parametrize("options", [Demanding, Unhashable])
def test_options_without_a_default_or_a_hash(options: type[Options]) -> None:
    memory = Notes()
    memory.options = options
    with pytest.raises(BrokenContract, match="needs a default that can be hashed"):
        check(Parrot(), memory)
