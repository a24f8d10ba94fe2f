"""Answers requests for the models of upstreams: by an edit, where the caller's mode lets one, or by the upstream."""

from __future__ import annotations

import asyncio
import logging
from time import perf_counter

from fastapi import Response

from service.errors import InvalidInput
from service.http.auth import Account
from service.http.edited_facts import FactFinder
from service.http.openai.edit_match import EditMatch, Matcher
from service.http.openai.edit_replies import can_shape, read_chat, respond_edit
from service.http.openai.passed_reply import HUNG_UP, MARK, WOULD_ANSWER, PassedReply
from service.http.openai.upstream_request import UpstreamRequest
from service.metrics import metrics
from service.upstream.context import FIELDS, add_block
from service.upstream.headers import to_send
from service.upstream.pool import Pool

VERSION = f"{MARK}version"
LONGEST_PIN = 16  # digits of a version
OUTCOMES = (
    "edit",
    "passed",
    "fact",
    "would_answer",
    "failed",
    HUNG_UP,
)  # the label of a request in the metrics

log = logging.getLogger(__name__)


class Gateway:
    """Answers upstream_requests: by an edit, if the caller's mode lets it, or else by the upstream."""

    def __init__(self, pool: Pool, matcher: Matcher, fact_finder: FactFinder | None) -> None:
        self._pool, self._matcher, self._fact_finder = pool, matcher, fact_finder

    async def respond(self, upstream_request: UpstreamRequest) -> Response:
        """Respond by an edit or by the upstream, as the caller's mode says."""
        account: Account = upstream_request.request.state.account
        mode = upstream_request.upstream.find_mode(account.caller.name)
        match = await self._match(upstream_request, charges=True) if mode == "on" else None
        if match is not None and (response := self._respond_edit(upstream_request, match)) is not None:
            return response
        headers = to_send(upstream_request.request.headers.raw, upstream_request.upstream.key)
        body, marks = await self._add_facts(upstream_request) if mode == "on" else (upstream_request.body, {})
        request = upstream_request.request.method, upstream_request.target, headers, body, marks
        observation = asyncio.create_task(self._observe(upstream_request)) if mode == "observe" else None
        metrics.UPSTREAM_ADDED.labels(upstream_request.upstream.name).observe(
            perf_counter() - upstream_request.began_at
        )
        return PassedReply(self._pool, upstream_request.upstream, *request, observation)

    async def _add_facts(self, upstream_request: UpstreamRequest) -> tuple[bytes, dict[str, str]]:
        """Return the body with the edited facts about its question, and what headers say of them."""
        body, question, account = (
            upstream_request.body,
            upstream_request.question,
            upstream_request.request.state.account,
        )
        if self._fact_finder is None or question is None or upstream_request.path not in FIELDS:
            return body, {}
        facts = await self._fact_finder.find(question.text, account.asker, read_pin(upstream_request))
        if facts is None:
            return body, {}
        longer = await asyncio.to_thread(add_block, upstream_request.path, body, facts.block)
        return (body, {}) if longer is None else (longer, {"outcome": "fact", **facts.marks})

    async def _observe(self, upstream_request: UpstreamRequest) -> dict[str, str]:
        """Return the marks of an edit that would answer; a failure is no match, for it changes nothing."""
        try:
            match = await self._match(upstream_request, charges=False)
        except Exception as error:
            log.warning("a question is passed on without a look at the edits: %s", error)
            match = None
        return {} if match is None else {"outcome": WOULD_ANSWER} | _mark_edit(match)

    async def _match(self, upstream_request: UpstreamRequest, charges: bool) -> EditMatch | None:
        if upstream_request.question is None or not can_shape(upstream_request.path, upstream_request.fields):
            return None
        account: Account = upstream_request.request.state.account
        version = read_pin(upstream_request)
        return await self._matcher.match(upstream_request.question, account, version, charges)

    def _respond_edit(self, upstream_request: UpstreamRequest, match: EditMatch) -> Response | None:
        assert upstream_request.question is not None, "it was matched"
        chat = read_chat(upstream_request.path, upstream_request.fields, upstream_request.question.text)
        if chat is None:
            return None
        response = respond_edit(upstream_request.path, upstream_request.fields, chat, match.answer)
        marks = {"upstream": upstream_request.upstream.name, "outcome": "edit"} | _mark_edit(match)
        response.headers.update({f"{MARK}{name}": text for name, text in marks.items()})
        if VERSION not in upstream_request.request.headers:
            self._matcher.count_hit(match)
        metrics.UPSTREAM_REQUESTS.labels(upstream_request.upstream.name, "edit").inc()
        return response


def read_pin(upstream_request: UpstreamRequest) -> int | None:
    """Return the version that a request names; None for the newest."""
    pin = upstream_request.request.headers.get(VERSION)
    if pin is not None and not (pin.isdecimal() and len(pin) <= LONGEST_PIN):
        raise InvalidInput(f"the header {VERSION} is a version, such as 12")
    return None if pin is None else int(pin)


def _mark_edit(match: EditMatch) -> dict[str, str]:
    return {"edit": match.edit, "version": str(match.version)}
