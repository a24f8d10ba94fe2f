"""The explanation holds the whole tree, what was left out, and what each fact does to the answer; and it is JSON."""

import json
from typing import Any

from models.kbert.explain import MAX_ENTRIES
from models.kbert.system import KbertSystem
from models.system import Ask
from tests.models.kbert.questions import KIM, entity_with, linked_ask


def explanation_of(system: KbertSystem, ask: Ask) -> dict[str, Any]:
    (reply,) = system.answer([ask], [{}])
    explanation: dict[str, Any] = json.loads(json.dumps(reply.explanation))
    return explanation


def test_the_tree_is_listed_token_by_token_and_fact_by_fact(default: KbertSystem) -> None:
    explanation = explanation_of(default, linked_ask("Where was Kim Lee born?", "Kim Lee", KIM, explain=True))
    assert explanation["tokens"][0] == {"text": "[CLS]", "position": 0, "word": 0, "branch": 0}
    (mention,) = explanation["tree"]
    assert (mention["text"], mention["start"], mention["end"], mention["entity"]) == (
        "Kim Lee",
        10,
        17,
        "p:kim",
    )
    first = mention["facts"][0]
    assert (first["text"], first["relation"], first["object"]) == (
        "place of birth Oslo",
        "place_of_birth",
        "Oslo",
    )
    assert first["positions"] == [5, 8]
    assert 0.5 < first["score"] <= 1
    assert first["rank"] == max(fact["rank"] for fact in mention["facts"])
    assert [fact["object"] for fact in explanation["rests_on"]] == ["Oslo"]


def test_each_fact_is_left_out_in_turn(default: KbertSystem) -> None:
    explanation = explanation_of(default, linked_ask("Where was Kim Lee born?", "Kim Lee", KIM, explain=True))
    without = {entry["object"]: entry["answer"] for entry in explanation["without"]}
    assert without == {"Oslo": None, "painter": "Oslo", "Ada Berg": "Oslo"}


def test_of_many_values_the_others_stay_without_one(default: KbertSystem) -> None:
    kim = entity_with(("child", "child", "Ben"), ("child", "child", "Zoe"))
    explanation = explanation_of(
        default, linked_ask("Who is a child of Kim Lee?", "Kim Lee", kim, explain=True)
    )
    assert [entry["answer"] for entry in explanation["without"]] == ["Zoe"]
    assert explanation["left_out"] == [
        {"entity": "e:1", "relation": "child", "object": "Zoe", "reason": "value"}
    ]


def test_what_a_name_could_mean_too_is_listed(default: KbertSystem) -> None:
    other = entity_with(("area", "area", "3 km²"), id="e:2")
    explanation = explanation_of(
        default, linked_ask("Where was Kim Lee born?", "Kim Lee", KIM, other, explain=True)
    )
    (ambiguous,) = explanation["ambiguous"]
    assert (ambiguous["text"], ambiguous["chosen"]) == ("Kim Lee", "p:kim")
    assert [(entry["id"], entry["degree"]) for entry in ambiguous["others"]] == [("e:2", 1)]


def test_it_is_bounded(default: KbertSystem) -> None:
    wide = entity_with(*((f"r{n}", f"relation {n}", f"object {n}") for n in range(300)))
    explanation = explanation_of(
        default, linked_ask("Where was Kim Lee born?", "Kim Lee", wide, explain=True)
    )
    (mention,) = explanation["tree"]
    assert len(mention["facts"]) == default.model.settings.max_entities == len(explanation["without"])
    assert len(explanation["left_out"]) == MAX_ENTRIES
    assert explanation["left_out"][0]["reason"] == "rank"


def test_without_anything_to_explain_the_words_are_listed(default: KbertSystem) -> None:
    explanation = explanation_of(default, Ask("Who?", explain=True))
    assert [token["text"] for token in explanation["tokens"]] == ["[CLS]", "who", "?"]
    assert (explanation["tree"], explanation["without"], explanation["rests_on"]) == ([], [], [])
