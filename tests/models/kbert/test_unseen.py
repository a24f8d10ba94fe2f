"""A relation that no training has seen answers only where the question asks for it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from models.graph.knowledge import Entity, Fact, Mention
from models.kbert.checkpoint import DEFAULT, FILES, UNSEEN_FILE, load
from models.kbert.query import HungRelation
from models.kbert.system import KbertSystem
from models.kit.checkpoint import CheckpointError, write_sums
from models.system import UNSURE, Ask, Reply

DESK = "support desk of Tallwater"
CAPITAL = "What is the capital of Peru?"
PHONE = Fact("phone number", "phone number", "+31 10 555 0100")


def ask(system: KbertSystem, question: str, *facts: Fact) -> Reply:
    start = question.index(DESK)
    mention = Mention(start, start + len(DESK), (Entity("desk", DESK, facts=facts),))
    [reply] = system.answer([Ask(question, mentions=(mention,))], [{}])
    return reply


@pytest.mark.parametrize(
    "question",
    [f"What is the phone number of the {DESK}?", f"Under which phone number is the {DESK} reached?"],
)
def test_the_relation_that_is_asked_for_answers(default: KbertSystem, question: str) -> None:
    assert ask(default, question, PHONE).answer == PHONE.object


@pytest.mark.parametrize(
    "question",
    [f"What is the fax number of the {DESK}?", f"Who leads the {DESK}?", f"When was the {DESK} set up?"],
)
def test_a_relation_that_only_resembles_it_does_not(default: KbertSystem, question: str) -> None:
    reply = ask(default, question, PHONE)
    assert reply.answer is None
    assert reply.reason == UNSURE


HOURS = tuple(Fact(day, f"{day} opening hours", "10 to 17") for day in ("Tuesday", "Saturday", "Sunday"))


@pytest.mark.parametrize("day", ["Monday", "Friday", "thursday"])
def test_a_day_that_no_fact_has_is_named_with_those_that_are_known(default: KbertSystem, day: str) -> None:
    reply = ask(default, f"When is the {DESK} open on {day}?", *HOURS)
    assert reply.answer is None
    assert reply.reason == UNSURE
    assert f"about {day}, only: " in reply.reason.sentence
    assert all(fact.label in reply.reason.sentence for fact in HOURS)


def test_a_word_before_a_known_relation_makes_it_another(default: KbertSystem) -> None:
    director = Fact("director", "director", "Ida Brook")
    assert ask(default, f"Who is the director of the {DESK}?", director).answer == "Ida Brook"
    for office in ("deputy director", "previous director"):
        reply = ask(default, f"Who is the {office} of the {DESK}?", director)
        assert reply.answer is None
        assert reply.reason == UNSURE
        assert reply.reason.sentence.endswith("the nearest: director.")


def test_a_relation_of_the_pack_is_not_read_again(default: KbertSystem) -> None:
    check = default.model.relation_check
    assert check is not None
    entity = Entity("Q1", "Peru")
    assert not check.concerns(CAPITAL, HungRelation(entity, (Fact("capital", "capital", "Lima"),), 1.0))
    assert not check.concerns(CAPITAL, HungRelation(entity, (Fact("capital", "Capital", "Lima"),), 1.0))
    former = "What is the former capital of Peru?"
    assert check.concerns(former, HungRelation(entity, (Fact("capital", "capital", "Lima"),), 1.0))
    assert check.concerns(CAPITAL, HungRelation(entity, (Fact("mascot", "mascot", "a llama"),), 1.0))


def test_a_scale_of_another_judge_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "kbert"
    shutil.copytree(DEFAULT, folder)
    raw = json.loads((folder / UNSEEN_FILE).read_text())
    (folder / UNSEEN_FILE).write_text(json.dumps(raw | {"judge": "sha256:0"}))
    write_sums(folder, (*FILES, UNSEEN_FILE))
    with pytest.raises(CheckpointError, match="another judge"):
        load(folder)


def test_a_scale_that_is_listed_and_missing_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "kbert"
    shutil.copytree(DEFAULT, folder)
    (folder / UNSEEN_FILE).unlink()
    with pytest.raises(CheckpointError, match=UNSEEN_FILE):
        load(folder)
