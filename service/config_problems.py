"""Sentences about settings that cannot be used."""

from __future__ import annotations

from pydantic import ValidationError

from service.ledger.connection import FORMS


def explain(error: ValidationError) -> str:
    """Write a sentence for each setting that cannot be used, with what to do."""
    sentences: list[str] = []
    for details in error.errors():
        place, message = details["loc"], details["msg"].removeprefix("Value error, ")
        if place == ("redis_url",):
            message = f"ERRATA_REDIS_URL is not the address of a Redis: {FORMS}"
        elif place and place[0] in ("device", "dtype", "upstreams") and details["type"] == "value_error":
            message = f"{message}: check --{place[0]}"
        elif len(place) > 1 and place[0] == "systems":
            reason = f"the model {place[1]!r} is not given as MODULE:LOADER, e.g. package.module:name"
            message = f"{reason}: check --system"
        elif place:
            value = f" ({details['input']})" if details["type"].startswith("path_") else ""
            message = f"the setting {'.'.join(map(str, place))} cannot be used: {message}{value}"
        sentences.append(message)
    return "; ".join(sentences)
