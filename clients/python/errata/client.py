"""The two clients, blocking and asyncio: the methods of `Calls`, each client with its own way of sending."""

from __future__ import annotations

import inspect
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Generator, Iterator, Mapping
from copy import copy
from functools import wraps
from pathlib import Path
from types import MethodType
from typing import (
    Any,
    Concatenate,
    Generic,
    ParamSpec,
    Self,
    TypeVar,
    Unpack,
    get_args,
    get_type_hints,
    overload,
)

import httpx

from errata import streaming, wire
from errata.address import DEFAULT_URL, base_url, build_headers, is_loopback
from errata.bulk.options import FileOptions
from errata.bulk.run import FileRun, OnReply, to_run
from errata.calls import Calls
from errata.calls.access import AuditFilters
from errata.files import Progress
from errata.request import Call, Reply, T_co
from errata.streaming import AnswerPart, Page, PageCall, ask_for_parts
from errata.transport import AsyncLink, BlockingLink, Retry, exchange, run_now

PAGE = 100  # entries that an iterator fetches together

STREAM_DOC = """Ask as `ask` does, and yield the answer in parts: any number of AnswerDelta, at last the Answer.

A model that does not answer in parts sends only the Answer. Closing the generator (`contextlib.closing`, with
AsyncErrata `aclosing`) ends the request.
"""

P = ParamSpec("P")
Transport = TypeVar("Transport", httpx.BaseTransport, httpx.AsyncBaseTransport)
HttpClient = TypeVar("HttpClient", httpx.Client, httpx.AsyncClient)
ClientLink = TypeVar("ClientLink", BlockingLink, AsyncLink)


class _Method(Generic[P, T_co]):
    """A method of `Calls` as one of a client, which sends the call: blocking, or as a coroutine."""

    def __init__(self, build: Callable[Concatenate[Calls, P], Call[T_co]]) -> None:
        @wraps(build)
        def send(client: Errata, /, *args: P.args, **kwargs: P.kwargs) -> T_co:
            return client.send(build(client.calls, *args, **kwargs)).value

        @wraps(build)
        async def send_async(client: AsyncErrata, /, *args: P.args, **kwargs: P.kwargs) -> T_co:
            return (await client.send(build(client.calls, *args, **kwargs))).value

        [returns] = get_args(get_type_hints(build)["return"])
        _show(send, build, returns)
        _show(send_async, build, returns)
        self._send, self._send_async = send, send_async

    @overload
    def __get__(self, client: None, kind: type[Any]) -> Callable[..., Any]: ...

    @overload
    def __get__(self, client: Errata, kind: type[Any]) -> Callable[P, T_co]: ...

    @overload
    def __get__(self, client: AsyncErrata, kind: type[Any]) -> Callable[P, Coroutine[Any, Any, T_co]]: ...

    def __get__(self, client: Any, kind: type[Any]) -> Callable[..., Any]:
        method: Callable[..., Any] = self._send_async if issubclass(kind, AsyncErrata) else self._send
        return method if client is None else MethodType(method, client)


def _show(method: Any, build: Callable[..., Any], returns: Any) -> None:
    """Let help() show the parameters and the type of the result."""
    method.__signature__ = inspect.signature(build).replace(return_annotation=returns)


class _Stream(Generic[P]):
    """A method of `Calls` that asks, as one of a client with an answer in parts."""

    def __init__(self, build: Callable[Concatenate[Calls, P], Call[wire.Answer]]) -> None:
        def stream(client: Errata, /, *args: P.args, **kwargs: P.kwargs) -> Generator[AnswerPart]:
            return client._stream(build(client.calls, *args, **kwargs))

        def stream_async(
            client: AsyncErrata, /, *args: P.args, **kwargs: P.kwargs
        ) -> AsyncGenerator[AnswerPart]:
            return client._stream(build(client.calls, *args, **kwargs))

        _show(stream, build, Generator[AnswerPart])
        _show(stream_async, build, AsyncGenerator[AnswerPart])
        stream.__doc__ = stream_async.__doc__ = STREAM_DOC
        self._stream, self._stream_async = stream, stream_async

    @overload
    def __get__(self, client: None, kind: type[Any]) -> Callable[..., Any]: ...

    @overload
    def __get__(self, client: Errata, kind: type[Any]) -> Callable[P, Generator[AnswerPart]]: ...

    @overload
    def __get__(self, client: AsyncErrata, kind: type[Any]) -> Callable[P, AsyncGenerator[AnswerPart]]: ...

    def __get__(self, client: Any, kind: type[Any]) -> Callable[..., Any]:
        method: Callable[..., Any] = self._stream_async if issubclass(kind, AsyncErrata) else self._stream
        return method if client is None else MethodType(method, client)


