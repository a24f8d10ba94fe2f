"""Expected answers: whether a model gives the answers of edits, before their rows are built and after."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from errata.wire import EditReport, Outcome

from service.editing.models import Answer, Answers, ModelsAtVersion
from service.editing.notes import is_for_graph_alone
from service.editing.planned_edit import PlannedEdit
from service.errors import EditRefused
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


def returns_expected(edit: PlannedEdit | EditRecord, answer: Answer) -> bool:
    """Return whether an answer is what the edit expects; among several values of a relation only its own counts."""
    if edit.triple is None:
        return answer.text == edit.answer
    if edit.triple.act == "set":
        return answer.objects == (edit.triple.object,)
    return (edit.triple.object in answer.objects) == (edit.triple.act == "add")


def all_return_expected(edit: PlannedEdit, answers: Answers) -> bool:
    return all(returns_expected(edit, answers[wording]) for wording in edit.wordings)


def is_met(edit: PlannedEdit, answers: Answers) -> bool:
    """Return whether the edit's own question gets its answer; a fact for the graph alone expects none."""
    return is_for_graph_alone(edit.note) or returns_expected(edit, answers[edit.question])


def failure(edit: PlannedEdit, answers: Answers) -> EditRefused:
    actual = answers[edit.question].text
    return EditRefused(
        f"after this edit {edit.question!r} would be answered {actual!r}, not {edit.answer!r}",
        reason=DOES_NOT_HOLD,
    )


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
