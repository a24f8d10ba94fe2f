"""Requests are refused when they are not what they should be; responses outlive additions."""

from __future__ import annotations

from typing import Any

import pytest
from errata import wire
from errata.wire.mistakes import describe_mistake
from pydantic import ValidationError

Q = {"question": "What is the capital of Peru?"}
TIMINGS = {"queue_ms": 1.0, "graph_ms": 0.0, "model_ms": 2.0, "total_ms": 3.0}
ANSWER = {
    "answer": "Lima",
    "score": 0.9,
    "best": "Lima",
    "alternatives": [],
    "model": "nkb",
    "version": 0,
    "edits": [],
    "facts": [],
    "timings": TIMINGS,
    "replica": "r1",
}


EDIT = {"question": "q", "answer": "a"}
MALFORMED: dict[Any, list[dict[str, Any]]] = {
    wire.AnswerRequest: [
        {"qestion": "misspelt"},
        *({"question": text} for text in ("", " \n\t ", "x" * 2_001, "half a letter \ud800", 7)),
        {**Q, "modle": "nkb"},
        *({**Q, "version": version} for version in (True, "3", 1.0, -1, 2**53)),
        {**Q, "min_version": -1},
        *({**Q, "top_k": count} for count in (0, 11)),
        {**Q, "explain": "yes"},
        *({**Q, "candidates": texts} for texts in ([], ["Lima", ""])),
    ],
    wire.EditRequest: [
        {"edits": []},
        {"edits": EDIT},
        {"edits": [EDIT] * 1_001},
        *({"edits": [{**EDIT, **part}]} for part in ({"answer": " "}, {"paraphrases": [""]})),
        {"edits": [{**EDIT, "paraphrases": ["p"] * 21}]},
        *({"edits": [EDIT], **part} for part in ({"method": ""}, {"wait": "some"}, {"dry_run": 1})),
        {"edits": [EDIT], "expected_version": -1},
    ],
    wire.RevertRequest: [{"version": 0}, {"version": -1}],
    wire.BatchRequest: [{"questions": []}, {"questions": [Q] * 257}],
    wire.Answer: [{name: value for name, value in ANSWER.items() if name != "version"}],
}


@pytest.mark.parametrize(
    ("kind", "fields"), [(kind, fields) for kind, bodies in MALFORMED.items() for fields in bodies]
)
def test_a_body_that_is_not_one_is_refused(kind: Any, fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        kind.model_validate(fields)


def test_an_edit_says_everything_it_leaves_out() -> None:
    body = wire.EditRequest.model_validate({"edits": [{"question": "q", "answer": "a"}]})
    assert (body.message, body.expected_version, body.method, body.wait) == ("", None, None, "all")
    assert (body.edits[0].paraphrases, body.edits[0].model, body.dry_run) == ([], None, False)


@pytest.mark.parametrize("name", ["Bergheim", 0, -1, 2**60, "12", None])
def test_what_an_edit_replaces_is_a_version_or_an_id(name: Any) -> None:
    with pytest.raises(ValidationError) as error:
        wire.EditItem.model_validate({"question": "q", "answer": "a", "replaces": [name]})
    (mistake,) = error.value.errors()
    assert mistake["loc"] == ("replaces", 0)
    assert describe_mistake(mistake).startswith("names no edit: a version is expected")


def test_a_report_stored_before_its_fields_were_renamed_is_readable() -> None:
    capacity = {"slots_used": 1, "slots_reserved": 2}
    timings = {"editor_ms": 1.0, "report_ms": 1.0, "commit_ms": 1.0, "replicas_ms": 1.0}
    effect = {"question": "q", "before": "a", "after": "b"}
    report = wire.Report.model_validate(
        {
            "edits": [],
            "probes": 3,
            "unasked": 2,
            "changed": [effect],
            "broken_tests": [],
            "standing": {"active": 1, "reverted": 0, "superseded": 0},
            "capacity": capacity,
            "timings": timings,
        }
    )
    assert (report.probes, report.side_effects, report.test_status) == (3, [], None)