class _Client(Generic[Transport, HttpClient, ClientLink]):
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

    ask = _Method(Calls.ask)
    ask_many = _Method(Calls.ask_many)
    stream = _Stream(Calls.ask)
    edit = _Method(Calls.edit)
    edit_many = _Method(Calls.edit_many)
    fact = _Method(Calls.fact)
    define_relation = _Method(Calls.define_relation)
    change = _Method(Calls.change)
    import_graph = _Method(Calls.import_graph)
    revert = _Method(Calls.revert)
    rollback = _Method(Calls.rollback)
    log = _Method(Calls.log)
    gaps = _Method(Calls.gaps)
    gap = _Method(Calls.gap)
    drop_gap = _Method(Calls.drop_gap)
    check_gaps = _Method(Calls.check_gaps)
    propose = _Method(Calls.propose)
    proposals = _Method(Calls.proposals)
    proposal = _Method(Calls.proposal)
    approve = _Method(Calls.approve)
    reject = _Method(Calls.reject)
    show = _Method(Calls.show)
    show_edit = _Method(Calls.show_edit)
    active_edits = _Method(Calls.active_edits)
    scope = _Method(Calls.scope)
    why = _Method(Calls.why)
    diff = _Method(Calls.diff)
    check = _Method(Calls.check)
    last_check = _Method(Calls.last_check)
    replicas = _Method(Calls.replicas)
    models = _Method(Calls.models)
    memory = _Method(Calls.memory)
    put_document = _Method(Calls.put_document)
    put_document_file = _Method(Calls.put_document_file)
    get_document = _Method(Calls.get_document)
    list_documents = _Method(Calls.list_documents)
    remove_document = _Method(Calls.remove_document)
    entities = _Method(Calls.entities)
    relations = _Method(Calls.relations)
    table = _Method(Calls.table)
    entity = _Method(Calls.entity)
    senses = _Method(Calls.senses)
    whoami = _Method(Calls.whoami)
    tags = _Method(Calls.tags)
    tag = _Method(Calls.tag)
    untag = _Method(Calls.untag)
    reviews = _Method(Calls.reviews)
    review = _Method(Calls.review)
    hits = _Method(Calls.hits)
    keys = _Method(Calls.keys)
    make_key = _Method(Calls.make_key)
    rotate_key = _Method(Calls.rotate_key)
    revoke_key = _Method(Calls.revoke_key)
    audit = _Method(Calls.audit)
    backup = _Method(Calls.backup)
    restore = _Method(Calls.restore)

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
        # SSL_CERT_FILE and SSL_CERT_DIR may name authorities. A company's HTTP proxy cannot reach a loopback address.
        self._owns_http = http is None
        self._link: ClientLink = self._link_type(
            http, transport=transport, trust_env=not is_loopback(self.url), verify=httpx.create_ssl_context()
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

        Args:
            timeout_s: Seconds for one attempt at any call.
            headers: Further headers.
            retry: Which failed calls are repeated, and when.
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
        self.calls.learn(reply.value)
        return reply


class Errata(_Client[httpx.BaseTransport, httpx.Client, BlockingLink]):
    """Ask and correct, one call at a time. Safe to share between threads.

    with Errata(key=key) as errata:
        errata.edit("What is the capital of Peru?", "Cusco")
        errata.ask("Peru's capital city?").answer
    """

    _link_type = BlockingLink

    def edit_file(
        self,
        file: str | Path | FileRun,
        *,
        progress: Progress | None = None,
        on_reply: OnReply | None = None,
        **options: Unpack[FileOptions],
    ) -> FileRun:
        """Make all corrections of a file, commit by commit, except those that an earlier run has made.

        Args:
            file: A path, or a FileRun, whose `lines` show the progress when this fails.
            progress: Is called with the number of lines done, as ImportProgress.
            on_reply: Is called with the service's response to each commit, as bytes.
            **options: Options of the commits.

        Raises:
            BadFile: Lines cannot be used; nothing was changed.
        """
        run = to_run(file, options)
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
            page: Page[Any] = self.send(call(start)).value
            yield from page.entries
            if (start := page.next) is None:
                return

    def _stream(self, call: Call[wire.Answer]) -> Generator[AnswerPart]:
        call = ask_for_parts(call)
        return streaming.stream(self._link.http, self._to_request(call), call)

    def close(self) -> None:
        if self._owns_http:
            self._link.http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()


class AsyncErrata(_Client[httpx.AsyncBaseTransport, httpx.AsyncClient, AsyncLink]):
    """The same for asyncio: every method is awaited. Use one client in one event loop."""

    _link_type = AsyncLink

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
        run = to_run(file, options)
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
            page: Page[Any] = (await self.send(call(start))).value
            for entry in page.entries:
                yield entry
            if (start := page.next) is None:
                return

    def _stream(self, call: Call[wire.Answer]) -> AsyncGenerator[AnswerPart]:
        call = ask_for_parts(call)
        return streaming.astream(self._link.http, self._to_request(call), call)

    async def aclose(self) -> None:
        if self._owns_http:
            await self._link.http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *failure: object) -> None:
        await self.aclose()
