"""The explanation holds the whole tree, what was left out, and what each fact does to the answer; and it is JSON."""

import json
from typing import Any

from models.kbert.explain import MOST
from models.kbert.system import KbertSystem
from models.system import Ask
from tests.models.kbert.told import KIM, linked, with_facts


def explained(system: KbertSystem, ask: Ask) -> dict[str, Any]:
    (reply,) = system.answer([ask], [{}])
    found: dict[str, Any] = json.loads(json.dumps(reply.explanation))
    return found


def test_the_tree_is_told_token_by_token_and_fact_by_fact(default: KbertSystem) -> None:
    told = explained(default, linked("Where was Kim Lee born?", "Kim Lee", KIM, explain=True))
    assert told["tokens"][0] == {"text": "[CLS]", "position": 0, "word": 0, "branch": 0}
    (mention,) = told["tree"]
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
    assert [fact["object"] for fact in told["rests_on"]] == ["Oslo"]


def test_each_fact_is_left_out_in_turn(default: KbertSystem) -> None:
    told = explained(default, linked("Where was Kim Lee born?", "Kim Lee", KIM, explain=True))
    without = {one["object"]: one["answer"] for one in told["without"]}
    assert without == {"Oslo": None, "painter": "Oslo", "Ada Berg": "Oslo"}


def test_of_many_values_the_others_stay_without_one(default: KbertSystem) -> None:
    kim = with_facts(("child", "child", "Ben"), ("child", "child", "Zoe"))
    told = explained(default, linked("Who is a child of Kim Lee?", "Kim Lee", kim, explain=True))
    assert [one["answer"] for one in told["without"]] == ["Zoe"]
    assert told["left_out"] == [{"entity": "e:1", "relation": "child", "object": "Zoe", "reason": "value"}]


def test_what_a_name_could_mean_too_is_told(default: KbertSystem) -> None:
    other = with_facts(("area", "area", "3 km²"), id="e:2")
    told = explained(default, linked("Where was Kim Lee born?", "Kim Lee", KIM, other, explain=True))
    (ambiguous,) = told["ambiguous"]
    assert (ambiguous["text"], ambiguous["chosen"]) == ("Kim Lee", "p:kim")
    assert [(one["id"], one["degree"]) for one in ambiguous["others"]] == [("e:2", 1)]


def test_it_is_bounded(default: KbertSystem) -> None:
    wide = with_facts(*((f"r{n}", f"relation {n}", f"object {n}") for n in range(300)))
    told = explained(default, linked("Where was Kim Lee born?", "Kim Lee", wide, explain=True))
    (mention,) = told["tree"]
    assert len(mention["facts"]) == default.model.settings.max_entities == len(told["without"])
    assert len(told["left_out"]) == MOST
    assert told["left_out"][0]["reason"] == "rank"


def test_without_anything_to_explain_the_words_are_told(default: KbertSystem) -> None:
    told = explained(default, Ask("Who?", explain=True))
    assert [token["text"] for token in told["tokens"]] == ["[CLS]", "who", "?"]
    assert (told["tree"], told["without"], told["rests_on"]) == ([], [], [])
