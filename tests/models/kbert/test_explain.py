"""The explanation holds the whole tree, what was left out, and what each fact does to the answer; and it is JSON."""

import json
from typing import Any

from models.kbert.system import KbertSystem
from models.system import Ask
from tests.models.kbert.questions import KIM, linked_ask


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
