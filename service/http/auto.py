"""Puts a question to the model `auto` to every system that can read it, and picks the surest reply.

All systems are asked at once, and each sees the same request. Each replica answers from the newest version that it has;
where these differ, systems are asked again for the oldest of them, so that an answer, and a batch, are of one version.

A system that cannot read a context, a document or candidates is left out of a question that has them. One that fails is
left out of the choice, and the answer says so (`away`); the question fails only if all of them do. An answer by a
correction comes before the others: systems that it does not reach are as sure as they were before it
(`service/choice.py`).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from time import time
from typing import Any, TypeAlias, cast

from errata.wire import AnswerDelta, AnswerRequest

from service.choice import CandidateRank, choose, repeats_words
from service.concurrency import cancel_and_wait
from service.config import AUTO
from service.curation.gap_groups import find_thing
from service.curation.gaps import Kind, Occurrence
from service.curation.hits import Hits
from service.errors import InvalidInput, NotFound, NotReady, TooMany
from service.http.auth import Account
from service.http.descriptions import Description
from service.http.model_router import ModelRouter, Question
from service.http.upstream_answers import UpstreamAnswers, UpstreamQuestion
from service.outcome import CODE, Outcome
from service.scheduling.batch_queue import NO_ASKER
from service.scheduling.work import INPUT_OF_FIELD

STRAGGLER_TIMEOUT_S = (
    10.0  # wait for further systems after one has replied; a restarting one may take its time limit
)
LEAST_GUESS = 0.2  # score from which a decline shows its best guess
OTHER_MODELS = "other_models"  # name in the explanation under which the other systems' replies stand
REPEATS, REPEATS_TEXT = "repeats_question", "The answer only repeats a name of the question."
UNREAD = "unread_input"  # reason of a system that was not asked
Replies = dict[str, Outcome]  # the outcomes of one question, by system
# Fields of a question whose answer an edit of the question would change
ALONE = frozenset({"question", "model", "min_version", "top_k", "explain", "asker", "trace", "only"})


@dataclass(frozen=True)
class AutoQuestion:
    request: AnswerRequest  # request of the caller
    parts: tuple[Question, ...]  # the question as each system is asked it
    # Systems that are not asked, with the field of the request that they do not read
    unread: Mapping[str, str]

    @property
    def work(self) -> int:
        """Return the cost at all systems together; a question that none of them reads costs 1."""
        return max(1, sum(part.work for part in self.parts))


AnyQuestion: TypeAlias = Question | AutoQuestion | UpstreamQuestion


@dataclass(frozen=True)
class ModelReply:
    model: str  # name of the system
    outcome: Outcome  # the outcome as its replica made it
    body: Mapping[str, Any]  # the wire's Answer, or a problem document
    standing: CandidateRank | None  # what decides whether it is taken; None for a problem

    @property
    def answers(self) -> bool:
        return self.standing is not None and self.standing.answers

    @property
    def repeats(self) -> bool:
        return self.standing is not None and self.standing.repeats

    @property
    def is_away(self) -> bool:
        """Return whether the system failed, which is not the question's fault."""
        return self.outcome.status >= 500 or self.outcome.status == TooMany.status


