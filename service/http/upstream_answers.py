"""Questions of /v1/answers to a model of an upstream: an edit answers, or one chat completion of the upstream.

The edits are read first, at the version that is asked for, as at any model of ours. A question that no edit answers is
put to its upstream once a request, whatever the versions, so that two versions differ only by their edits.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, TypeAlias

from errata.wire import AnswerRequest

from service.errors import ErrataError, InvalidInput, UnknownModel, UpstreamFailed, UpstreamSlow
from service.http.auth import Account
from service.http.edited_facts import EditedFacts, FactFinder
from service.http.model_router import ModelRouter, Question
from service.http.openai.passed_reply import PASSED_ON
from service.http.openai.upstream_request import check_caller
from service.metrics import metrics
from service.outcome import Outcome
from service.upstream.context import add_block
from service.upstream.pool import Pool
from service.upstream.question import CHAT
from service.upstream.upstream import SEPARATOR, Upstream
from service.upstream.usage import UsageTap

LIMIT_S = 25.0  # for all answers of a request, below the 30 s for which clients wait
MAX_TOKENS = 2_048  # tokens of an answer whose request names no number; reasoning takes hundreds of them
AT_ONCE = 8  # questions of one request that are under way at upstreams
READ = {"question", "model", "version", "min_version", "as_of", "stream", "sampling"}  # fields of a request
NO_TEXT = {"answer": None, "reason": "no_text", "reason_text": "The model of the upstream gave no text."}
AT_THE_LIMIT = {
    "answer": None,
    "reason": "no_text",
    "reason_text": "The model of the upstream reached its limit of tokens before it gave a text: raise max_tokens.",
}
Completion: TypeAlias = dict[str, Any]  # the fields of the wire's Answer that are the upstream's


@dataclass(frozen=True)
class UpstreamQuestion:
    upstream: Upstream
    model: str  # its name there
    request: AnswerRequest
    takes_edits: bool  # whether edits answer this caller
    parts: tuple[Question, ...]  # the question as the memory's model is asked it
    facts: EditedFacts | None = None  # facts before it

    @property
    def work(self) -> int:
        return self.parts[0].work

    @property
    def body(self) -> bytes:
        """The chat completion that the upstream is asked for; equal questions have equal ones."""
        sampling = self.request.sampling
        fields = {} if sampling is None else sampling.model_dump(exclude_unset=True, exclude={"logprobs"})
        # OpenAI's newest models refuse the field that all other servers know
        limit = "max_completion_tokens" if "openai" in self.upstream.url else "max_tokens"
        n_tokens = fields.pop("max_tokens", None) or MAX_TOKENS
        messages = [{"role": "user", "content": self.request.question}]
        body = json.dumps({"model": self.model, "messages": messages, limit: n_tokens, **fields}).encode()
        return body if self.facts is None else add_block(CHAT, body, self.facts.block) or body


@dataclass(frozen=True)
class UpstreamAnswers:
    """Answers questions to upstreams.

    Attributes:
        memory_model: The model whose memory has the edits.
        fact_finder: Finds the edited facts that are put before a question; None where none are.
    """

    upstreams: Mapping[str, Upstream]
    pool: Pool
    models: ModelRouter
    memory_model: str
    fact_finder: FactFinder | None

    async def prepare(self, request: AnswerRequest, account: Account | None) -> UpstreamQuestion | None:
        """Return the question if it names a model of an upstream.

        Raises:
            InvalidInput: It has a field that no upstream can be asked with.
            Unauthorized: Its caller may not use the upstream.
        """
        name, _, model = (request.model or "").partition(SEPARATOR)
        upstream = self.upstreams.get(name)
        if upstream is None or not model or account is None:
            return None
        fields = request.model_dump(exclude_defaults=True)
        unread = sorted(fields.keys() - READ) + ["logprobs"] * ("logprobs" in fields.get("sampling", ()))
        if unread:
            raise InvalidInput(
                f"the model of an upstream is asked the question alone: leave out `{unread[0]}`"
            )
        await check_caller(account, upstream)
        bare = request.model_copy(update={"model": self.memory_model, "sampling": None})
        match = self.models.prepare(bare, account.asker, only="edits")
        takes_edits = upstream.find_mode(account.caller.name) == "on"
        return UpstreamQuestion(upstream, model, request, takes_edits, (match,))

    async def answer_many(self, matches: Sequence[tuple[UpstreamQuestion, Outcome]]) -> list[Outcome]:
        """Return the outcomes of questions whose edits were looked for; a failure is the outcome of its question."""
        questions = await asyncio.gather(*(self._add_facts(question, match) for question, match in matches))
        keys = [
            None if question is None else (question.upstream.name, question.body) for question in questions
        ]
        open_questions = {
            key: question for key, question in zip(keys, questions, strict=True) if key and question
        }
        slots, end = asyncio.Semaphore(AT_ONCE), asyncio.get_running_loop().time() + LIMIT_S

        async def complete_in_time(question: UpstreamQuestion) -> Completion | ErrataError:
            name = question.upstream.name
            try:
                async with asyncio.timeout_at(end), slots:
                    return await self.complete(question)
            except (TimeoutError, ErrataError) as error:
                metrics.UPSTREAM_REQUESTS.labels(name, "failed").inc()
                slow = UpstreamSlow(f"the upstream {name!r} gave no answer within {LIMIT_S:g} s")
                return error if isinstance(error, ErrataError) else slow

        replies = await asyncio.gather(*map(complete_in_time, open_questions.values()))
        completions = dict(zip(open_questions, replies, strict=True))
        return [
            _conclude(question or original, match, completions[key] if key else None)
            for key, question, (original, match) in zip(keys, questions, matches, strict=True)
        ]

    async def _add_facts(self, question: UpstreamQuestion, match: Outcome) -> UpstreamQuestion | None:
        """Return a question that goes to its upstream, with the facts of the match's version; None for any other."""
        if match.status >= 400:
            return None
        if question.takes_edits and match.edits and not json.loads(match.body)["truncated"]:
            return None
        if self.fact_finder is None or not question.takes_edits:
            return question
        request, asker = question.request, question.parts[0].asker
        facts = await self.fact_finder.find(request.question, asker, match.version, request.as_of)
        return replace(question, facts=facts)

    async def complete(self, question: UpstreamQuestion) -> Completion:
        """Ask an upstream, and return the fields of the answer that are its."""
        name, start, tap = question.upstream.name, perf_counter(), UsageTap()
        status, data = await self.pool.fetch(question.upstream, "POST", CHAT, question.body)
        if status >= 400:  # its own words may have a part of its key
            detail = f"the upstream {name!r} answered for the model {question.model!r} with status {status}"
            error = (
                UnknownModel if status == 404 else UpstreamFailed
            )  # a client sends no request again for these
            raise error(f"{detail}: nothing was sent again")
        try:
            choice = json.loads(data)["choices"][0]
            text = (choice["message"].get("content") or "").strip()
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            raise UpstreamFailed(f"the upstream {name!r} sent no chat completion") from error
        tap.add(data)
        finish = "length" if choice.get("finish_reason") == "length" else "stop"
        metrics.count_passed(name, "fact" if question.facts else PASSED_ON, tap.tokens)
        took_ms = 1_000 * (perf_counter() - start)
        return {
            **(AT_THE_LIMIT if finish == "length" else NO_TEXT),
            **({"answer": text, "reason": None, "reason_text": None} if text else {}),
            "best": text,
            "finish": finish,
            "timings": {"queue_ms": 0.0, "graph_ms": 0.0, "model_ms": took_ms, "total_ms": took_ms},
            "upstream": name,
        }


def _conclude(
    question: UpstreamQuestion, match: Outcome, completion: Completion | ErrataError | None
) -> Outcome:
    """Return the outcome of a question from the memory's model's, and from the upstream's reply if it was asked."""
    if match.status >= 400:
        return match
    if isinstance(completion, ErrataError):
        return Outcome.of(completion, None)
    answer = {**json.loads(match.body), "model": question.request.model}
    if completion is None:
        metrics.UPSTREAM_REQUESTS.labels(question.upstream.name, "edit").inc()
        return replace(match, body=json.dumps(answer).encode())
    if match.edits:  # it would answer if the mode let it
        near = {"edit": match.edits[0], "question": match.wording, "probability": answer["score"]}
        answer["nearby_edit"] = near
    without_edits = {
        "score": 0.0,
        "alternatives": [],
        "edits": [],
        "edited_in": None,
        "facts": question.facts.facts if question.facts else [],
        "place": None,
        "truncated": False,
        "degraded": None,
    }
    answer |= without_edits | completion
    return replace(match, body=json.dumps(answer).encode(), declined=False, edits=())
