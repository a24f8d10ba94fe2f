"""`errata rules`: what it sends, and how rules, trials and proofs read. The replies are those of a scripted service."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from errata import wire
from fastapi.responses import JSONResponse

from tests.clients.conftest import NO_COSTS

RULE = 'forbid(E) <= hidden.relation(E,"spouse")'
SCHEME = "sha256:" + "0" * 64
HEAD = {"version": 3, "kind": "edit", "author": "anna", "time": datetime(2026, 11, 21, tzinfo=UTC)}
Script = Callable[..., None]


@pytest.fixture
def script(tiny: Any) -> Script:
    """Give the next requests these replies, in order."""

    def queue(*replies: wire.Response) -> None:
        tiny.trouble += [JSONResponse(reply.model_dump(mode="json")) for reply in replies]

    return queue


def body(tiny: Any, place: int = -1) -> Any:
    return json.loads(tiny.requests[place][1])


def card(id: str, memory: str) -> wire.ModelCard:
    memories = [wire.MemoryCard(name=memory, base=SCHEME, accepts=["rule"])]
    return wire.ModelCard(id=id, memories=memories, methods=[], ready=True, replicas=1, details={})


MODELS = wire.ModelList(data=[card("nkb", "nkb/bank"), card("relational", "rules/program")])


def edit_state(id: str, memory: str = "rules/program", **change: str) -> wire.EditState:
    notes: dict[str, Any] = {"change": {"rule": RULE, **change}, "summary": RULE, "effect": "forbid"}
    kind = {"method": "rule", "memory": memory, "notes": notes, "active": True}
    return wire.EditState(id=id, question="", answer=RULE, **kind)


def detail(id: str, **change: str) -> wire.EditDetail:
    return wire.EditDetail(**HEAD, message="no marriages\nticket 7", edit=edit_state(id, **change))


def receipt(**options: Any) -> wire.EditReceipt:
    edit = wire.EditReport(
        **{"id": "a1", "answer": RULE, "method": "rule", "memory": "rules/program"},
        **{"question": "", "before": None, "after": None, "holds": True, **options},
        notes={"summary": RULE, "effect": "forbid"},
    )
    effect = wire.Outcome(question="Who employs Ada's spouse?", before="Acme", after=None)
    room = wire.Capacity(slots_used=1, slots_reserved=2)
    report = wire.Report(
        edits=[edit], probes=9, side_effects=[effect], broken_tests=[], capacity=room, timings=NO_COSTS
    )
    return wire.EditReceipt(version=None, kind="edit", report=report, replicas=[], all_applied=False)


def test_a_rule_is_added_to_the_memory_of_rules(run: Any, tiny: Any) -> None:
    run("rules", "add", RULE, "-m", "no marriages")
    assert body(tiny)["edits"] == [{"memory": "rules/program", "kind": "rule", "change": {"rule": RULE}}]
    assert (body(tiny)["message"], body(tiny).get("dry_run", False)) == ("no marriages", False)


def test_a_trial_says_what_the_rule_does_and_which_answers_change(
    run: Any, tiny: Any, script: Script
) -> None:
    script(receipt())
    result = run("rules", "test", RULE)
    assert body(tiny)["dry_run"] is True
    assert result.stdout.splitlines()[0:3:2] == [
        "Dry run: this rule would do this; nothing was changed.",
        f"  rules/program: {RULE}",
    ]
    assert "Who employs Ada's spouse?" in result.stdout


def test_the_list_has_the_rules_in_force(run: Any, tiny: Any, script: Script) -> None:
    change = {"memory": "rules/program", "kind": "rule", "change": {"rule": RULE, "label": "partner of"}}
    origin = {"id": "a1", "version": 3, "author": "anna", "message": "no marriages\nticket 7"}
    page = wire.ActiveEditList.model_validate({"version": 3, "edits": [{**origin, "edit": change}]})
    script(page)
    result = run("rules", "list", "--at", "3")
    assert dict(tiny.requests[0][0].query_params) == {"memory": "rules/program", "version": "3"}
    line = result.stdout.splitlines()[1]
    assert all(part in line for part in ("a1", "3", "anna", RULE, "is called partner of", "no marriages"))
    assert "ticket 7" not in result.stdout


def test_an_explanation_shows_the_path_and_the_rules_around_it(run: Any, tiny: Any, script: Script) -> None:
    fact = {"subject": "Ada", "label": "employer", "relation": "P108", "object": "Acme", "edit": "e7"}
    edge = {"subject": "Ada", "label": "spouse", "object": "Bob", "rule": f"forbidden: {RULE}"}
    path = [{"label": "employer", "weight": 0.981, "facts": [fact]}]
    explanation = {"path": path, "forbidden": [edge] * 60, "failed_rules": ["edit a3: too many"]}
    answer = tiny.answer(wire.AnswerRequest(question="What is the capital of Peru?"))
    script(MODELS, answer.model_copy(update={"explanation": explanation}))
    result = run("rules", "explain", "Who", "employs", "Ada?")
    assert (body(tiny)["question"], body(tiny)["model"], body(tiny)["explain"]) == (
        "Who employs Ada?",
        "relational",
        True,
    )
    assert result.exit_code == 0
    for part in ("P108", "0.981", "e7", "edit a3: too many", "and 10 more: --json tells them all"):
        assert part in result.stdout
    assert result.stdout.count(RULE) == 50


def test_a_dry_run_of_taking_a_rule_back_shows_the_rule_and_the_answers_that_change(
    run: Any, tiny: Any, script: Script
) -> None:
    script(detail("a1"), receipt().model_copy(update={"kind": "revert"}))
    result = run("rules", "rm", "0123456789ab", "--dry-run")
    assert (body(tiny)["dry_run"], body(tiny)["edits"]) == (True, ["0123456789ab"])
    lines = [line.strip() for line in result.stdout.splitlines()]
    assert lines[0] == "Dry run: taking back rule 0123456789ab would do this; nothing was changed."
    assert lines[2] == RULE
    assert "Who employs Ada's spouse?" in result.stdout
