"""Senses of words, from systems that have them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, cast

from errata import wire

from models.senses import BadInquiry, HasSenses, SensesInquiry
from service.editing.models import ModelAtVersion
from service.editing.operations import GetSenses
from service.errors import InvalidInput, UnknownModel

if TYPE_CHECKING:
    from service.editing.editor import Editor


NO_SENSES = "no model that is served here has words with senses: serve one that does, such as backpack"
FIELDS = {"senses": "sense"}  # field of an inquiry -> field of the wire, where their names differ


@GetSenses.handler
async def show_senses(editor: Editor, call: GetSenses) -> wire.WordSenses:
    request, state = call.query, await editor.state_at(call.query.version)
    name, model = find_model(state.models, request.model)
    senses = () if request.sense is None else (request.sense,)
    inquiry = SensesInquiry(request.word, senses, request.top_k, request.exact, request.first_piece)
    try:
        word = await model.run(cast(HasSenses, model.system).show_senses, inquiry, model.views)
    except BadInquiry as error:
        field = FIELDS.get(error.field, error.field)
        raise InvalidInput(f"{field}: {error}", field=field) from error
    return wire.WordSenses(model=name, version=state.version, **asdict(word))


def find_model(models: Mapping[str, ModelAtVersion], name: str | None) -> tuple[str, ModelAtVersion]:
    """Return the named model, or the first one whose words have senses."""
    with_senses = [other for other, model in models.items() if isinstance(model.system, HasSenses)]
    if name is None:
        if not with_senses:
            raise UnknownModel(NO_SENSES, models=list(models))
        name = with_senses[0]
    if name not in models:
        raise UnknownModel.of(name, models)
    if name not in with_senses:
        advice = f"ask {with_senses[0]}" if with_senses else NO_SENSES
        raise InvalidInput(f"the words of {name!r} have no senses: {advice}", field="model")
    return name, models[name]
