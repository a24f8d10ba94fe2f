"""The setting of upstreams: names with addresses, and the variable in which the key of each is."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field

Mode = Literal["observe", "on", "off"]  # whether edits answer in place of an upstream, or are only counted
UpstreamName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", max_length=64)]


def name_key_variable(upstream: str) -> str:
    """Return the variable of the environment in which an upstream's key is."""
    return "ERRATA_UPSTREAM_KEY_" + re.sub(r"\W", "_", upstream).upper()


def split_by_name(value: Any) -> Any:
    """Read words such as `team=ADDRESS` as a mapping; the first sign divides, for an address may have others."""
    if not isinstance(value, list | tuple):
        return value
    pairs = [(name, text) for name, _, text in (str(word).partition("=") for word in value)]
    if len(texts := dict(pairs)) < len(pairs):
        raise ValueError("a name is given twice: leave one out, for only one can count")
    return texts


def _check_address(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        raise ValueError("an upstream is http://HOST or https://HOST with its path, and has no user in it")
    if parts.query or parts.fragment:
        raise ValueError("the address of an upstream has neither a query nor a fragment")
    return url


Upstreams = Annotated[
    dict[UpstreamName, Annotated[str, AfterValidator(_check_address)]], BeforeValidator(split_by_name)
]
