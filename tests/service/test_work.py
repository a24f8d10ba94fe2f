"""The work of a question: what limits charge, what one request may ask for, and where a batch ends."""

from __future__ import annotations

from typing import Any

import pytest

from service.errors import TooLarge
from service.work import MAX_WORK, check_work, measure_request


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"question": "What is the capital of Peru?"}, 1),
        ({"question": "x" * 100}, 1),
        ({"question": "x" * 2_000}, 20),
        ({"question": "x", "candidates": ["y"] * 256}, 257),
        ({"question": "x" * 100, "candidates": ["y" * 100] * 3}, 7),
        ({"question": "x", "context": "y" * 10_000}, 101),
        ({"question": "x", "context": "A house. A river.\nA town."}, 5),
        ({"question": "x", "context": ". " * 1_000}, 85),
        ({"question": "x", "explain": True}, 8),
        ({"question": "x", "top_k": 10}, 4),
        ({"question": "x", "document": "mill"}, 65),
        ({"question": "x", "candidates": ["y"] * 256, "explain": True}, 2_056),
    ],
)
def test_work_grows_with_characters_and_with_candidates(fields: dict[str, Any], expected: int) -> None:
    assert measure_request(fields) == expected


def test_a_whole_batch_of_the_longest_questions_is_no_more_than_one_request_may_ask_for() -> None:
    check_work(256 * measure_request({"question": "x" * 2_000}))
    check_work(measure_request({"question": "x", "candidates": ["y" * 2_000] * 256}))
    check_work(MAX_WORK)
    with pytest.raises(TooLarge, match=r"65,792 short questions .* 6,000 is the most"):
        check_work(256 * measure_request({"question": "x", "candidates": ["y"] * 256}))
