"""Conflicts between the edits of one request: repetitions, contradictions, and the edits that are refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from errata.wire import RefusedEdit
from errata.wire.wording import normalize_question

from service.editing.draft import Build, PlannedEdit
from service.editing.evaluation.expectations import DOES_NOT_HOLD, ask_edits, failure, is_met
from service.editing.notes import RelationNote
from service.errors import MAX_NAMED, ErrataError

SUPERSEDED = "superseded"
LATER_WINS = "edits.{later} gives {wording!r} another answer: the later one was taken"
KEEP_ONE = "edits.{earlier} and edits.{later} give {wording!r} two answers: keep one of them"
ANSWERED_BY_OTHER = (
    "{question!r} would be answered {actual!r} and not {answer!r}, by {other}; leave one of the two out"
)


class Refusals:
    """Refused edits by place in the request.

    Args:
        skip: Whether refused edits are left out; otherwise the first one raises and names the rest.
    """

    def __init__(self, skip: bool, by_place: Mapping[int, RefusedEdit] | None = None) -> None:
        self.skip = skip
        self.by_place = dict(by_place or {})
        self._superseded: dict[int, RefusedEdit] = {}

    def __contains__(self, place: int) -> bool:
        return place in self.by_place or place in self._superseded

    @contextmanager
    def collect(self, place: int) -> Iterator[None]:
        """Catch the error of one edit and note it if refused edits are left out."""
        try:
            yield
        except ErrataError as error:
            self.add({place: error})

    def add(self, errors: Mapping[int, ErrataError]) -> None:
        """Note the errors of edits.

        Raises:
            ErrataError: An error is not the fault of its edit, or refused edits are not to be left out.
        """
        for error in errors.values():
            if error.status >= 500:
                raise error
        refused = {
            place: RefusedEdit(
                place=place, code=error.code, reason=str(error.extras.get("reason", "")), detail=error.detail
            )
            for place, error in sorted(errors.items())
        }
        if refused and not self.skip:
            first = errors[min(refused)]  # the first error keeps its wording and stands for the whole request
            suffix = f" (and {len(refused) - 1:,} more are refused)" if len(refused) > 1 else ""
            refused_edits = [edit.model_dump(mode="json") for edit in list(refused.values())[:MAX_NAMED]]
            raise type(first)(first.detail + suffix, **{**first.extras, "refused": refused_edits})
        self.by_place |= refused
        if refused:
            self._superseded.clear()  # a refused edit may be the one that superseded them

    def supersede(self, earlier: int, detail: str) -> None:
        self._superseded[earlier] = RefusedEdit(place=earlier, code=SUPERSEDED, reason="", detail=detail)

    def in_order(self) -> list[RefusedEdit]:
        refused = self.by_place | self._superseded
        return [refused[place] for place in sorted(refused)]


@dataclass(frozen=True)
class Contradiction:
    """Two places of the request that answer one wording differently."""

    earlier: int
    later: int
    wording: str


def find_contradiction(edits: Sequence[PlannedEdit]) -> Contradiction | None:
    """Return the first contradiction, None if there is none."""
    for first, edit, wording in _shared_wordings(edits):
        if _contradicts(first, edit):
            return Contradiction(first.place, edit.place, wording)
    return None


def mark_repetitions(edits: Sequence[PlannedEdit]) -> list[PlannedEdit]:
    """Return edits without contradictions in the order of the request, with repetitions marked."""
    first_ids = {edit.id for first, edit, _ in _shared_wordings(edits) if first is edit}
    in_order = sorted(edits, key=lambda edit: edit.place)
    return [
        replace(edit, is_repetition=bool(edit.wordings) and edit.id not in first_ids) for edit in in_order
    ]


def _shared_wordings(edits: Sequence[PlannedEdit]) -> Iterator[tuple[PlannedEdit, PlannedEdit, str]]:
    """Yield for each wording of each edit the first edit that has it, the edit itself, and the wording."""
    first_edits: dict[tuple[str, ...], PlannedEdit] = {}
    for edit in sorted(edits, key=lambda edit: edit.place):
        for wording, subject in _subjects(edit):
            yield first_edits.setdefault((edit.model, edit.memory, *subject), edit), edit, wording


def _subjects(edit: PlannedEdit) -> list[tuple[str, tuple[str, ...]]]:
    """Return what the edit is about, in words and as keys: its wordings, or else its subject and relation."""
    if edit.wordings or edit.statements is None:
        return [(wording, (normalize_question(wording),)) for wording in edit.wordings]
    if isinstance(edit.note, RelationNote):
        return [(edit.note.define, (subject, "")) for subject in edit.statements]
    assert edit.triple is not None, "an edit of the graph is a fact or says something of a relation"
    subject, relation = edit.triple.subject, edit.triple.relation
    return [(f"{relation.lstrip('@')} of {subject}", (subject, relation))]


def _contradicts(first: PlannedEdit, second: PlannedEdit) -> bool:
    """Return whether two edits of one subject contradict each other; values that one adds to the other's do not."""
    old, new = first.note, second.note
    if isinstance(old, RelationNote) and isinstance(new, RelationNote):
        pairs = (old.holds, new.holds), (old.label, new.label)
        return any(None not in pair and pair[0] != pair[1] for pair in pairs)
    if first.triple is None or second.triple is None:
        return first.answer != second.answer
    if first.triple.subject != second.triple.subject:  # namesakes
        return False
    return "set" in (first.triple.act, second.triple.act) and first.triple != second.triple


async def find_unmet(edits: Sequence[PlannedEdit], build: Build) -> dict[int, RefusedEdit]:
    """Return, by place, the edits whose own question another edit or no edit would answer.

    Args:
        build: The state with all of them. Edits of a system that does not route are asked.
    """
    by_id = {edit.id: edit for edit in edits}
    answers = await ask_edits(build.models, edits, build.all_edits, 1)
    unmet: dict[int, RefusedEdit] = {}
    for edit in edits:
        if is_met(edit, answers[edit.model]):
            continue
        owner = (await build.models[edit.model].routing()).answering_edit(edit.id, 0)
        detail = failure(edit, answers[edit.model]).detail
        if owner is not None:
            other = by_id.get(owner) or build.state.edits[owner]
            place = f"edits.{by_id[owner].place}" if owner in by_id else "an edit that is there already"
            detail = ANSWERED_BY_OTHER.format(
                question=edit.question,
                actual=other.answer,
                answer=edit.answer,
                other=f"{place}, {other.question!r}",
            )
        unmet[edit.place] = RefusedEdit(
            place=edit.place, code="edit_refused", reason=DOES_NOT_HOLD, detail=detail
        )
    return unmet
