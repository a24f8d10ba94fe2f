"""The edits that a question may ask for, and why each of them does or does not answer it."""

from __future__ import annotations

from errata.wire import ScopeCandidate, ScopeReport

from models.system import HasScope
from service.editing.evaluation.fact_tests import version_of
from service.editing.state import EditorState
from service.errors import UnknownModel
from service.ledger import fold


async def examine_scope(state: EditorState, question: str, model: str | None) -> ScopeReport:
    """Report the scope of a question on the newest version.

    Args:
        state: The newest state.
        question: The question.
        model: Name of the model; None for the first that has a scope.

    Raises:
        UnknownModel: There is no such model.
        InvalidInput: The model has no scope.
    """
    with_scope = [
        name for name, at_version in state.models.items() if isinstance(at_version.system, HasScope)
    ]
    name = model or (with_scope[0] if with_scope else next(iter(state.models)))
    if name not in state.models:
        names = ", ".join(state.models)
        raise UnknownModel(f"there is no model {name!r} here: there is {names}", models=list(state.models))
    verdicts = await state.models[name].examine_scope(question)
    candidates = []
    for verdict in verdicts:
        record = state.edits[verdict.edit]
        commit = fold.find(state.commits, version_of(record))
        candidates.append(
            ScopeCandidate(
                edit=verdict.edit,
                owner=verdict.owner,
                question=verdict.question,
                answer=record.answer,
                cosine=verdict.cosine,
                probability=verdict.probability,
                verdict=verdict.verdict,
                version=commit.version,
                author=commit.author,
                message=commit.message,
            )
        )
    answering = next((c.edit for c in candidates if c.verdict == "answers"), None)
    return ScopeReport(version=state.version, model=name, edit=answering, candidates=candidates)
