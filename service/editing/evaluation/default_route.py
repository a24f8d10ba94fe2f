"""What visitors hear, who ask all systems at once: asked before and after a commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from errata.wire import EditReport, Outcome

from service.choice import CandidateRank, choose, repeats_words
from service.editing.evaluation.lineage import version_of
from service.editing.models import Answer, ModelsAtVersion
from service.errors import ErrataError
from service.ledger.commit import EditRecord

MAX_ASKED = 10  # edits of a commit whose questions are asked; a receipt shows no more than these one by one
STILL_ANSWERED = "who names no system still hears {!r} from {}{}: {}"
EDIT_THERE = "correct {!r} to {!r} there, too, by `model` {}"
FACT_THERE = "correct the fact, or take that version back"


async def add_default_route_answers(
    edits: Sequence[EditReport],
    before: ModelsAtVersion,
    after: ModelsAtVersion,
    records: Mapping[str, EditRecord],
) -> list[EditReport]:
    """Let the first edits say what visitors hear, with a warning where that is not the edit's answer.

    Args:
        edits: The edits of a report. If the systems cannot be asked now, they stay as they are.
    """
    asked_edits = find_asked(edits)
    if len(after) < 2 or not asked_edits:
        return list(edits)
    questions = [edit.question for edit in asked_edits]
    try:
        old, new = [await _ask_default_route(questions, models, records) for models in (before, after)]
    except ErrataError:
        return list(edits)
    fresh = {
        edit.id: _describe(edit, first, model, last, records)
        for edit, (_, first), (model, last) in zip(asked_edits, old, new, strict=True)
    }
    return [fresh.get(edit.id, edit) for edit in edits]


def find_asked(edits: Sequence[EditReport]) -> list[EditReport]:
    """Return the edits of a report whose questions visitors are taken to ask."""
    return [edit for edit in edits if edit.id and edit.question and edit.place is not None][:MAX_ASKED]


async def _ask_default_route(
    questions: Sequence[str], models: ModelsAtVersion, records: Mapping[str, EditRecord]
) -> list[tuple[str, Answer]]:
    """Return the system that is heard for each question, and its answer."""
    answers = {name: await model.ask(questions) for name, model in models.items()}
    names = list(models)
    places = [choose([_rank(answers[name][q], q, records) for name in names]) for q in questions]
    return [
        (names[place], answers[names[place]][question])
        for question, place in zip(questions, places, strict=True)
    ]


def _rank(answer: Answer, question: str, records: Mapping[str, EditRecord]) -> CandidateRank:
    repeats = not answer.edits and repeats_words(answer.text or answer.best, question)
    is_answer = answer.text is not None and not repeats
    score = 1.0 if answer.edits and not answer.objects else answer.score  # an edit answers its own question
    subjects = ("",) * bool(answer.objects)  # the words of an edit's own question are its own
    return CandidateRank(is_answer, repeats, score, _newest(answer, records) or 0, subjects)


def _newest(answer: Answer, records: Mapping[str, EditRecord]) -> int | None:
    """Return the version of the newest edit that an answer rests on; None without one."""
    return max((version_of(records[id]) for id in answer.edits if id in records), default=None)


def _describe(
    edit: EditReport, before: Answer, model: str, after: Answer, records: Mapping[str, EditRecord]
) -> EditReport:
    """Return the report of an edit with what visitors hear."""
    version, warnings = _newest(after, records), edit.warnings
    visitors = Outcome(before=before.text, after=after.text, model=model, version=version)
    if edit.holds and after.text is not None and after.text not in (edit.after, edit.answer):
        origin = f" by version {version}" if version else ""
        advice = FACT_THERE if after.objects else EDIT_THERE.format(edit.question, edit.answer, model)
        warnings = [*warnings, STILL_ANSWERED.format(after.text, model, origin, advice)]
    return edit.model_copy(update={"visitors": visitors, "warnings": warnings})
