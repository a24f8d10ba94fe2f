"""Which versions stay readable: every commit stays for ever, the rows of old versions need not."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from errata.wire.base import LARGEST_VERSION, Request, Response, Version


class CompactionRequest(Request):
    """What stays: the newest `versions`, those that were the newest within the last `days`, and those with a tag.

    dry_run: only count what would go.
    """

    versions: Annotated[int, Field(ge=1, le=LARGEST_VERSION)] | None = None
    days: Annotated[float, Field(ge=0, le=36_500)] | None = None
    dry_run: bool = False

    @model_validator(mode="after")
    def _says_what_stays(self) -> Self:
        if self.versions is None and self.days is None:
            raise ValueError("has to say what stays: versions, days or both")
        return self


class Retained(Response):
    """Versions that can be asked: the base, those of `older`, and all from `oldest` to `newest`."""

    oldest: Version
    older: list[Version]
    newest: Version


class Compaction(Retained):
    """What a compaction left, or would leave. versions: that cannot be asked any more. rows, bytes: that are gone."""

    dry_run: bool
    versions: int
    rows: int
    bytes: int
