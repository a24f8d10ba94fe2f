"""One request as data, before it is sent, and the reading of its response."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import Any, Generic, Literal, TypeVar
from urllib.parse import quote

import httpx
from pydantic import ValidationError, create_model
from pydantic_core import PydanticSerializationError

from errata.errors import ErrataError, NotErrata, VersionAhead
from errata.files import Download, Upload
from errata.problems import describe_invalid, to_error, unsendable
from errata.wire import Request, Response
from errata.wire.mistakes import point_out

R = TypeVar("R", bound=Request)
T = TypeVar("T")
T_co = TypeVar("T_co", bound=Response, covariant=True)


@dataclass(frozen=True)
class FileBody:
    """A body that is a whole file of some media type."""

    data: bytes
    media_type: str


@dataclass(frozen=True)
class Call(Generic[T_co]):
    """One call of the service."""

    verb: Literal["GET", "POST", "PUT", "DELETE"]
    path: str
    returns: type[T_co]
    body: Request | None = None
    file: FileBody | None = None  # the body, in place of `body`
    query: Request | Mapping[str, Any] = field(default_factory=dict)  # None leaves a parameter out
    # Makes a write safe to repeat: the service answers a repetition with the first result
    idempotency_key: str | None = None
    reads: bool = True  # true for a call that changes nothing, however often it is sent
    slow: bool = False  # true for edits and fact tests, which take longer than answers
    # True for a question that waits for a version that this client does not know
    may_never_exist: bool = False
    # A file to send as the body; the service then reports its progress, line by line
    upload: Upload | None = None
    download: Download | None = None  # receives a response that is a file

    def repeatable(self, error: ErrataError, may_be_done: bool = True) -> bool:
        """Return True if the call may be sent again after `error`; `may_be_done`: it may have had its effect."""
        if isinstance(error, VersionAhead) and self.may_never_exist:
            return False  # the service has waited already
        if self.upload is not None and not self.upload.rewind():
            return False  # a pipe cannot be read again
        if self.download is not None and not self.download.repeatable:
            return False
        return self.reads or self.idempotency_key is not None or not may_be_done

    @property
    def sent_whole(self) -> bool:
        """True if the last attempt sent the whole body, without which the service does not act."""
        return self.upload is None or self.upload.whole

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of the query that are set: truth values as in JSON, times in seconds since 1970."""
        query = (
            self.query.model_dump(exclude_defaults=True) if isinstance(self.query, Request) else self.query
        )
        parameters = {name: value for name, value in query.items() if value is not None}
        for name, value in parameters.items():
            if isinstance(value, datetime):
                parameters[name] = str(value.timestamp())
            elif isinstance(value, bool):
                parameters[name] = str(value).lower()
        return parameters

    def to_httpx(self, base: httpx.URL, headers: Mapping[str, str], timeout_s: float) -> httpx.Request:
        """Build the request without defaults, so that an older service takes a newer client's requests."""
        own_headers = {"idempotency-key": self.idempotency_key} if self.idempotency_key else {}
        content: Upload | bytes | str | None = self.upload
        if self.upload is not None:
            own_headers |= {"content-type": "application/octet-stream", "accept": "application/x-ndjson"}
        elif self.file:
            own_headers["content-type"], content = self.file.media_type, self.file.data
        elif self.body:
            own_headers["content-type"] = "application/json"
            try:
                content = self.body.model_dump_json(exclude_defaults=True)
            except PydanticSerializationError as error:  # a text with half a surrogate pair
                raise unsendable(str(error)) from error
        request = httpx.Request(
            self.verb,
            base.copy_with(raw_path=base.raw_path.rstrip(b"/") + self.path.encode()),
            params=self.parameters or None,
            headers={**headers, **own_headers},
            content=content,
            extensions={"timeout": httpx.Timeout(timeout_s, connect=min(timeout_s, 5.0)).as_dict()},
        )
        if self.upload is not None:
            request.stream = self.upload  # httpx wraps it into a stream that only its blocking client takes
        return request


@dataclass(frozen=True)
class Reply(Generic[T_co]):
    """A response, typed (`value`) and as bytes (`raw`). Status 202 tells that a replica lags."""

    value: T_co
    raw: bytes
    status: int
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def request_id(self) -> str | None:
        """Id of the request in the service's logs and its audit."""
        return self.headers.get("x-request-id")


def build(kind: type[R], /, **fields: object) -> R:
    """Build a request of these fields; raise Malformed where they are wrong."""
    try:
        return kind.model_validate(fields)
    except ValidationError as error:
        faults = [point_out(mistake) for mistake in error.errors(include_url=False)]
        raise unsendable(describe_invalid(error), faults) from error


def check(kind: Any, **argument: T) -> T:
    """Return the value of one argument of this type; raise Malformed, with its name, where it is wrong."""
    [(name, value)] = argument.items()
    result: T = getattr(build(_make_type(name, kind), **{name: value}), name)
    return result


@cache
def _make_type(name: str, kind: Any) -> type[Request]:
    fields: dict[str, Any] = {name: (kind, ...)}
    return create_model("Argument", __base__=Request, **fields)


def quote_part(kind: Any, **argument: str) -> str:
    """Return the value of one argument as a part of a path; raise Malformed where it is wrong."""
    return quote(check(kind, **argument), safe="")


def new_key() -> str:
    """Make an idempotency key."""
    return uuid.uuid4().hex


def read_reply(call: Call[T_co], response: httpx.Response) -> Reply[T_co]:
    """Return the reply to a call; raise the error of the response, or NotErrata."""
    if response.is_error:
        raise to_error(response)
    if not response.is_success:
        to = response.headers.get("location", "elsewhere")
        raise NotErrata(
            f"{response.url} answered {response.status_code} and sends us to {to}: use that address"
        )
    try:
        value = call.returns.model_validate_json(response.content)
    except ValidationError as error:
        kind = response.headers.get("content-type", "no content type").split(";")[0]
        advice = "is this the address of an Errata service, of the same version as this client?"
        why = f"{kind}; {describe_invalid(error)[:200]}"
        raise NotErrata(f"{response.url} answered, but not as Errata does ({why}): {advice}") from error
    return Reply(value, response.content, response.status_code, response.headers)
