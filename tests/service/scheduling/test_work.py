"""Work in turns, with priorities."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from models.cost import default_cost
from models.ernie_doc.system import ErnieDocSystem
from models.graph.knowledge import Mention
from models.kbert.system import KbertSystem
from models.relational.system import RelationalSystem
from models.system import Ask
from models.systems import SYSTEMS
from models.thu_ernie.system import ThuErnieSystem
from service.errors import TooLarge
from service.graph.linking.linker import Linker
from service.scheduling import commit_priority as scheduling
from service.scheduling.commit_priority import CommitPriority
from service.scheduling.work import MAX_WORK, bound_cost, check_work, load_cost, to_ask
from tests.service.parts import PATIENCE_S, run_ready, wait_until

KBERT, ERNIE_DOC = load_cost("models.kbert.system:load"), load_cost("models.ernie_doc.system:load")
RELATIONAL, THU_ERNIE = load_cost("models.relational.system:load"), load_cost("models.thu_ernie.system:load")


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"question": "What is the capital of Peru?"}, 1),
        ({"question": "x" * 100}, 1),
        ({"question": "x" * 2_000}, 20),
        ({"question": "x", "candidates": ["y"] * 256}, 257),
        ({"question": "x" * 100, "candidates": ["y" * 100] * 3}, 7),
        ({"question": "x", "context": ["y" * 10_000]}, 101),
        ({"question": "x", "explain": True}, 8),
        ({"question": "x", "top_k": 10}, 4),
        ({"question": "x", "candidates": ["y"] * 256, "explain": True}, 2_056),
    ],
)
def test_work_grows_with_characters_and_with_candidates(fields: dict[str, Any], expected: int) -> None:
    ask = to_ask(fields)
    assert [cost(ask) for cost in (default_cost, KBERT, ERNIE_DOC, RELATIONAL, THU_ERNIE)] == [expected] * 5


def test_texts_of_a_context_are_read_as_one_and_keep_their_places() -> None:
    texts = ["Lima is in Peru.", "Quito lies high.", ""]
    ask = to_ask({"question": "x", "context": texts})
    assert ask.context is not None
    assert [
        ask.context[place:].startswith(text) for place, text in zip(ask.passages, texts, strict=True)
    ] == [True] * 3
    assert (to_ask({"question": "x"}).context, to_ask({"question": "x"}).passages) == (None, (0,))


def test_names_of_the_graph_cost_those_who_read_them() -> None:
    ask = Ask("x" * 150, mentions=(Mention(0, 2, ()),) * 3)
    assert [cost(ask) for cost in (default_cost, RELATIONAL, KBERT, THU_ERNIE)] == [2, 5, 8, 8]


def test_thu_ernie_reads_a_question_beside_its_context_once_whatever_it_names() -> None:
    ask = Ask("x", context="y" * 1_000, mentions=(Mention(0, 1, ()),))
    assert THU_ERNIE(ask) == default_cost(ask)


def test_a_system_without_a_cost_of_its_own_has_the_default() -> None:
    paths = ("models.nkb.system:load", "tests.service.toy:load_toy", "toy:load")
    assert [load_cost(path) for path in paths] == [default_cost] * 3


@pytest.mark.parametrize(
    "system",
    [KbertSystem, RelationalSystem, ErnieDocSystem, ThuErnieSystem],
    ids=lambda system: system.name,
)
def test_the_ingress_and_the_replicas_count_alike(system: Any) -> None:
    assert system.cost is load_cost(SYSTEMS.get(system.name, f"{system.__module__}:load"))


@pytest.mark.parametrize(
    "question",
    [
        "Is Lima in Peru?",
        "Lima,Peru;Lima-Peru.Lima/Peru",
        "日本東京日本東京",
        "C++ ★★ C++ ★★",
        "가나다 가나다",
        "Ünal Żuk Émile éé bb",
        "Lima_Peru x2y",
    ],
)
def test_no_question_has_more_names_than_it_may_cost(question: str) -> None:
    names = [
        "Lima",
        "Peru",
        "日本",
        "東京",
        "C++",
        "★",
        "가나",
        "다",
        "Ünal",
        "Żuk",
        "Émile",
        "éé",
        "bb",
        "x2y",
        "_",
    ]
    linker = Linker()
    linker.add((name, name) for name in names)
    mentions: list[tuple[int, int]] = []
    for span in linker.find(question):
        if all(span.end <= start or end <= span.start for start, end in mentions):
            mentions.append((span.start, span.end))
    assert mentions
    assert bound_cost(lambda ask: len(ask.mentions), Ask(question)) >= len(mentions)


def test_a_whole_batch_of_the_longest_questions_is_no_more_than_one_request_may_ask_for() -> None:
    check_work(256 * default_cost(Ask("x" * 2_000)))
    check_work(default_cost(Ask("x", candidates=("y" * 2_000,) * 256)))
    check_work(MAX_WORK)
    with pytest.raises(TooLarge, match=r"65,792 short questions .* 6,000 is the most"):
        check_work(256 * default_cost(Ask("x", candidates=("y",) * 256)))


@pytest.fixture
def order() -> list[str]:
    """Return the names of pieces in the order in which they began."""
    return []


async def work(turns: CommitPriority, order: list[str], name: str, seconds: float = 0.0) -> None:
    async with turns.turn():
        order.append(name)
        await asyncio.sleep(seconds)


async def commit(turns: CommitPriority, order: list[str], pause: Callable[[], Awaitable[None]]) -> None:
    with turns.hold():
        await work(turns, order, "commit")
        await pause()
        await work(turns, order, "commit")


async def test_a_commit_waits_for_no_piece_that_others_queue(
    order: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduling, "MAX_WAIT_S", PATIENCE_S)
    turns = CommitPriority()
    async with asyncio.TaskGroup() as group:
        for number in range(4):
            group.create_task(work(turns, order, f"diff {number}", 0.01))
        group.create_task(commit(turns, order, run_ready))
    assert order == ["diff 0", "commit", "commit", "diff 1", "diff 2", "diff 3"]


async def test_long_commits_do_not_stop_the_others(order: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduling, "MAX_WAIT_S", 0.01)
    turns = CommitPriority()
    async with asyncio.TaskGroup() as group:
        group.create_task(commit(turns, order, lambda: wait_until(lambda: "diff" in order)))
        await asyncio.sleep(0)
        group.create_task(work(turns, order, "diff"))
    assert order == ["commit", "diff", "commit"]