class AutoRouter:
    """The models by the names that callers give, `auto` among them.

    Args:
        max_batch: Questions of one request that are put to all systems at once.
        default: The model that is meant where a question names none.
        upstreams: Answers questions to the models of upstreams; None where there are none.
        patience_s: Seconds to wait for further systems after one has replied.
        on_gap: Is called where a question that stands alone is declined, or answered without the edit that it is
            near to.
        on_hit: Is called for each edit that an answer rests on, unless the question names a version.
    """

    def __init__(
        self,
        models: ModelRouter,
        max_batch: int,
        default: str = AUTO,
        upstreams: UpstreamAnswers | None = None,
        patience_s: float = STRAGGLER_TIMEOUT_S,
        on_gap: Callable[[Occurrence], None] | None = None,
        on_hit: Callable[[Hits], None] | None = None,
    ) -> None:
        self._models, self._max_batch, self._upstreams = models, max_batch, upstreams
        self._default, self._patience_s = default, patience_s
        self._on_gap, self._on_hit = on_gap, on_hit

    async def draws(self, model: str) -> bool:
        """Return whether a model writes its answers freely; `auto`, an unknown one and one that is down do not."""
        if model not in self._models.names:
            return False
        return "sampling" in (await self._models.descriptions.find(model) or {}).get("inputs", ())

    async def prepare(self, request: AnswerRequest, account: Account | None = None) -> AnyQuestion:
        model, asker = request.model or self._default, NO_ASKER if account is None else account.asker
        if self._upstreams and (question := await self._upstreams.prepare(request, account)):
            return question
        if model != AUTO:
            return self._models.prepare(request.model_copy(update={"model": model}), asker)
        fields_with_input = [
            field for field in INPUT_OF_FIELD if field in request.model_dump(exclude_defaults=True)
        ]
        descriptions = await self._models.descriptions.find_all() if fields_with_input else {}
        parts, unread = list[Question](), dict[str, str]()
        for model in self._models.names:
            missing = _find_unread(fields_with_input, descriptions.get(model))
            if texts := [field for field in missing if field != "kg"]:
                unread[model] = texts[0]
                continue
            # A system that reads no graph answers without it anyway.
            fields = {"model": model} | ({"kg": "graph"} if missing else {})
            parts.append(self._models.prepare(request.model_copy(update=fields), asker))
        return AutoQuestion(request, tuple(parts), unread)

    async def answer(self, question: AnyQuestion) -> Outcome:
        """Answer one question; raise ErrataError where the one system that was asked for failed."""
        if isinstance(question, Question):
            return self._note(question, await self._models.answer(question))
        [outcome] = await self._conclude([question], [await self._ask_systems(question)])
        return outcome

    async def stream(self, question: AnyQuestion) -> AsyncIterator[bytes | Outcome]:
        """Yield deltas, last the outcome.

        Where several systems are asked, the text is not known before all of them have replied; a delta each says how
        many have. Nothing is sent before one has answered, so that a question that fails has its own status.
        """
        if isinstance(question, Question):
            async for item in self._models.stream(question):
                yield self._note(question, item) if isinstance(item, Outcome) else item
        elif isinstance(question, UpstreamQuestion):
            yield await self.answer(question)
        elif len(question.parts) == 1:
            (part,) = question.parts
            async for item in self._models.stream(part):
                if isinstance(item, Outcome):
                    yield self._note(question, merge_replies(question, {part.model: item}))
                else:
                    yield item
        else:
            outcomes: dict[str, Outcome] = {}
            async with aclosing(self._ask_all(question.parts)) as replies:
                async for model, outcome in replies:
                    outcomes[model] = outcome
                    if any(reply.status < 400 for reply in outcomes.values()):
                        counts = {"n_replied": len(outcomes), "n_asked": len(question.parts)}
                        delta = AnswerDelta(text="", progress={"model": model, **counts})
                        yield delta.model_dump_json().encode()
            [outcome] = await self._conclude([question], [outcomes])
            yield outcome

    async def answer_many(self, questions: Sequence[AnyQuestion]) -> list[Outcome]:
        """Return one outcome a question, in order. A call that fails is the outcome of its items."""
        return await self._conclude(questions, await self._ask_many(questions))

    async def _conclude(self, questions: Sequence[AnyQuestion], replies: Sequence[Replies]) -> list[Outcome]:
        """Return the outcome of each question, after its systems were asked again for replies of one version."""
        while again := find_others(questions, replies):
            for place, outcomes in zip(again, await self._ask_many(list(again.values())), strict=True):
                replies[place].update(outcomes)
        results = [
            merge_replies(question, outcomes)
            if isinstance(question, AutoQuestion)
            else outcomes[question.parts[0].model]
            for question, outcomes in zip(questions, replies, strict=True)
        ]
        if self._upstreams:
            places = {
                place: question
                for place, question in enumerate(questions)
                if isinstance(question, UpstreamQuestion)
            }
            matches = [(question, results[place]) for place, question in places.items()]
            for place, outcome in zip(places, await self._upstreams.answer_many(matches), strict=True):
                results[place] = outcome
        return [self._note(question, outcome) for question, outcome in zip(questions, results, strict=True)]

    async def _ask_many(self, questions: Sequence[AnyQuestion]) -> list[Replies]:
        slots = asyncio.Semaphore(self._max_batch)

        async def ask(question: AutoQuestion | UpstreamQuestion) -> Replies:
            async with slots:
                return await self._ask_systems(question)

        single = [question for question in questions if isinstance(question, Question)]
        auto = [question for question in questions if not isinstance(question, Question)]
        outcomes, replies = await asyncio.gather(
            self._models.answer_many(single), asyncio.gather(*map(ask, auto))
        )
        rest_of_single, rest_of_auto = iter(outcomes), iter(replies)
        return [
            {question.model: next(rest_of_single)} if isinstance(question, Question) else next(rest_of_auto)
            for question in questions
        ]

    async def _ask_systems(self, question: AutoQuestion | UpstreamQuestion) -> Replies:
        async with aclosing(self._ask_all(question.parts)) as replies:
            return {model: outcome async for model, outcome in replies}

    def _note(self, question: AnyQuestion, outcome: Outcome) -> Outcome:
        """Return the outcome, after telling of a question that is answered badly, or by edits."""
        is_gap = self._on_gap is not None and (outcome.declined or outcome.is_near)
        is_hit = self._on_hit is not None and bool(outcome.edits)
        if isinstance(question, UpstreamQuestion):
            (question,) = question.parts
        if is_gap or is_hit:
            fields = (
                question.fields
                if isinstance(question, Question)
                else question.request.model_dump(exclude_defaults=True)
            )
            if self._on_hit is not None and "version" not in fields:
                for edit in outcome.edits:
                    self._on_hit(Hits(edit, 1, time()))
            if self._on_gap is not None and is_gap and ALONE.issuperset(fields):
                model = question.model if isinstance(question, Question) else AUTO
                text = str(fields["question"])
                thing = find_thing(text, json.loads(outcome.body)) if outcome.declined else ""
                kind: Kind = ("uncovered" if thing else "declined") if outcome.declined else "near"
                self._on_gap(Occurrence(text, model, kind, 1, time(), thing))
        return outcome

    async def _ask_all(self, parts: Sequence[Question]) -> AsyncGenerator[tuple[str, Outcome]]:
        """Yield each system's name and outcome as it replies; one that lags behind the others is not waited for."""
        models = {asyncio.create_task(self._models.try_answer(part)): part.model for part in parts}
        has_replies = any("max_version" in part.fields for part in parts)
        pending, timeout_s = set(models), self._patience_s if has_replies else None
        try:
            while pending:
                done, pending = await asyncio.wait(pending, timeout=timeout_s, return_when="FIRST_COMPLETED")
                if not done:
                    break
                for task in done:
                    yield models[task], task.result()
                if any(task.result().status < 400 for task in done):
                    timeout_s = self._patience_s
            for task in pending:
                detail = (
                    f"the model {models[task]!r} did not answer within {self._patience_s:g} s after another"
                )
                yield models[task], Outcome.of(NotReady(detail), None)
        finally:
            await cancel_and_wait(models)


