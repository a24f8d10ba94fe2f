"""A question with two conflicting demands is refused."""

from __future__ import annotations

import pytest
from errata import wire
from pydantic import ValidationError


def test_a_pin_below_the_least_version_is_refused_in_one_sentence() -> None:
    with pytest.raises(ValidationError) as error:
        wire.AnswerRequest(question="q", version=1, min_version=5)
    [error] = error.value.errors()
    assert error["msg"] == (
        "version 1 is older than min_version 5, and an answer is from one of them only: leave one out"
    )
