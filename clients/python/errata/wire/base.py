"""The base of the wire types: strict requests, lenient responses."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from errata.wire.texts import Version


class Request(BaseModel):
    """The base of requests: unknown fields and wrong types are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, use_attribute_docstrings=True)


class Response(BaseModel):
    """The base of responses: fields added later do not break an older reader."""

    model_config = ConfigDict(frozen=True, extra="ignore", use_attribute_docstrings=True)


class Snapshot(Response):
    """The base of responses about the state at one version."""

    version: Version