def find_others(questions: Sequence[AnyQuestion], replies: Sequence[Replies]) -> dict[int, AnyQuestion]:
    """Return, by place, the questions that are asked again, of those systems alone, for replies of one version.

    It is the oldest that came back: a replica that has a newer one keeps that, too. Where a question asks for a least
    version, the others are asked for that one. A replica that is even older answers from its newest version instead of
    waiting, and then the other systems follow in the next round. Questions that name their version, and systems that
    failed, have no part in it.
    """
    candidates = [
        (place, part, version)
        for place, (question, outcomes) in enumerate(zip(questions, replies, strict=True))
        for part in question.parts
        if (version := outcomes[part.model].version) is not None and "version" not in part.fields
    ]
    if len({version for _, _, version in candidates}) < 2:
        return {}
    floor = max(cast(int, part.fields.get("min_version", 0)) for _, part, _ in candidates)
    common = max(floor, min(version for _, _, version in candidates))
    bounds = {"min_version": floor, "max_version": common}
    parts: dict[int, list[Question]] = {}
    for place, part, version in candidates:
        if version != common:
            parts.setdefault(place, []).append(replace(part, fields={**part.fields, **bounds}))
    return {
        place: again[0]
        if isinstance(question := questions[place], Question)
        else replace(question, parts=tuple(again))
        for place, again in parts.items()
    }


