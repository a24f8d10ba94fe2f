"""Senses of words at a version, from systems that have them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, cast

from errata.wire import SensesQuery, WordSenses

from models.senses import BadInquiry, HasSenses, SensesInquiry
from service.editing.models import ModelAtVersion
from service.errors import InvalidInput, UnknownModel

NO_SENSES = "no model that is served here has words with senses: serve one that does, such as backpack"
FIELDS = {"senses": "sense"}  # field of an inquiry -> field of the wire, where their names differ


async def show_senses(
    models: Mapping[str, ModelAtVersion], version: int, query: Mapping[str, Any]
) -> WordSenses:
    """Return the senses of a word.

    Raises:
        UnknownModel: There is no such model.
        InvalidInput: The model has no senses, or not this word or sense.
    """
    request = SensesQuery.model_validate(query)
    name, model = find_model(models, request.model)
    senses = () if request.sense is None else (request.sense,)
    inquiry = SensesInquiry(request.word, senses, request.top_k, request.exact, request.first_piece)
    try:
        word = await model.run(cast(HasSenses, model.system).show_senses, inquiry, model.views)
    except BadInquiry as error:
        field = FIELDS.get(error.field, error.field)
        raise InvalidInput(f"{field}: {error}", field=field) from error
    return WordSenses(model=name, version=version, **asdict(word))


def find_model(models: Mapping[str, ModelAtVersion], name: str | None) -> tuple[str, ModelAtVersion]:
    """Return the named model, or the first one whose words have senses.

    Raises:
        UnknownModel: There is no such model, or none with senses.
        InvalidInput: The named one has no senses.
    """
    with_senses = [other for other, model in models.items() if isinstance(model.system, HasSenses)]
    if name is None:
        if not with_senses:
            raise UnknownModel(NO_SENSES, models=list(models))
        name = with_senses[0]
    if name not in models:
        names = ", ".join(models)
        raise UnknownModel(f"there is no model {name!r} here: there is {names}", models=list(models))
    if name not in with_senses:
        advice = f"ask {with_senses[0]}" if with_senses else NO_SENSES
        raise InvalidInput(f"the words of {name!r} have no senses: {advice}", field="model")
    return name, models[name]
