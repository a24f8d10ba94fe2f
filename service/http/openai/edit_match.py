"""Finds the edit that answers a question put to an upstream's model, in the memory of the model that is corrected."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from dataclasses import dataclass
from time import time
from typing import Any

from errata.wire import AnswerRequest
from pydantic import ValidationError

from service.curation.gaps import Occurrence
from service.curation.hits import Hits
from service.errors import ErrataError, NotFound, NotReady
from service.http.auth import Account
from service.http.model_router import ModelRouter
from service.upstream.lone_question import says_more, stands_alone
from service.upstream.question import AskedQuestion

MATCH_S = 2.0  # time after which a question goes to its upstream without a match

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class EditMatch:
    edit: str  # id of the edit that answers
    version: int
    answer: dict[str, Any]  # the wire's Answer


@dataclass(frozen=True)
class Matcher:
    """Matches questions; a match that fails is none, so that the upstream answers.

    Attributes:
        model: The model whose memory has the edits.
        sure: Probability from which an edit answers a question in a dialogue.
        on_hit: Is called for each answer of an edit that is given, unless a version is pinned.
        on_near: Is called for each question that an edit nearly answers.
    """

    models: ModelRouter
    model: str
    sure: float
    on_hit: Callable[[Hits], None]
    on_near: Callable[[Occurrence], None] | None

    async def match(
        self, question: AskedQuestion, account: Account, version: int | None, charges: bool
    ) -> EditMatch | None:
        """Return the edit that answers; raise TooMany if it `charges` and the caller's work is used up.

        A version that is named and cannot be read is an error, NotFound or NotReady: the upstream has no versions.
        """
        try:
            request = AnswerRequest(question=question.text, model=self.model, version=version)
        except ValidationError:  # longer than a question may be
            return None
        inquiry = self.models.prepare(request, account.asker, only="edits")
        if charges:
            await account.charge(inquiry.work)
        try:
            async with asyncio.timeout(MATCH_S):
                outcome = await self.models.answer(inquiry)
        except (ErrataError, TimeoutError) as error:
            if version is not None:
                raise NotReady(f"version {version} cannot be read now: ask again in a moment") from error
            log.warning("a question is passed on without a match: %s", error)
            return None
        if outcome.is_near and self.on_near is not None and version is None and not question.is_follow_up:
            self.on_near(Occurrence(question.text, self.model, "near", 1, time()))
        if version is not None and (outcome.status == NotFound.status or outcome.status >= NotReady.status):
            kind = NotFound if outcome.status == NotFound.status else NotReady
            raise kind(json.loads(outcome.body)["detail"])
        if outcome.status >= 400 or outcome.version is None or not outcome.edits:
            return None
        answer: dict[str, Any] = json.loads(outcome.body)
        is_unsure = question.is_follow_up and not (
            answer["score"] >= self.sure and stands_alone(question.text, outcome.wording)
        )
        is_unsure |= outcome.wording.casefold() != question.text.casefold() and says_more(
            question.text, outcome.wording
        )
        return (
            None if is_unsure or answer["truncated"] else EditMatch(outcome.edits[0], outcome.version, answer)
        )

    def count_hit(self, match: EditMatch) -> None:
        self.on_hit(Hits(match.edit, 1, time()))
