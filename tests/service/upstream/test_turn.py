"""The id of an edit's response has its turn; an id that somebody made up is refused."""

import json
import zlib
from base64 import urlsafe_b64encode

import pytest

from service.errors import InvalidInput
from service.upstream.members import read_members
from service.upstream.turn import BEGINNING, UNIQUE, begin_id, restore_turn


def restore(**fields: object) -> dict[str, object]:
    text = json.dumps(fields)
    content: dict[str, object] = json.loads(restore_turn(text, read_members(text)))
    return content


@pytest.mark.parametrize("content", [b"5", b"null", b"[" * 50_000, b'{"a": 1}', b"no JSON"])
def test_an_id_that_no_edit_gave_is_refused(content: bytes) -> None:
    id = BEGINNING + urlsafe_b64encode(zlib.compress(content)).decode() + "0" * UNIQUE
    with pytest.raises(InvalidInput, match="no edit gave that response"):
        restore(previous_response_id=id, input="and his brother?")


def test_other_bodies_stay_as_they_are() -> None:
    id = begin_id("Who wrote Hamlet?", "Bacon ☃") + "0" * UNIQUE
    assert restore(previous_response_id="resp_1", input="a") == {
        "previous_response_id": "resp_1",
        "input": "a",
    }
    assert restore(previous_response_id=id) == {"previous_response_id": None}
    [_, answer, _] = restore(previous_response_id=id, input=[])["input"]  # type: ignore[misc]
    assert answer == {"role": "assistant", "content": "Bacon ☃"}
