"""The graph's layout in Redis; no other module names these keys.

    {errata}:graph:<import>:<bucket>       string   what an import says of the entities of one bucket (bucket_codec.py),
                                                    and behind these buckets as many with the facts by their objects
    {errata}:graph:<import>:<bucket>:<n>   string   what had no room in it: the rest of an entity of very many facts
    {errata}:names:<import>:<n>            string   some of the names that an import gives, with their entities

Rows lie here before the commit that names them, seen by nobody, and never change. The braces are the ledger's hash
tag: a cluster keeps them on the node of the log.
"""

from __future__ import annotations

from service.ledger.keys import PREFIX


def bucket(source: str, number: int, part: int = 0) -> str:
    """part: 0 for the bucket itself, then 1, 2, ... for what had no room in it."""
    return f"{PREFIX}graph:{source}:{number}" + (f":{part}" if part else "")


def names(source: str, number: int) -> str:
    return f"{PREFIX}names:{source}:{number}"


def is_names(key: str) -> bool:
    return key.startswith(f"{PREFIX}names:")


def source_of(key: str) -> str:
    """Which import a key belongs to."""
    return key.removeprefix(PREFIX).split(":")[1]


def numbers(key: str) -> list[int]:
    """The bucket, and which further part of it; or which part of the list of names."""
    return [int(number) for number in key.removeprefix(PREFIX).split(":")[2:]]
