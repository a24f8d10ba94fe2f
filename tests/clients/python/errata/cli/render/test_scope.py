"""The picture of an edit's scope."""

from __future__ import annotations

from io import StringIO
from typing import Any

from errata.cli.render.scope import draw_scope
from errata.wire import ScopeCandidate, ScopeReport
from rich.console import Console

PERU = "What is the capital of Peru?"


def read(drawing: Any) -> str:
    console = Console(width=140, file=StringIO())
    console.print(drawing)
    text: str = console.file.getvalue()  # type: ignore[attr-defined]
    return text


def candidate(**changes: Any) -> ScopeCandidate:
    fields = {
        **{
            "edit": "e1",
            "owner": "e1",
            "question": PERU,
            "answer": "Cusco",
            "cosine": 0.9,
            "probability": 0.81,
        },
        **{"verdict": "answers", "version": 3, "author": "ana", "message": "ticket 12"},
    }
    return ScopeCandidate.model_validate(fields | changes)


def test_each_candidate_says_how_likely_and_why() -> None:
    near = candidate(edit="e2", question="Peru's mayor?", probability=None, verdict="other_subject")
    report = ScopeReport(version=3, model="nkb", edit="e1", candidates=[candidate(), near])
    lines = read(draw_scope(report)).splitlines()
    assert "81 %" in lines[1]
    assert "answers it" in lines[1]
    assert "about another subject" in lines[2]
    assert "%" not in lines[2]
    assert lines[-1] == "An edit answers it."
