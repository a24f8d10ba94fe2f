"""Tags: names that people give to versions."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import WithJsonSchema

from errata.wire.base import Request, Response, Version, check_name

TAG = r"[A-Za-z][A-Za-z0-9._+-]{0,63}"
"""No number, so that a command takes either and knows which it was given."""

TAG_RULE = "may have 1 to 64 letters, digits and . _ + -, and begins with a letter"
TagName = Annotated[str, check_name(TAG, TAG_RULE), WithJsonSchema({"type": "string", "pattern": f"^{TAG}$"})]


class TagRequest(Request):
    """version: what the name is for; 0 is the base, before any edit."""

    version: Version


class Tag(Response):
    """by: who gave the name."""

    name: str
    version: Version
    by: str
    time: datetime


class TagList(Response):
    """The newest version first."""

    tags: list[Tag]
