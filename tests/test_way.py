"""A question and an edit enter no more files of the service than they did."""

from __future__ import annotations

from tests.way import MOST_FILES, measure, split


async def test_no_request_enters_more_files_than_it_did() -> None:
    ways = await measure()
    assert {name: len(split(files)[1]) <= MOST_FILES[name] for name, files in ways.items()} == {
        "a question": True,
        "an edit": True,
    }, ways
