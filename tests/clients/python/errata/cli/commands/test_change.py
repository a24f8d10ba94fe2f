"""`errata change` sends the fields of a memory's kind of change to the service."""

from __future__ import annotations

import json
from typing import Any


def test_fields_are_sent_as_json_or_text(run: Any, tiny: Any) -> None:
    run("change", "rules/program", "rule", "word=a b", "forbid=true", "rows=[1, 2]", "-m", "why")
    body = json.loads(tiny.requests[-1][1])
    change = {"word": "a b", "forbid": True, "rows": [1, 2]}
    assert body["edits"] == [{"memory": "rules/program", "kind": "rule", "change": change}]
    assert body["message"] == "why"


def test_a_field_without_a_value_is_refused(run: Any) -> None:
    result = run("change", "m/m", "sense", "word")
    assert (result.exit_code, "write NAME=VALUE" in result.stderr) == (2, True)
