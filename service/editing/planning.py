"""From what a curator asks to a plan: which edits are new, what rows they make, what is switched on and off."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from errata.wire import EditItem, EditReport, EditRequest, RevertRequest, RollbackRequest

from models import system as models
from models.system import Correction, Material, Reply
from service.editing.known import at_order
from service.editing.questions import ask
from service.editing.writer import Plan, Writer
from service.errors import EditRefused, InvalidInput, NothingToDo, UnknownModel
from service.ledger import fold
from service.ledger.commit import EditRecord, edit_order, new_edit_id

DEFAULT_METHOD = "gated"
UNWRITTEN = "the model gives this answer already: nothing was written"


@dataclass(frozen=True)
class Fresh:
    """One new edit with its id. before: what the model says now, and on which edits that rests."""

    item: EditItem
    correction: Correction
    before: Reply

    @property
    def is_needed(self) -> bool:
        return self.before.answer != self.item.answer


def plan_edits(writer: Writer, request: EditRequest) -> Plan:
    """EditRefused, InvalidInput or UnknownModel refuse the request whole; NothingToDo when no edit is needed."""
    _check(writer, request.edits)
    started = time.perf_counter()
    method = request.method or DEFAULT_METHOD
    fresh = [one for model in writer.systems for one in _fresh(writer, model, request.edits)]
    needed = [one for one in fresh if one.is_needed]
    if not needed and not request.dry_run:
        raise NothingToDo("the model gives these answers already: there is nothing to edit", edits=len(fresh))
    made = [pair for model in writer.systems for pair in _made(writer, model, needed, method)]
    records = tuple(record for record, _ in made)
    return Plan(
        kind="edit",
        message=request.message,
        records=records,
        materials={record.id: material for record, material in made},
        activates=tuple(record.id for record in records),
        unwritten=tuple(_unwritten(one) for one in fresh if not one.is_needed),
        editor_s=time.perf_counter() - started,
    )


def plan_revert(writer: Writer, request: RevertRequest) -> Plan:
    change = fold.revert(writer.known.commits, request.version)
    return _switch("revert", request.message, change, request.version)


def plan_rollback(writer: Writer, request: RollbackRequest) -> Plan:
    change = fold.rollback(writer.known.commits, request.to)
    return _switch("rollback", request.message, change, request.to)


def _switch(kind: fold.Kind, message: str, change: fold.Change, target: int) -> Plan:
    return Plan(kind, message, activates=change.activates, deactivates=change.deactivates, target=target)


def _check(writer: Writer, items: Sequence[EditItem]) -> None:
    for item in items:
        if item.model not in writer.systems:
            known = ", ".join(writer.systems)
            raise UnknownModel(
                f"there is no model {item.model!r} here: there is {known}", models=list(writer.systems)
            )
    answers: dict[tuple[str, str], str] = {}
    for place, item in enumerate(items):
        for question in (item.question, *item.paraphrases):
            asked = item.model, " ".join(question.casefold().split())
            if answers.setdefault(asked, item.answer) != item.answer:
                raise InvalidInput(
                    f"edits.{place}: {question!r} has two answers in this request, {answers[asked]!r} and "
                    f"{item.answer!r}: send the one you mean",
                    edit=place,
                )


def _fresh(writer: Writer, model: str, items: Sequence[EditItem]) -> list[Fresh]:
    mine = [item for item in items if item.model == model]
    system = writer.systems[model]
    view = writer.view(model, writer.known.images[system.memory])
    replies = ask(system, view, [item.question for item in mine])
    return [
        Fresh(item, Correction(new_edit_id(), item.question, item.answer, tuple(item.paraphrases)), reply)
        for item, reply in zip(mine, replies, strict=True)
    ]


def _made(
    writer: Writer, model: str, fresh: Sequence[Fresh], method: str
) -> list[tuple[EditRecord, Material]]:
    """Records and materials at their places in the next commit."""
    mine = [one for one in fresh if one.item.model == model]
    try:
        materials = writer.systems[model].edit([one.correction for one in mine], method) if mine else []
    except models.EditRefused as refused:
        raise EditRefused(refused.detail, reason=refused.code) from refused
    place = {one.correction.id: index for index, one in enumerate(fresh)}
    version = writer.known.head + 1
    return [
        _recorded(writer, one, at_order(material, edit_order(version, place[material.edit])))
        for one, material in zip(mine, materials, strict=True)
    ]


def _recorded(writer: Writer, one: Fresh, material: Material) -> tuple[EditRecord, Material]:
    replaced: Mapping[str, object] = {"replaces": list(one.before.edits)} if one.before.edits else {}
    record = EditRecord(
        id=material.edit,
        model=one.item.model,
        memory=writer.systems[one.item.model].memory,
        question=one.item.question,
        answer=one.item.answer,
        paraphrases=tuple(one.item.paraphrases),
        method=material.method,
        material=material.block.digest,
        order=material.block.order,
        notes={**material.notes, **replaced},
    )
    return record, material


def _unwritten(one: Fresh) -> EditReport:
    return EditReport(
        id="",
        question=one.item.question,
        answer=one.item.answer,
        method="none",
        before=one.before.answer,
        after=one.before.answer,
        holds=True,
        warnings=[UNWRITTEN],
    )
