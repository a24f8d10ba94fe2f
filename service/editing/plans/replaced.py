"""The earlier edits that a new one was told to replace."""

from __future__ import annotations

from service.editing.draft import PlannedEdit
from service.editing.evaluation.fact_tests import is_named, version_of
from service.editing.state import EditorState
from service.errors import InvalidInput


def find_named(edit: PlannedEdit, state: EditorState) -> list[str]:
    """Return the ids of the active edits that `edit.replaces` names by version or by id.

    Raises:
        InvalidInput: A version or an id names no edit of the same model or one that was replaced, or a version names
            several edits.
    """
    active = [
        earlier
        for earlier in (state.active_records.in_order if edit.replaces else ())
        if (earlier.model, earlier.memory) == (edit.model, edit.memory)
    ]
    targets: list[str] = []
    for name in edit.replaces:
        matches = [earlier.id for earlier in active if is_named(earlier, (name,))]
        if len(matches) != 1:
            subject = _describe(name)
            detail = (
                f"{subject} made {len(matches):,} edits of {edit.model}: name the one that is meant by its id"
                if matches
                else f"{subject} is no active correction of {edit.model}: errata log lists them"
            )
            raise InvalidInput(detail, field=f"edits.{edit.place}.replaces")
        successor = next((e for e in reversed(active) if matches[0] in e.notes.get("replaces", ())), None)
        if successor is not None:
            detail = (
                f"{_describe(name)} was replaced by edit {successor.id} of version {version_of(successor)}, "
                f"{successor.question!r}: say that this one replaces that"
            )
            raise InvalidInput(detail, field=f"edits.{edit.place}.replaces")
        targets += matches
    return targets


def _describe(name: int | str) -> str:
    return f"version {name}" if isinstance(name, int) else f"edit {name}"
