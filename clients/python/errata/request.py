"""One request as data: what is asked of the service, before anybody sends it; and how its answer is read."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

import httpx
from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from errata.errors import ErrataError, NotErrata, VersionAhead
from errata.files import Download, Upload
from errata.problems import describe_invalid, list_faults, to_error, unsendable
from errata.wire import Request, Response

R = TypeVar("R", bound=Request)
T_co = TypeVar("T_co", bound=Response, covariant=True)


@dataclass(frozen=True)
class FileBody:
    """A body that is a file as it stands.

    Attributes:
        data: The file.
        media_type: What it is.
    """

    data: bytes
    media_type: str


@dataclass(frozen=True)
class Call(Generic[T_co]):
    """idempotency_key: makes a write safe to repeat; the service answers a repetition with the first result.

    reads: nothing is changed by it, however often it is sent.
    slow: editing and re-running fact tests take longer than answering.
    upload: a file to send as the body; the service then reports how far it is, line by line. download: where the
    response goes, which is a file. file: the body, in place of `body`.
    may_never_exist: it waits for a version that this client has not heard of, and that may never be made.
    """

    verb: Literal["GET", "POST", "PUT", "DELETE"]
    path: str
    returns: type[T_co]
    body: Request | None = None
    file: FileBody | None = None
    query: Mapping[str, int | str] = field(default_factory=dict)
    idempotency_key: str | None = None
    reads: bool = True
    slow: bool = False
    may_never_exist: bool = False
    upload: Upload | None = None
    download: Download | None = None

    def repeatable(self, error: ErrataError, may_be_done: bool = True) -> bool:
        """Whether it may be sent again after `error`. may_be_done: it may have had its effect."""
        if isinstance(error, VersionAhead) and self.may_never_exist:
            return False  # the service has waited already
        if self.upload is not None and not self.upload.rewind():
            return False  # what came through a pipe cannot be read again
        if self.download is not None and not self.download.repeatable:
            return False
        return self.reads or self.idempotency_key is not None or not may_be_done

    @property
    def sent_whole(self) -> bool:
        """Whether all of it was sent, the last time that it was: the service acts on nothing less."""
        return self.upload is None or self.upload.whole

    def to_httpx(self, base: httpx.URL, headers: Mapping[str, str], timeout_s: float) -> httpx.Request:
        """Defaults are not sent, so that an older service takes a newer client's requests."""
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
            except PydanticSerializationError as error:  # a text that is none, such as half a surrogate pair
                raise unsendable(str(error)) from error
        request = httpx.Request(
            self.verb,
            base.copy_with(raw_path=base.raw_path.rstrip(b"/") + self.path.encode()),
            params=dict(self.query) or None,
            headers={**headers, **own_headers},
            content=content,
            extensions={"timeout": httpx.Timeout(timeout_s, connect=min(timeout_s, 5.0)).as_dict()},
        )
        if self.upload is not None:
            request.stream = self.upload  # httpx wraps it into what only its blocking client takes
        return request


@dataclass(frozen=True)
class Reply(Generic[T_co]):
    """value: the answer, typed. raw: its bytes as they came. status: 202 says that a replica lags."""

    value: T_co
    raw: bytes
    status: int
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def request_id(self) -> str | None:
        """By which the service's logs and its audit name the request."""
        return self.headers.get("x-request-id")


def build(kind: type[R], /, **fields: object) -> R:
    """The request of these fields. Malformed, before anything is sent, where they are wrong."""
    try:
        return kind.model_validate(fields)
    except ValidationError as error:
        raise unsendable(describe_invalid(error), list_faults(error)) from error


def to_query(**fields: Any) -> dict[str, int | str]:
    """The fields that are set, truth as JSON writes it."""
    return {
        name: str(value).lower() if isinstance(value, bool) else value
        for name, value in fields.items()
        if value is not None
    }


def new_key() -> str:
    """An idempotency key."""
    return uuid.uuid4().hex


def read_reply(call: Call[T_co], response: httpx.Response) -> Reply[T_co]:
    """The answer to a call. Raises the error that the response stands for, or NotErrata."""
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
