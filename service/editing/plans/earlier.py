"""The earlier edits that a new one was told to replace, and those that it says more than and takes the place of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import replace

from errata.wire.edits import MAX_PARAPHRASES, MAX_TESTS
from errata.wire.wording import normalize_question
from more_itertools import unique_everseen

from service.editing.draft import EditorState, PlannedEdit
from service.editing.evaluation.expectations import ask_all
from service.editing.evaluation.lineage import is_named, version_of
from service.editing.plans.conflicts import Refusals
from service.errors import InvalidInput
from service.ledger.commit import EditRecord, GivenTest


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


async def extend(
    edits: Sequence[PlannedEdit], places: Set[int], state: EditorState, refusals: Refusals
) -> list[PlannedEdit]:
    """Add to each edit what an active edit of the same question and answer has and it lacks, if it says more itself.

    Args:
        places: Places of the items that correct an answer; facts and other changes are left as they are.
        refusals: Takes each edit that has a wording of the earlier one as a counterexample, or that would be too long.
    """
    candidates = {
        edit.id: edit
        for edit in edits
        if edit.place in places
        and not edit.is_repetition
        and (edit.paraphrases or edit.counterexamples or edit.tests or edit.replaces)
    }
    answers = await ask_all(state.models, ((edit.model, [edit.question]) for edit in candidates.values()))
    planned_edits = []
    for edit in edits:
        if edit.id not in candidates:
            planned_edits.append(edit)
            continue
        answering = answers[edit.model][edit.question].edits
        all_earlier = _find_earlier(edit, answering, state)
        earlier = next((earlier for earlier in all_earlier if _says_more(edit, earlier)), None)
        with refusals.collect(edit.place):
            planned_edits.append(edit if earlier is None else _join(edit, earlier))
    return planned_edits


def _find_earlier(edit: PlannedEdit, answering: Sequence[str], state: EditorState) -> Iterator[EditRecord]:
    """Yield the edits with the same answer: those whose place this one was told to take, and that of its question."""
    named_ids = find_named(edit, state)
    question = normalize_question(edit.question)
    for id in dict.fromkeys([*named_ids, *answering]):
        earlier = state.edits.get(id)
        if earlier is None or (earlier.memory, earlier.answer) != (edit.memory, edit.answer):
            continue
        if id in named_ids or normalize_question(earlier.question) == question:
            yield earlier


def _says_more(edit: PlannedEdit, earlier: EditRecord) -> bool:
    known_tests = {normalize_question(test.question): test.answer for test in earlier.tests}

    def is_known(test: GivenTest) -> bool:
        question = normalize_question(test.question)
        return question in known_tests and test.answer in (None, known_tests[question])

    return (
        not _keys_of(edit.wordings) <= _keys_of(earlier.wordings)
        or not _keys_of(edit.counterexamples) <= _keys_of(earlier.counterexamples)
        or not all(map(is_known, edit.tests))
    )


def _join(edit: PlannedEdit, earlier: EditRecord) -> PlannedEdit:
    where, version = f"edits.{edit.place}", version_of(earlier)
    own_keys = _keys_of(edit.wordings)
    against = [*edit.counterexamples, *(test.question for test in edit.tests if test.answer != edit.answer)]
    for text in against:
        if normalize_question(text) in _keys_of(earlier.wordings):
            detail = f"{text!r} is a wording of version {version}, which this edit extends"
            raise InvalidInput(f"{detail}: take that one back first", field=where)
    test_keys = own_keys | {normalize_question(test.question) for test in edit.tests}
    kept_examples = [text for text in earlier.counterexamples if normalize_question(text) not in own_keys]
    kept_tests = [test for test in earlier.tests if normalize_question(test.question) not in test_keys]
    longer_edit = replace(
        edit,
        given_paraphrases=(*edit.paraphrases, *earlier.wordings),
        counterexamples=tuple(unique_everseen([*edit.counterexamples, *kept_examples], normalize_question)),
        tests=(*edit.tests, *kept_tests),
        replaces=tuple(dict.fromkeys([*edit.replaces, earlier.id])),
        extends=version,
    )
    sizes = {
        "other wordings": (len(longer_edit.paraphrases), MAX_PARAPHRASES),
        "counterexamples": (len(longer_edit.counterexamples), MAX_PARAPHRASES),
        "tests": (len(longer_edit.tests), MAX_TESTS),
    }
    for name, (count, limit) in sizes.items():
        if count > limit:
            detail = f"with those of version {version} this edit has {count} {name}, and {limit} are allowed"
            raise InvalidInput(detail, field=where)
    return longer_edit


def _keys_of(texts: Sequence[str]) -> set[str]:
    return set(map(normalize_question, texts))
