"""The graph's layout in Redis; no other module names these keys.

    {errata}:graph:<import>:<bucket>       string   an import's statements about the entities of one bucket
                                                    (as below); as many buckets follow with the facts by object
    {errata}:graph:<import>:<bucket>:<n>   string   further part of a bucket: more statements about an entity of many
    {errata}:names:<import>:<n>            string   some of the names that an import gives, with their entities

Rows are written before the commit that names them, unseen until then, and never change. The braces are the ledger's.
"""

from __future__ import annotations

from service.ledger.keys import PREFIX


def bucket(source: str, number: int, part: int = 0) -> str:
    """Return the key of a bucket (`part` 0), or of one of its further parts (1, 2, ...)."""
    return f"{PREFIX}graph:{source}:{number}" + (f":{part}" if part else "")


def names(source: str, number: int) -> str:
    return f"{PREFIX}names:{source}:{number}"


def is_names(key: str) -> bool:
    return key.startswith(f"{PREFIX}names:")


def source_of(key: str) -> str:
    return key.removeprefix(PREFIX).split(":")[1]


def numbers(key: str) -> list[int]:
    """Return the numbers in a key: the bucket and its further part, or the part of the list of names."""
    return [int(number) for number in key.removeprefix(PREFIX).split(":")[2:]]
