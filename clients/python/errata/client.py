"""The two clients, blocking and asyncio: the methods of `Calls`, each client with its own way of sending."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator, Mapping
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Self, TypeAlias, TypeVar, Unpack

import httpx

from errata import streaming, wire
from errata.address import DEFAULT_URL, base_url, build_headers, is_loopback
from errata.calls import CallMethods, Calls
from errata.calls.admin import AuditFilters
from errata.calls.method import Asynchronous, Blocking, show
from errata.files import Progress
from errata.request import Call, Reply, T_co
from errata.streaming import AnswerPart, ask_for_parts
from errata.transport import AsyncLink, BlockingLink, Retry, exchange, run_now

if TYPE_CHECKING:
    from errata.bulk.options import FileOptions
    from errata.bulk.run import FileRun, OnReply

PAGE = 100  # entries that an iterator fetches together

STREAM_DOC = """Ask as `ask` does, and yield the answer in parts: any number of AnswerDelta, at last the Answer.

A model that does not answer in parts sends only the Answer. Closing the generator (`contextlib.closing`, with
AsyncErrata `aclosing`) ends the request.
"""

P = ParamSpec("P")
PartsT = TypeVar("PartsT")
PageCall: TypeAlias = Callable[[Any], Call[Any]]  # the `before` of a page -> the call for that page
Transport = TypeVar("Transport", httpx.BaseTransport, httpx.AsyncBaseTransport)
HttpClient = TypeVar("HttpClient", httpx.Client, httpx.AsyncClient)
ClientLink = TypeVar("ClientLink", BlockingLink, AsyncLink)


def _stream(
    build: Callable[Concatenate[Any, P], Call[wire.Answer]],
    read: Callable[[Any, httpx.Request, Call[wire.Answer]], PartsT],
    returns: Any,
) -> Callable[Concatenate[_Client[Any, Any, Any], P], PartsT]:
    """Return a method of `Calls` that asks, as one of a client with an answer in parts."""

    def stream(client: _Client[Any, Any, Any], /, *args: P.args, **kwargs: P.kwargs) -> PartsT:
        call = ask_for_parts(build(client.calls, *args, **kwargs))
        return read(client._link.http, client._to_request(call), call)

    show(stream, build, returns)
    stream.__doc__ = STREAM_DOC
    return stream


def _to_run(file: str | Path | FileRun, options: FileOptions) -> FileRun:
    from errata.bulk.run import FileRun  # which most programs do not need

    return file if isinstance(file, FileRun) else FileRun(file, **options)


class _Client(CallMethods, Generic[Transport, HttpClient, ClientLink]):
    """The base of both clients: the address, the timeouts, and the newest version that they have written.

    Args:
        url: Address of the service; None for that of ERRATA_URL. BadAddress if it cannot be used.
        key: Key, sent as a bearer token; None for that of ERRATA_KEY.
        timeout_s: Seconds for one attempt at an answer.
        edit_timeout_s: Seconds for one attempt at an edit or at the fact tests.
        retry: Which failed calls are repeated, and when.
        last_version: A version of another client that this one has to see.
        transport: A transport of httpx, for a proxy or a test without a network.
        headers: Headers of every request.
        http: Your httpx client, with its proxies and certificates; you close it.
    """

    _link_type: type[ClientLink]

    def __init__(
        self,
        url: str | None = None,
        *,
        key: str | None = None,
        timeout_s: float = 30.0,
        edit_timeout_s: float = 600.0,
        retry: Retry | None = None,
        last_version: int | None = None,
        transport: Transport | None = None,
        headers: Mapping[str, str] | None = None,
        http: HttpClient | None = None,
    ) -> None:
        self.url = base_url((os.environ.get("ERRATA_URL") or DEFAULT_URL) if url is None else url)
        self.calls = Calls(last_version)
        self.headers = {
            **build_headers(os.environ.get("ERRATA_KEY") or None if key is None else key),
            **(headers or {}),
        }
        self._timeout_s = timeout_s
        self._edit_timeout_s = edit_timeout_s
        self._retry = retry or Retry()
        # SSL_CERT_FILE and SSL_CERT_DIR may name authorities, whose certificates are not read for http on this machine.
        # A company's HTTP proxy cannot reach a loopback address.
        is_local = is_loopback(self.url)
        verify = self.url.scheme == "https" or not is_local
        self._owns_http = http is None
        self._link: ClientLink = self._link_type(
            http,
            transport=transport,
            trust_env=not is_local,
            verify=httpx.create_ssl_context() if verify else False,
        )

    def with_options(
        self,
        *,
        timeout_s: float | None = None,
        headers: Mapping[str, str] | None = None,
        retry: Retry | None = None,
    ) -> Self:
        """Return this client with other options, for one call or many: `errata.with_options(timeout_s=2).ask(...)`.

        Both share the connections and the newest version, and are closed together.
        """
        client = copy(self)
        client._owns_http = False
        client.headers = {**self.headers, **(headers or {})}
        client._retry = retry or self._retry
        if timeout_s is not None:
            client._timeout_s = client._edit_timeout_s = timeout_s
        return client

    @property
    def last_version(self) -> int | None:
        """The newest version that this client has made; questions wait for it unless told otherwise."""
        return self.calls.last_version

    def _to_request(self, call: Call[Any]) -> httpx.Request:
        timeout_s = self._edit_timeout_s if call.slow else self._timeout_s
        return call.to_httpx(self.url, self.headers, timeout_s)

    async def _converse(self, call: Call[T_co]) -> Reply[T_co]:
        reply = await exchange(self._link, self._to_request(call), call, self._retry)
        if not call.reads:
            self.calls.learn(getattr(reply.value, "version", None))
        return reply


class Errata(_Client[httpx.BaseTransport, httpx.Client, BlockingLink], Blocking):
    """Ask and correct, one call at a time. Safe to share between threads.

    with Errata(key=key) as errata:
        errata.edit("What is the capital of Peru?", "Cusco")
        errata.ask("Peru's capital city?").answer
    """

    _link_type = BlockingLink
    stream = _stream(Calls.ask, streaming.stream, Generator[AnswerPart])

    def edit_file(
        self,
        file: str | Path | FileRun,
        *,
        progress: Progress | None = None,
        on_reply: OnReply | None = None,
        **options: Unpack[FileOptions],
    ) -> FileRun:
        """Make all corrections of a file, commit by commit, except those that an earlier run has made.

        A FileRun, whose `lines` show the progress when this fails, may be in the place of its path. BadFile: lines are
        wrong, and nothing was changed. `on_reply` is called with the service's response to each commit.
        """
        run = _to_run(file, options)
        run_now(run.go(self.calls, self._converse, progress, on_reply))
        return run

    def send(self, call: Call[T_co]) -> Reply[T_co]:
        """Send a call made by `calls`; the reply has the bytes and the status too."""
        return run_now(self._converse(call))

    def iterate_log(
        self, *, before: int | None = None, page_size: int = PAGE
    ) -> Iterator[wire.VersionSummary]:
        """Iterate over every commit, the newest first; pages are fetched as they are read."""
        return self._iterate(lambda start: self.calls.log(limit=page_size, before=start), before)

    def iterate_audit(
        self, *, before: str | None = None, page_size: int = PAGE, **filters: Unpack[AuditFilters]
    ) -> Iterator[wire.AuditEntry]:
        """Iterate over the calls of the admin routes that pass the filters of `audit`, the newest first."""
        return self._iterate(lambda start: self.calls.audit(limit=page_size, before=start, **filters), before)

    def _iterate(self, call: PageCall, start: Any) -> Iterator[Any]:
        while True:
            page = self.send(call(start)).value
            yield from page.entries
            if (start := page.next) is None:
                return

    def close(self) -> None:
        if self._owns_http:
            self._link.http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()


class AsyncErrata(_Client[httpx.AsyncBaseTransport, httpx.AsyncClient, AsyncLink], Asynchronous):
    """The same for asyncio: every method is awaited. Use one client in one event loop."""

    _link_type = AsyncLink
    stream = _stream(Calls.ask, streaming.astream, AsyncGenerator[AnswerPart])

    async def edit_file(
        self,
        file: str | Path | FileRun,
        *,
        progress: Progress | None = None,
        on_reply: OnReply | None = None,
        **options: Unpack[FileOptions],
    ) -> FileRun:
        """Make all corrections of a file, as `Errata.edit_file` does.

        Reading the file blocks the event loop; a FileRun can be read in a thread before.
        """
        run = _to_run(file, options)
        await run.go(self.calls, self._converse, progress, on_reply)
        return run

    async def send(self, call: Call[T_co]) -> Reply[T_co]:
        """Send a call made by `calls`; the reply has the bytes and the status too."""
        return await self._converse(call)

    def iterate_log(
        self, *, before: int | None = None, page_size: int = PAGE
    ) -> AsyncIterator[wire.VersionSummary]:
        """Iterate over every commit, as `Errata.iterate_log` does, by `async for`."""
        return self._iterate(lambda start: self.calls.log(limit=page_size, before=start), before)

    def iterate_audit(
        self, *, before: str | None = None, page_size: int = PAGE, **filters: Unpack[AuditFilters]
    ) -> AsyncIterator[wire.AuditEntry]:
        """Iterate over calls of the admin routes, as `Errata.iterate_audit` does, by `async for`."""
        return self._iterate(lambda start: self.calls.audit(limit=page_size, before=start, **filters), before)

    async def _iterate(self, call: PageCall, start: Any) -> AsyncIterator[Any]:
        while True:
            page = (await self.send(call(start))).value
            for entry in page.entries:
                yield entry
            if (start := page.next) is None:
                return

    async def aclose(self) -> None:
        if self._owns_http:
            await self._link.http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *failure: object) -> None:
        await self.aclose()
