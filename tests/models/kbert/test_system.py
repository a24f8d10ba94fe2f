"""The default checkpoint answers from the graph it is shown, follows its changes, and knows when to be silent."""

from dataclasses import replace
from functools import cache

import pytest
import torch
from torch import Tensor

from models.contract import check_contract, check_reply
from models.graph.memory import GraphMemory
from models.kbert.answer import TOKENS_PER_PASS
from models.kbert.encoder import Encoder
from models.kbert.row import Batch
from models.kbert.system import KbertSystem, load
from models.packs.pack import Item, Pack
from models.system import Ask, Reply
from tests.models.kbert.test_bars import KIM, entity_with, linked_ask


@cache
def items() -> tuple[Item, ...]:
    return tuple(Pack.load().items())


def say(system: KbertSystem, *asks: Ask) -> list[Reply]:
    return system.answer(asks, [{}] * len(asks))


def of_pack(graph: GraphMemory, name: str, question: str, **options: object) -> Ask:
    item = next(item for item in items() if item.subject.label == name)
    entity = graph.view(graph.base).entity(item.subject.id)
    assert entity is not None
    return linked_ask(question, name, entity, **options)


def test_it_answers_in_other_words_from_facts_it_never_saw(default: KbertSystem) -> None:
    asks = [
        linked_ask("Where was Kim Lee born?", "Kim Lee", KIM),
        linked_ask("Whom did Kim Lee marry?", "Kim Lee", KIM),
        linked_ask("what does Kim Lee do for a living", "Kim Lee", KIM),
    ]
    replies = say(default, *asks)
    assert [reply.answer for reply in replies] == ["Oslo", "Ada Berg", "painter"]
    assert replies[1].facts == (
        {
            **{"entity": "p:kim", "subject": "Kim Lee", "relation": "spouse", "label": "spouse"},
            **{"object": "Ada Berg", "edit": ""},
        },
    )
    assert all(0.3 < reply.score <= 1 for reply in replies)


def test_a_relation_that_holds_many_is_answered_with_all_of_it(
    default: KbertSystem, graph: GraphMemory
) -> None:
    (reply,) = say(default, of_pack(graph, "France", "Which countries border France?"))
    item = next(i for i in items() if i.subject.label == "France" and i.relation.id == "neighbours")
    assert reply.answer == item.answer
    assert [fact["object"] for fact in reply.facts] == item.answer.split(", ")


def test_it_says_why_it_says_nothing(default: KbertSystem) -> None:
    bare = entity_with()
    replies = say(
        default,
        Ask("Where was Kim Lee born?"),
        linked_ask("Where was Kim Lee born?", "Kim Lee", bare),
        linked_ask("What is the melting point of Kim Lee?", "Kim Lee", KIM),
        Ask("Where was Kim Lee born?", use_graph=False),
        Ask(
            "Where was Kim Lee born?",
            mentions=linked_ask("Kim Lee", "Kim Lee", KIM).mentions,
            use_graph=False,
        ),
        linked_ask("\u200b", "\u200b", KIM),
    )
    reasons = [reply.reason for reply in replies]
    assert reasons[:5] == ["no_entity", "no_fact", "unsure", "no_graph", "no_graph"]
    assert all(reply.answer is None for reply in replies)
    assert replies[2].best in {"Oslo", "painter", "Ada Berg"}
    assert len(replies[2].facts) == 1


def test_a_name_is_taken_for_whom_the_question_fits(default: KbertSystem) -> None:
    song = entity_with(
        ("performer", "performer", "Ray Charles"), ("genre", "genre", "soul"), id="s", label="Georgia"
    )
    state = entity_with(("capital", "capital", "Tbilisi"), id="t", label="Georgia")
    asks = [
        linked_ask(q, "Georgia", song, state)
        for q in ("Who sings Georgia?", "What is the capital of Georgia?")
    ]
    assert [reply.answer for reply in say(default, *asks)] == ["Ray Charles", "Tbilisi"]


def test_its_loader_returns_the_graph_of_the_process(graph: GraphMemory) -> None:
    system_and_memories = check_contract(load(torch.device("cpu"), torch.float32), "kbert")
    assert [memory is graph for memory in system_and_memories.memories] == [True]
    check_reply(system_and_memories)


def test_no_text_is_too_odd_to_be_answered(default: KbertSystem) -> None:
    odd = [
        Ask("", top_k=5, explain=True),
        Ask("Who?", context="\u200b", use_graph=False, explain=True),
        linked_ask("Kim Lee", "Kim Lee", KIM, candidates=("\u200b", " "), explain=True),
        Ask("Where was Kim Lee born?", context="Bla bla. " * 300, use_graph=False),
        linked_ask(
            "Who is Kim Lee?",
            "Kim Lee",
            entity_with(("spouse", "spouse", "\u200b"), ("job", "job", "x " * 300)),
        ),
    ]
    assert all(reply.answer is None and reply.reason for reply in say(default, *odd))


def test_a_context_comes_before_the_graph_and_the_graph_where_it_says_nothing(default: KbertSystem) -> None:
    ask = linked_ask("Where was Kim Lee born?", "Kim Lee", KIM)
    first, second = say(
        default,
        replace(ask, context="Kim Lee was born in Rome, and grew up there."),
        replace(ask, context="The bridge was closed for a week after the flood."),
    )
    assert (first.answer, first.facts) == ("Rome", ())
    assert (second.answer, [fact["object"] for fact in second.facts]) == ("Oslo", ["Oslo"])


def test_a_long_question_is_answered_in_short_steps_as_it_is_in_one_go(
    default: KbertSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = "Kim Lee was born where the old town on the river has many bridges. " * 8
    candidates = tuple(f"{number} {long}" for number in range(8))
    ask = linked_ask("Where was Kim Lee born?", "Kim Lee", KIM, candidates=candidates, explain=True)
    n_tokens: list[int] = []
    read = Encoder.read

    def count(self: Encoder, batch: Batch, is_wanted: Tensor) -> Tensor:
        n_tokens.append(int(batch.is_real.sum()))
        return read(self, batch, is_wanted)

    expected = say(default, ask)[0]
    monkeypatch.setattr(Encoder, "read", count)
    *steps, reply = default.answer_in_steps(ask, {})
    assert (set(steps), reply) == ({None}, expected)
    assert len(steps) >= len(n_tokens) > 2
    assert max(n_tokens) <= 2 * TOKENS_PER_PASS[default.model.device.type]
