"""A system that breaks the contract is refused before it answers anyone, in a sentence that names what is wrong.

A system is read and changed alone: what two of them need lies in the kit, or in a package of its own.
"""

import ast
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import Field

from models.blocks import Image
from models.contract import BrokenContract, check_contract, check_reply
from models.memory import EditRefused, Material, Options, Usage, Views
from models.system import AnswerDelta, Ask, Bundle, Probes, Reply
from models.systems import SYSTEMS

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


def test_a_system_that_keeps_the_contract_is_what_its_loader_returned() -> None:
    parrot = Bundle(Parrot(), (Notes(),))
    assert check_contract(parrot, "polly") is parrot


@pytest.mark.parametrize("result", [None, Parrot(), (Parrot(), (Notes(),))])
def test_a_loader_that_returns_something_else(result: object) -> None:
    with pytest.raises(BrokenContract, match=r"the loader of 'polly' has to return Bundle"):
        check_contract(result, "polly")


class Demanding(Options):
    strength: float


class Unhashable(Options):
    words: list[str] = Field(default_factory=list)


MISSING = object()
NO_OPTIONS = f"`options` of the memory '{NOTES}' of 'polly' has to be a subclass of"
MEMBERS: list[tuple[type[Any], str, Any, str]] = [
    *(
        (Parrot, name, MISSING, f"'polly' has no `{name}`")
        for name in ("name", "memories", "inputs", "probes")
    ),
    *(
        (Notes, name, MISSING, f"the memory '{NOTES}' of 'polly' has no `{name}`")
        for name in ("accepts", "options", "base")
    ),
    (Parrot, "memories", (NOTES, "tests/diary"), f"'tests/diary', which its loader does not return: {NOTES}"),
    (Parrot, "inputs", {"graph", "smell"}, "'polly' has the input 'smell', which is none of candidates, "),
    (Parrot, "inputs", {"graph"}, "has the input 'graph' and does not read the memory 'graph/triples'"),
    (
        Notes,
        "accepts",
        frozenset({"answer", "gossip"}),
        f"'{NOTES}' of 'polly' accepts 'gossip', which is none of",
    ),
    (Notes, "accepts", ["answer"], "which has to be a frozenset"),
    *((Notes, "options", options, NO_OPTIONS) for options in (None, dict, Options())),
    *(
        (Notes, "options", options, "needs a default that can be hashed")
        for options in (Demanding, Unhashable)
    ),
]


@pytest.mark.parametrize(("part", "member", "value", "message"), MEMBERS)
def test_a_member_that_is_missing_or_wrong(part: type[Any], member: str, value: Any, message: str) -> None:
    system, memory = Parrot(), Notes()
    bundle, broken = Bundle(system, (memory,)), system if part is Parrot else memory
    if value is MISSING:
        delattr(broken, member)
    else:
        setattr(broken, member, frozenset(value) if member == "inputs" else value)
    with pytest.raises(BrokenContract, match=message):
        check_contract(bundle, "polly")


def test_memories_have_to_be_returned_once_each() -> None:
    with pytest.raises(BrokenContract, match=f"'{NOTES}', which its loader does not return: none"):
        check_contract(Bundle(Parrot(), ()), "polly")
    with pytest.raises(BrokenContract, match="two memories of one name"):
        check_contract(Bundle(Parrot(), (Notes(), Notes())), "polly")


class Silent(Parrot):
    def answer(self, asks: Sequence[Ask], views: Sequence[Views]) -> list[Reply]:
        return []


class Talker(Parrot):
    """Streams a question letter by letter, the first left out, and then the reply."""

    def __init__(self, skip: int, ends: bool = True) -> None:
        super().__init__()
        self._skip, self._ends = skip, ends

    def stream(self, ask: Ask, views: Views) -> Iterator[AnswerDelta | Reply]:
        yield from map(AnswerDelta, ask.question[self._skip :])
        if self._ends:
            yield from self.answer([ask], [views])


class Walker(Parrot):
    """Answers in two steps, of which the first is `step`; the reply is that of another question."""

    def __init__(self, step: Reply | None, other: str = "") -> None:
        super().__init__()
        self._step, self._other = step, other

    def answer_in_steps(self, ask: Ask, views: Views) -> Iterator[Reply | None]:
        yield self._step
        yield from self.answer([Ask(self._other or ask.question)], [views])


NO_STREAM = "`stream` of the system 'parrot' has to end with a Reply"
NO_STEPS = "`answer_in_steps` of the system 'parrot' has to end with"
REPLIES: list[tuple[Parrot, str]] = [
    *(
        (Parrot(score), "a reply of the system 'parrot' has the score")
        for score in (None, 1.5, -0.1, math.nan, "0.5")
    ),
    (Silent(), "one Reply for each question"),
    (Talker(skip=1), NO_STREAM),
    (Talker(skip=0, ends=False), NO_STREAM),
    (Walker(Reply("early", 1.0, "early")), NO_STEPS),
    (Walker(None, "another question"), NO_STEPS),
]


@pytest.mark.parametrize(("parrot", "message"), REPLIES)
def test_a_reply_that_breaks_the_contract(parrot: Parrot, message: str) -> None:
    with pytest.raises(BrokenContract, match=message):
        check_reply(Bundle(parrot, (Notes(),)))


@pytest.mark.parametrize("parrot", [Parrot(), Talker(skip=0), Walker(None)])
def test_a_reply_that_keeps_it(parrot: Parrot) -> None:
    check_reply(Bundle(parrot, (Notes(),)))


PACKAGES = {loader.split(".")[1] for loader in SYSTEMS.values()}
MODELS = Path(__file__).parents[2] / "models"


def imports(file: Path) -> set[str]:
    """Return the modules that a file imports, wherever in it."""
    nodes = list(ast.walk(ast.parse(file.read_text("utf-8"))))
    froms = {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
    return froms | {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}


@pytest.mark.parametrize("package", sorted({path.name for path in MODELS.iterdir() if path.is_dir()}))
def test_no_system_and_nothing_that_systems_share_imports_a_system(package: str) -> None:
    if package == "training":
        return
    foreign = {f"models.{other}" for other in PACKAGES - {package}}
    for file in (MODELS / package).rglob("*.py"):
        assert not {name for name in imports(file) if name.startswith(tuple(foreign))}, file
