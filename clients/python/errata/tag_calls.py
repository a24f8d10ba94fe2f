"""What can be asked about the names of versions."""

from __future__ import annotations

from urllib.parse import quote

from errata import wire
from errata.call import Call
from errata.committing import checked
from errata.wire import Request, TagName


class _Named(Request):
    name: TagName


class TagCalls:
    """The part of `Calls` about tags."""

    def tags(self) -> Call[wire.TagList]:
        """Every tag, the newest version first."""
        return Call("GET", "/admin/tags", wire.TagList)

    def tag(self, name: str, version: int) -> Call[wire.Tag]:
        """Give `version` this name, or move the name there."""
        asked = checked(wire.TagRequest, version=version)
        return Call("PUT", _path(name), wire.Tag, asked, reads=False, slow=True)

    def untag(self, name: str) -> Call[wire.Tag]:
        """Take the name away; the version stays."""
        return Call("DELETE", _path(name), wire.Tag, reads=False)


def _path(name: str) -> str:
    return f"/admin/tags/{quote(checked(_Named, name=name).name, safe='')}"
