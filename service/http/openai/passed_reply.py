"""The reply of an upstream as it comes, byte for byte; what Errata says of it is in its headers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from time import perf_counter

from fastapi import Response
from starlette.types import Receive, Scope, Send

from service.concurrency import cancel_and_wait
from service.errors import UpstreamFailed, UpstreamSlow
from service.metrics import metrics
from service.upstream.headers import Headers, to_return
from service.upstream.pool import Pool
from service.upstream.upstream import Upstream
from service.upstream.usage import UsageTap

PASSED_ON, WOULD_ANSWER = "passed", "would-answer"
MARK = "x-errata-"
HUNG_UP = "hung_up"  # outcome of a request whose caller did not wait for the end of the reply
OBSERVE_S = 0.25  # longest wait of a reply's head for a look at the edits

log = logging.getLogger(__name__)
# The server would log an error for each reply that is cut on purpose
logging.getLogger("uvicorn.error").addFilter(
    lambda record: "without completing response" not in record.getMessage()
)


class PassedReply(Response):
    """Sends one request and passes its reply on. If the caller hangs up, the request of the upstream ends at once.

    Args:
        marks: Marks of the request, by the names of headers without their beginning.
        observation: Returns the marks of an edit that would answer, likewise.
    """

    def __init__(
        self,
        pool: Pool,
        upstream: Upstream,
        method: str,
        target: str,
        headers: Headers,
        body: bytes,
        marks: Mapping[str, str],
        observation: asyncio.Task[dict[str, str]] | None,
    ) -> None:
        super().__init__()
        self._pool, self._upstream, self._observation = pool, upstream, observation
        self._marks = {"upstream": upstream.name, "outcome": PASSED_ON, **marks}
        self._request = method, target, headers, body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        start = perf_counter()
        work, hang_up = (
            asyncio.create_task(self._pass_on(send)),
            asyncio.create_task(wait_until_gone(receive)),
        )
        try:
            await asyncio.wait({work, hang_up}, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                work.result()
            else:
                name = self._upstream.name
                metrics.UPSTREAM_REQUESTS.labels(name, HUNG_UP).inc()
                metrics.UPSTREAM_OWN.labels(name, HUNG_UP).observe(perf_counter() - start)
        finally:
            await cancel_and_wait([work, hang_up, *filter(None, [self._observation])])

    async def _pass_on(self, send: Send) -> None:
        """Send the reply. One that is cut has no end here, either, so that the server cuts the connection."""
        name, start, tap = self._upstream.name, perf_counter(), UsageTap()
        marks = self._marks
        try:
            async with self._pool.send(self._upstream, *self._request) as reply:
                if self._observation is not None:
                    await asyncio.wait([self._observation], timeout=OBSERVE_S)
                    marks = marks | (self._observation.result() if self._observation.done() else {})
                metrics.UPSTREAM_OWN.labels(name, "head").observe(perf_counter() - start)
                headers = [(f"{MARK}{key}".encode(), value.encode()) for key, value in marks.items()]
                await send(
                    {
                        "type": "http.response.start",
                        "status": reply.status,
                        "headers": to_return(reply.headers, reply.status, self._upstream.url) + headers,
                    }
                )
                with suppress(UpstreamFailed, UpstreamSlow):
                    async for chunk in reply.body:
                        tap.add(chunk)
                        await send({"type": "http.response.body", "body": chunk, "more_body": True})
                    await send({"type": "http.response.body", "body": b""})
                    metrics.count_passed(name, marks["outcome"].replace("-", "_"), tap.tokens)
                    return
        except Exception:
            metrics.UPSTREAM_REQUESTS.labels(name, "failed").inc()
            raise
        metrics.UPSTREAM_REQUESTS.labels(name, "failed").inc()
        log.warning("the reply of the upstream %r was cut", name)


async def wait_until_gone(receive: Receive) -> None:
    """Wait until the caller hangs up."""
    while (await receive())["type"] != "http.disconnect":
        pass
