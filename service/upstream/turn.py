"""A turn that an edit answered, kept in the id of its response.

No upstream has stored that response, so a request that goes on from it brings the turn along.
"""

import json
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence

from service.errors import InvalidInput
from service.upstream.members import Member

BEGINNING = "resp_errata_"
UNIQUE = 32  # characters behind the turn
MAX_BYTES = 100_000  # a longer turn is not read


def begin_id(question: str, answer: str) -> str:
    """Return the beginning of a response's id; UNIQUE characters follow."""
    packed = zlib.compress(json.dumps([question, answer], ensure_ascii=False).encode(), 9)
    return BEGINNING + urlsafe_b64encode(packed).decode()


def restore_turn(text: str, members: Sequence[Member]) -> str:
    """Return a body that goes on from such a response as one with its turn in the input; any other as it is.

    InvalidInput: no edit gave the response.
    """
    previous = next((member for member in members if member.name == "previous_response_id"), None)
    if previous is None or not str(previous.value).startswith(BEGINNING):
        return text
    try:
        packed = urlsafe_b64decode(previous.value[len(BEGINNING) : -UNIQUE])
        question, answer = json.loads(zlib.decompressobj().decompress(packed, MAX_BYTES))
    except (ValueError, TypeError, RecursionError, zlib.error) as error:
        raise InvalidInput("no edit gave that response: send the whole conversation") from error
    turn = [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]
    for member in reversed(members):
        value = text[member.start : member.end]
        if member is previous:
            value = "null"
        elif member.name == "input":
            is_list = isinstance(member.value, list) and member.value
            rest = value[1:] if is_list else f'{{"role": "user", "content": {value}}}]'
            value = f"{json.dumps(turn)[:-1]}, {rest}"
        text = text[: member.start] + value + text[member.end :]
    return text
