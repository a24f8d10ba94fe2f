"""Expected answers: whether a model gives the answers of edits, before their rows are built and after.

The fill level of the memories, and the levels at which a receipt warns and an edit is refused.

A memory whose edits own their slots has as many as the service reserves for it: a fixed number, or, if the settings
let it grow, twice as many each time four fifths are used.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from errata.wire import Capacity, EditReport, Outcome

from models.memory import Usage
from service.editing.draft import PlannedEdit
from service.editing.models import Answer, Answers, MemoryAtVersion, ModelsAtVersion
from service.editing.notes import is_for_graph_alone
from service.errors import EditRefused, MemoryFull
from service.ledger.commit import EditRecord

GIVES_ALREADY = "the model gives this answer already: nothing is written for it"
REPEATS_EARLIER = "the same correction stands earlier in this request: nothing is written for it"
DOES_NOT_HOLD = "does_not_hold"


async def ask_all(
    models: ModelsAtVersion, questions: Iterable[tuple[str, Iterable[str]]]
) -> dict[str, Answers]:
    """Ask questions of several models, and return the answers by model."""
    batches: dict[str, list[str]] = defaultdict(list)
    for model, batch in questions:
        batches[model] += batch
    return {model: await models[model].ask(batch) for model, batch in batches.items()}


async def ask_edits(
    models: ModelsAtVersion,
    edits: Iterable[PlannedEdit | EditRecord],
    all_edits: Mapping[str, EditRecord],
    n_wordings: int | None = None,
) -> dict[str, Answers]:
    """Ask the wordings of edits, and return the answers by model.

    Args:
        all_edits: Edits by id. A wording that is routed to one of these needs no forward pass.
        n_wordings: Number of wordings of each edit that are asked; all by default.
    """
    batches: dict[str, list[tuple[str, str, int]]] = defaultdict(list)
    for edit in edits:
        wordings = enumerate(edit.wordings[:n_wordings])
        batches[edit.model] += [(question, edit.id, place) for place, question in wordings]
    return {model: await models[model].ask_wordings(batch, all_edits) for model, batch in batches.items()}


def comes_out(edit: PlannedEdit | EditRecord, answer: Answer) -> bool:
    """Return whether an answer is what the edit expects; among several values of a relation only its own counts."""
    if edit.triple is None:
        return answer.text == edit.answer
    if edit.triple.act == "set":
        return answer.objects == (edit.triple.object,)
    return (edit.triple.object in answer.objects) == (edit.triple.act == "add")


def all_come_out(edit: PlannedEdit, answers: Answers) -> bool:
    return all(comes_out(edit, answers[wording]) for wording in edit.wordings)


def is_met(edit: PlannedEdit, answers: Answers) -> bool:
    """Return whether the edit's own question gets its answer; a fact for the graph alone expects none."""
    return is_for_graph_alone(edit.note) or comes_out(edit, answers[edit.question])


def failure(edit: PlannedEdit, answers: Answers) -> EditRefused:
    actual = answers[edit.question].text
    detail = f"after this edit {edit.question!r} would be answered {actual!r}, not {edit.answer!r}"
    return EditRefused(detail, reason=DOES_NOT_HOLD)


def describe(edit: PlannedEdit | EditRecord) -> dict[str, Any]:
    """Return the fields of an EditReport that do not depend on answers."""
    return {
        "model": edit.model,
        "memory": edit.memory,
        "question": edit.question,
        "answer": edit.answer,
        "method": edit.method,
        "notes": {name: value for name, value in edit.notes.items() if name != "warnings"},
    }


def report_paraphrase(wording: str, before: Answers, after: Answers, follows: bool) -> Outcome:
    old, new = before[wording].text, after[wording].text
    return Outcome(question=wording, before=old, after=new, follows=follows)


def report_no_op(edit: PlannedEdit, answers: Mapping[str, Answer]) -> EditReport:
    """Report an edit for which nothing is written, because all its wordings get its answer."""
    current = answers[edit.question].text if edit.question else edit.answer
    after = edit.answer if edit.statements is None else current
    reason = edit.no_op_reason or (REPEATS_EARLIER if edit.is_repetition else GIVES_ALREADY)
    return EditReport(
        id="",
        place=edit.place,
        **describe(edit),
        before=current,
        after=after,
        holds=True,
        paraphrases=[
            Outcome(question=wording, before=answers[wording].text, after=after, follows=True)
            for wording in edit.paraphrases
        ],
        warnings=[reason, *edit.notes.get("warnings", ())],
    )


WARN_ABOVE = 0.8  # share of used slots above which a receipt warns, or the memory grows
RESERVE_MORE = "start the service with more --bank-slots, or with --auto-grow-bank"


@dataclass(frozen=True)
class SlotBudget:
    """The slots that the service reserves."""

    slots: int  # number of slots for edits that own theirs
    grows: bool  # whether the number doubles when they get full

    def describe(self, memories: Iterable[MemoryAtVersion]) -> Capacity:
        """Describe several memories together: slots are added up, and all warnings count."""
        usages = [memory.usage for memory in memories]
        capacities = [self._describe(usage) for usage in usages]
        limits = [c for c, usage in zip(capacities, usages, strict=True) if usage.slots_reserved is None]
        relevant = limits or capacities
        return Capacity(
            slots_used=sum(capacity.slots_used for capacity in relevant),
            slots_reserved=sum(capacity.slots_reserved for capacity in relevant),
            warnings=[warning for capacity in capacities for warning in capacity.warnings],
        )

    def check(self, memories: Iterable[MemoryAtVersion]) -> None:
        """Check that every memory has enough slots for its edits."""
        for memory in memories:
            n_used, n_reserved = memory.usage.slots_used, self._slots_reserved(memory.usage)
            if n_used > n_reserved:
                detail = f"with this {memory.memory.name} would take {n_used:,} of {n_reserved:,} slots"
                advice = f"it was not made; {RESERVE_MORE}, or take edits back"
                raise MemoryFull(f"{detail}: {advice}", used=n_used, slots=n_reserved)

    def _describe(self, usage: Usage) -> Capacity:
        n_reserved = self._slots_reserved(usage)
        capacity = Capacity.model_validate({**asdict(usage), "slots_reserved": n_reserved})
        if usage.slots_reserved is None and usage.slots_used > n_reserved:
            capacity.warnings.append(
                f"{usage.slots_used:,} slots are wanted and {n_reserved:,} are set aside: {RESERVE_MORE}, "
                "or no edit can be added"
            )
        elif usage.slots_reserved is None and usage.slots_used > WARN_ABOVE * n_reserved:
            capacity.warnings.append(
                f"{usage.slots_used:,} of {n_reserved:,} slots are taken: {RESERVE_MORE} "
                "before no more edits can be made"
            )
        return capacity

    def _slots_reserved(self, usage: Usage) -> int:
        if usage.slots_reserved is not None:
            return usage.slots_reserved
        slots = self.slots
        while self.grows and usage.slots_used > WARN_ABOVE * slots:
            slots *= 2
        return slots
