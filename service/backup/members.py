"""The members of a backup.

errata.json          About: its versions and their checkpoints
log/<first version>  commits, one a line, with the same bytes as in the ledger
blocks/<sha256>      rows of every version, and the rows that each edit contributes
graph/..., names/... rows of imports, by their keys in Redis
reports/<first>      reports that were completed after their commits, one a line
tags                 names of versions, one a line
reviews              days on which edits are looked at again, one a line
keys                 issued keys, one a line, each with a digest from which the key cannot be recovered
audit/<n>            calls of the admin routes, one a line, the oldest first
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from pydantic import BaseModel

from service.ledger.keys import PREFIX

FORMAT = 2
ABOUT, LOG, BLOCKS, TAGS, KEYS, AUDIT = "errata.json", "log/", "blocks/", "tags", "keys", "audit/"
REPORTS, REVIEWS = "reports/", "reviews"
IMPORT_ROW = re.compile(r"(graph|names)/[\w-]+(/\d+){1,2}")


class About(BaseModel, frozen=True):
    """The description of a backup.

    Attributes:
        checkpoints: Memory -> the checkpoint on which its rows were written, where that is known.
    """

    format: int = FORMAT
    version: int
    digest: str
    created: float = 0.0
    checkpoints: Mapping[str, str]


def member_of(key: str) -> str:
    """Return the member that holds the rows under this key of the graph."""
    return key.removeprefix(PREFIX).replace(":", "/")


def key_of(member: str) -> str:
    return PREFIX + member.replace("/", ":")
