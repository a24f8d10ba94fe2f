"""Finds the facts that curators have edited about the names in a question, for the prompt of an upstream's model."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from errata.wire import AnswerRequest
from pydantic import ValidationError

from service.errors import ErrataError, NotReady
from service.http.model_router import ModelRouter
from service.scheduling.turns import Asker
from service.upstream.context import write_block

MAX_FACTS = 20  # facts of one prompt, the first ones of the names in the question's order
FIND_S = 1.0  # time after which a question goes to its upstream without facts

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class EditedFacts:
    facts: Sequence[Mapping[str, Any]]  # the wire's `AnswerFact`s
    version: int

    @property
    def block(self) -> str:
        return write_block(self.facts)

    @property
    def marks(self) -> dict[str, str]:
        """What the headers of a reply say of them, by their names without the beginning."""
        edits = dict.fromkeys(fact["edit"] for fact in self.facts)
        return {"facts": ",".join(edits), "version": str(self.version)}


@dataclass(frozen=True)
class FactFinder:
    """Asks the first model that reads the graph; facts that cannot be had are none, so that the upstream answers."""

    models: ModelRouter

    async def find(
        self, question: str, asker: Asker, version: int | None, as_of: date | None = None
    ) -> EditedFacts | None:
        """Return the facts at a version, by default the newest; None where there are none."""
        try:
            async with asyncio.timeout(FIND_S):
                descriptions = await self.models.descriptions.find_all()
                models = (
                    name
                    for name, content in descriptions.items()
                    if "graph" in (content or {}).get("inputs", ())
                )
                if (model := next(models, None)) is None:
                    raise NotReady("no model that reads the graph has started")
                request = AnswerRequest(question=question, model=model, version=version, as_of=as_of)
                outcome = await self.models.answer(self.models.prepare(request, asker, only="facts"))
        except ValidationError:  # no question for our models; its words stay out of the log
            return None
        except (ErrataError, TimeoutError) as error:
            log.warning("a question is passed on without facts: %s", error)
            return None
        if outcome.status >= 400 or outcome.version is None:
            return None
        facts = json.loads(outcome.body)[:MAX_FACTS]
        return EditedFacts(facts, outcome.version) if facts else None
