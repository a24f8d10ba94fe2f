"""The earlier edits that a new one was told to replace."""

from __future__ import annotations

from service.editing.draft import PlannedEdit
from service.editing.evaluation.fact_tests import is_named
from service.editing.state import EditorState
from service.errors import InvalidInput


def find_named(edit: PlannedEdit, state: EditorState) -> list[str]:
    """Return the ids of the active edits that `edit.replaces` names by version or by id.

    Raises:
        InvalidInput: A version or an id names no edit of the same model, or a version names several.
    """
    active = [
        earlier
        for earlier in (state.active_edits() if edit.replaces else ())
        if (earlier.model, earlier.memory) == (edit.model, edit.memory)
    ]
    targets: list[str] = []
    for name in edit.replaces:
        matches = [earlier.id for earlier in active if is_named(earlier, (name,))]
        if len(matches) != 1:
            subject = f"version {name}" if isinstance(name, int) else f"edit {name}"
            detail = (
                f"{subject} made {len(matches):,} edits of {edit.model}: name the one that is meant by its id"
                if matches
                else f"{subject} is no active correction of {edit.model}: errata log lists them"
            )
            raise InvalidInput(detail, field=f"edits.{edit.place}.replaces")
        targets += matches
    return targets
