"""What the members of a backup are called, and what each holds.

errata.json          About: which versions it holds, and of which checkpoints
log/<first version>  commits, one a line, each in the very bytes that the ledger has
blocks/<sha256>      rows of every version, and what each edit contributes
graph/..., names/... rows of imports, by their keys in Redis
tags                 names of versions, one a line
keys                 issued keys, one a line, with the digests of what opens them, which nobody can turn back
audit/<n>            calls of the admin routes, one a line, the oldest first
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict

from service.ledger.keys import PREFIX

FORMAT = 2
ABOUT, LOG, BLOCKS, TAGS, KEYS, AUDIT = "errata.json", "log/", "blocks/", "tags", "keys", "audit/"
IMPORT_ROW = re.compile(r"(graph|names)/[\w-]+(/\d+){1,2}")


class About(BaseModel):
    """digest: of the last commit. created: unix time in seconds.

    checkpoints: memory -> what its rows lie on, where that is known.
    """

    model_config = ConfigDict(frozen=True)

    format: int = FORMAT
    version: int
    digest: str
    created: float = 0.0
    checkpoints: Mapping[str, str]


def member_of(key: str) -> str:
    """The member that holds the rows under this key of the graph."""
    return key.removeprefix(PREFIX).replace(":", "/")


def key_of(member: str) -> str:
    return PREFIX + member.replace("/", ":")
