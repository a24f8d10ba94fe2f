"""The picture of the reasons of an answer."""

from __future__ import annotations

from datetime import UTC, datetime
from io import StringIO
from typing import Any

from errata.cli.render.scope import draw_why
from errata.wire import WhyReport
from rich.console import Console

PERU = "What is the capital of Peru?"
CAUSE = {
    "edit": {"id": "e2", "question": PERU, "answer": "Cusco", "method": "gated", "active": True},
    **{"version": 3, "kind": "edit", "author": "ana", "time": datetime(2026, 11, 23, tzinfo=UTC)},
    **{"message": "ticket 12", "owner": "e1", "wording": "Peru's capital?", "probability": 0.81},
}


def read(answer: str | None, **fields: Any) -> list[str]:
    timings = {"queue_ms": 0, "graph_ms": 0, "model_ms": 0, "total_ms": 0}
    body: dict[str, Any] = {
        **{"answer": answer, "edits": [], "facts": [], "timings": timings, "replica": "a", "score": 0.9},
        **{"best": answer or "", "alternatives": [], "model": "nkb", "version": 3},
        **fields.pop("body", {}),
    }
    report = WhyReport.model_validate({"answer": body, "causes": [], "facts": [], **fields})
    console = Console(width=140, file=StringIO())
    console.print(draw_why(report))
    text: str = console.file.getvalue()  # type: ignore[attr-defined]
    return [line.rstrip() for line in text.splitlines()]


def test_an_edit_is_named_with_its_maker_its_wording_and_what_answers_without_it() -> None:
    lines = read("Cusco", causes=[CAUSE], without={"answer": "Lima", "edits": []})
    assert lines[0] == "Cusco  version 3 · 90 % sure · by nkb"
    assert lines[1] == "edit e2  version 3"
    assert "matched  Peru's capital?  81 %  of edit e1, whose place it took" in lines
    assert any(line.startswith("made by  ana, 2026") for line in lines)
    assert lines[-2:] == ["because  ticket 12", "without, by nkb: Lima  by no edit"]


def test_what_was_learnt_has_no_cause_and_a_near_edit_is_named() -> None:
    assert read("Lima")[1:] == ["No edit and no fact: this is what nkb learnt."]
    lines = read(None, body={"reason_text": "The graph knows nothing of that."})
    assert lines == [
        "not sure  version 3 · by nkb",
        "No edit and no fact: The graph knows nothing of that.",
    ]
    near = {"edit": "e3", "question": "Peru's mayor?", "probability": 0.3}
    assert read(None, body={"nearby_edit": near})[-1] == (
        "near, and not sure enough: edit e3, Peru's mayor?  30 %"
    )


def test_a_model_of_an_upstream_is_named_without_a_score() -> None:
    lines = read("Lima", body={"model": "team/tiny", "upstream": "team", "score": 0.0})
    assert lines == [
        "Lima  version 3 · by team/tiny",
        "No edit and no fact: a model of the upstream team answered.",
    ]
