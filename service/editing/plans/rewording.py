"""A question reworded with the graph's other names of what it mentions: an edit answers all of these wordings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from models.graph.knowledge import Entity, Mention
from models.system import Ask
from service.editing.models import MemoryAtVersion, Models
from service.errors import LedgerCorrupt

MAX_REWORDED = 8  # wordings of one question


async def reword(
    questions: Sequence[str], models: Models, memories: Mapping[str, MemoryAtVersion]
) -> list[tuple[str, ...]]:
    """Return each question once for each other name of an entity in it, at this version of the graph.

    A name that may mean several entities is not replaced. If rows of an import are damaged, questions are not
    reworded.
    """
    view = memories[models.fact_memory].view
    asks = await models.retrieve_facts([Ask(question) for question in questions], {models.fact_memory: view})
    names = {name for ask in asks for entity in _certain_entities(ask.mentions) for name in entity.names}
    try:
        bearers = await models.lookup.entities_by_name(names, view)
    except LedgerCorrupt:
        return [()] * len(asks)
    return [_reword(ask, bearers) for ask in asks]


def _reword(ask: Ask, bearers: Mapping[str, Sequence[Entity]]) -> tuple[str, ...]:
    wordings = (
        ask.question[: mention.start] + name + ask.question[mention.end :]
        for mention in ask.mentions
        for entity in _certain_entities([mention])
        for name in entity.names
        if len(bearers[name]) == 1
    )
    return tuple([wording for wording in dict.fromkeys(wordings) if wording != ask.question][:MAX_REWORDED])


def _certain_entities(mentions: Sequence[Mention]) -> list[Entity]:
    return [mention.entities[0] for mention in mentions if len(mention.entities) == 1]