def merge_replies(question: AutoQuestion, outcomes: Mapping[str, Outcome]) -> Outcome:
    """Return the reply of the highest score among the answers, else among the declines, else a problem.

    If there are several problems, one about something that does not exist comes first, then the gravest.

    Args:
        outcomes: Outcome of each system of `question.parts`, by its name.
    """
    if not question.parts:
        fields = " and ".join(f"`{field}`" for field in sorted(set(question.unread.values())))
        detail = f"no model here reads {fields} of this question: leave it out, or serve one that does"
        return Outcome.of(InvalidInput(detail), None)
    opinions = [_read(part.model, outcomes[part.model], question.request) for part in question.parts]
    replies = [(opinion, opinion.standing) for opinion in opinions if opinion.standing is not None]
    if not replies:
        return max(outcomes.values(), key=lambda outcome: (outcome.status == NotFound.status, outcome.status))
    winner, _ = replies[choose([standing for _, standing in replies])]
    body = dict(winner.body)
    if winner.repeats:
        body.update(score=0.0, best="")
        if body["answer"] is not None:
            body.update(answer=None, reason=REPEATS, reason_text=REPEATS_TEXT)
    if not body["edits"]:
        near = [opinion.body["nearby_edit"] for opinion in opinions if opinion.body.get("nearby_edit")]
        body["nearby_edit"] = max(near, key=lambda edit: edit["probability"], default=None)
    if body["answer"] is None and body["score"] < LEAST_GUESS:
        body["best"] = ""
    body["away"] = [opinion.model for opinion in opinions if opinion.is_away]
    body["degraded"] = next(filter(None, (opinion.body.get("degraded") for opinion in opinions)), None)
    if question.request.explain:
        rows = [_describe(opinion) for opinion in opinions if opinion is not winner]
        rows += [
            _make_row(model, None, None, UNREAD, f"The model does not read `{field}`.")
            for model, field in question.unread.items()
        ]
        body["explanation"] = {**(body["explanation"] or {}), OTHER_MODELS: rows}
    return Outcome(
        200,
        json.dumps(body).encode(),
        winner.outcome.headers,
        declined=not winner.answers,
        is_near=not body["edits"] and any(opinion.outcome.is_near for opinion in opinions),
        edits=() if winner.repeats else winner.outcome.edits,
        version=winner.outcome.version,
    )


def repeats_question(answer: str, edits: Sequence[str], request: AnswerRequest) -> bool:
    """Return whether an answer only repeats words of the question, case aside.

    A candidate is the caller's own word and an edit a curator's, so neither is a repetition. A document has edits
    whatever is read in it, so there they say nothing.
    """
    if answer in (request.candidates or ()) or (edits and request.document is None):
        return False
    return repeats_words(answer, request.question)


def _find_unread(fields_with_input: Sequence[str], description: Description | None) -> list[str]:
    """Return the fields that a system does not read; none where its inputs are unknown, and it will say so itself."""
    known_inputs = INPUT_OF_FIELD.values() if description is None else description["inputs"]
    return [field for field in fields_with_input if INPUT_OF_FIELD[field] not in known_inputs]


def _read(model: str, outcome: Outcome, request: AnswerRequest) -> ModelReply:
    body = json.loads(outcome.body)
    if outcome.status >= 400:
        return ModelReply(model, outcome, body, None)
    guess = body["best"] if body["answer"] is None else body["answer"]
    repeats = repeats_question(guess, body["edits"], request)
    # An edit that is part of other edits' rows counts as the oldest.
    edited_in = (body.get("edited_in") or 1) if body["edits"] and request.document is None else 0
    standing = CandidateRank(
        body["answer"] is not None and not repeats,
        repeats,
        body["score"],
        edited_in,
        tuple(fact["subject"] for fact in body.get("facts") or ()),
        outcome.wording,
    )
    return ModelReply(model, outcome, body, standing)


def _describe(opinion: ModelReply) -> dict[str, object]:
    body = opinion.body
    if opinion.outcome.status >= 400:
        return _make_row(opinion.model, None, None, opinion.outcome.headers[CODE], body["detail"])
    if body["answer"] is not None and opinion.repeats:
        return _make_row(opinion.model, body["answer"], body["score"], REPEATS, REPEATS_TEXT)
    return _make_row(opinion.model, body["answer"], body["score"], body["reason"], body["reason_text"])


def _make_row(
    model: str, answer: str | None, score: float | None, reason: str | None, detail: str | None
) -> dict[str, object]:
    return {"model": model, "answer": answer, "score": score, "reason": reason, "detail": detail}
