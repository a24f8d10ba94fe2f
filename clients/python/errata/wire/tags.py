"""Names of versions."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import WithJsonSchema

from errata.wire.base import Request, Response
from errata.wire.texts import Version, check_name

TAG = r"[A-Za-z][A-Za-z0-9._+-]{0,63}"  # begins with a letter, so that a command can take a tag or a number
TAG_RULE = "may have 1 to 64 letters, digits and . _ + -, and begins with a letter"
TagName = Annotated[str, check_name(TAG, TAG_RULE), WithJsonSchema({"type": "string", "pattern": f"^{TAG}$"})]


class TagRequest(Request):
    """The version to name; 0 is the base, before any edit."""

    version: Version


class Tag(Response):
    """A name of a version, and its author (`by`)."""

    name: str
    version: Version
    by: str
    time: datetime


class TagList(Response):
    """Tags, the newest version first."""

    tags: list[Tag]
