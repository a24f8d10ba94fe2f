"""Conflicts between the edits of one request, and the earlier edits that they take the place of.

Repetitions, contradictions and refused edits; whom an edit was told to replace, and of whom it says more.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from typing import NamedTuple

from errata.wire import RefusedEdit
from errata.wire.edits import MAX_PARAPHRASES, MAX_TESTS
from errata.wire.wording import normalize_question
from more_itertools import unique_everseen

from service.editing.draft import Build, EditorState
from service.editing.evaluation.expectations import DOES_NOT_HOLD, ask_all, ask_edits, failure, is_met
from service.editing.evaluation.lineage import version_of
from service.editing.models import Answers
from service.editing.notes import RelationNote
from service.editing.planned_edit import PlannedEdit
from service.errors import MAX_NAMED, ErrataError, InvalidInput
from service.ledger.commit import EditRecord
from service.tracing import Retry

SUPERSEDED = "superseded"
LATER_WINS = "edits.{later} gives {wording!r} another answer: the later one was taken"
KEEP_ONE = "edits.{earlier} and edits.{later} give {wording!r} two answers: keep one of them"
TOO_MANY_REFUSED = (
    "another edit of the request superseded it, and too many of those are refused: send this one by itself"
)
SMALL = 100  # edits of a request in which facts that contradict others are left out singly
FEW_RETURNS = 8  # `n_returns` of a larger request
ANSWERED_BY_OTHER = (
    "{question!r} would be answered {actual!r} and not {answer!r}, by {other}; leave one of the two out"
)


class PlanChanged(Retry):
    """The request has to be planned again, because edits are left out, or needed, that were not before."""


class Refusals:
    """Refused edits by place in the request.

    Args:
        skip: Whether refused edits are left out; otherwise the first one raises and names the rest.
        n_returns: How many times edits are taken after all because the one that superseded them is refused.
    """

    def __init__(
        self, skip: bool, by_place: Mapping[int, RefusedEdit] | None = None, n_returns: int = SMALL
    ) -> None:
        self.skip, self._n_returns = skip, n_returns
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
            self._note({place: error})

    def add(self, errors: Mapping[int, ErrataError]) -> None:
        """Note the errors of edits as `collect` does; raise PlanChanged if there are any."""
        if errors:
            self._note(errors)
            raise PlanChanged

    def _note(self, errors: Mapping[int, ErrataError]) -> None:
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
        if not self.skip:
            first = errors[min(refused)]  # the first error keeps its wording and stands for the whole request
            suffix = f" (and {len(refused) - 1:,} more are refused)" if len(refused) > 1 else ""
            refused_edits = [edit.model_dump(mode="json") for edit in list(refused.values())[:MAX_NAMED]]
            raise type(first)(first.detail + suffix, **{**first.extras, "refused": refused_edits})
        self.by_place |= refused
        if self._superseded:  # a refused edit may be the one that superseded them
            if self._n_returns <= 0:
                for place, edit in self._superseded.items():
                    self.by_place[place] = edit.model_copy(update={"detail": TOO_MANY_REFUSED})
            self._n_returns -= 1
            self._superseded.clear()

    def supersede(self, places: Iterable[int], detail: str) -> None:
        for place in places:
            self._superseded[place] = RefusedEdit(place=place, code=SUPERSEDED, reason="", detail=detail)

    def in_order(self) -> list[RefusedEdit]:
        refused = self.by_place | self._superseded
        return [refused[place] for place in sorted(refused)]


@dataclass(frozen=True)
class Contradiction:
    earlier: int
    later: int
    wording: str


class Member(NamedTuple):
    """An edit that has a wording, as the one at `place` of all its wordings; members sort as they are compared."""

    position: int  # place of the edit among all edits
    place: int
    edit: PlannedEdit
    wording: str

    @property
    def stance(self) -> object:
        """Return what decides which edits of the same subject contradict it; two of one stance never do."""
        note, triple = self.edit.note, self.edit.triple
        if isinstance(note, RelationNote):
            return note.holds, note.label
        return triple.subject if triple and triple.act != "set" else triple or self.edit.answer


@dataclass
class SameSubject:
    """The edits about one subject, in order. The first that stays has to agree with all others."""

    members: list[Member] = field(default_factory=list)
    n_losers: int = 0  # number of the first members that do not stay
    # Stance of an edit -> the first member that may contradict it
    next_by_stance: dict[object, int] = field(default_factory=dict)

    def find_pair(self, losers: Set[int]) -> tuple[Member, Member] | None:
        """Return the first edit that stays and the first one that contradicts it, without the places `losers`.

        No member is compared twice with edits of one stance, so that very many edits take no longer than their number.
        """
        members = self.members
        while self.n_losers < len(members) and members[self.n_losers].edit.place in losers:
            self.n_losers += 1
        if self.n_losers == len(members):
            return None
        first = members[self.n_losers]
        n = max(self.n_losers + 1, self.next_by_stance.get(first.stance, 0))
        while n < len(members) and (
            members[n].edit.place in losers or not _contradicts(first.edit, members[n].edit)
        ):
            n += 1
        self.next_by_stance[first.stance] = n
        return (first, members[n]) if n < len(members) else None


def find_contradictions(edits: Sequence[PlannedEdit]) -> Iterator[Contradiction]:
    """Yield the contradictions in order; the earlier edit of each is gone when the next one is found."""
    by_subject: dict[tuple[str, ...], SameSubject] = defaultdict(SameSubject)
    by_place: dict[int, list[SameSubject]] = defaultdict(list)
    for position, edit in enumerate(sorted(edits, key=lambda edit: edit.place)):
        for place, (wording, subject) in enumerate(_subjects(edit)):
            group = by_subject[edit.model, edit.memory, *subject]
            group.members.append(Member(position, place, edit, wording))
            by_place[edit.place].append(group)
    losers: set[int] = set()
    queue: list[tuple[int, int, int, SameSubject]] = []

    def push(groups: Iterable[SameSubject]) -> None:
        for group in groups:
            if pair := group.find_pair(losers):
                heappush(queue, (pair[1].position, pair[1].place, id(group), group))

    push(by_subject.values())
    while queue:
        position, place, _, group = heappop(queue)
        pair = group.find_pair(losers)
        if pair is not None and pair[1][:2] == (position, place):  # nothing of it is gone meanwhile
            earlier = pair[0].edit.place
            yield Contradiction(earlier, pair[1].edit.place, pair[1].wording)
            losers.add(earlier)
            push(by_place[earlier])


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


async def find_unmet(edits: Sequence[PlannedEdit], build: Build) -> dict[int, ErrataError]:
    """Return, by place, the errors of the edits whose own question does not get their answer with all of them."""
    answers = await ask_edits(build.models, edits, build.all_edits, 1)
    return {
        edit.place: failure(edit, answers[edit.model])
        for edit in edits
        if not is_met(edit, answers[edit.model])
    }


async def find_answered_by_others(edits: Sequence[PlannedEdit], build: Build) -> dict[int, RefusedEdit]:
    """Return, by place, the edits whose own question another edit or no edit would answer.

    Args:
        build: The state with all of them. Edits of a system that does not route are asked.
    """
    by_id = {edit.id: edit for edit in edits}
    errors = await find_unmet(edits, build)
    unmet: dict[int, RefusedEdit] = {}
    for edit in edits:
        if edit.place not in errors:
            continue
        owner = (await build.models[edit.model].routing()).answering_edit(edit.id, 0)
        detail = errors[edit.place].detail
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


def find_named(edit: PlannedEdit, state: EditorState) -> list[str]:
    """Return the ids of the active edits that `edit.replaces` names by version or by id.

    Raises:
        InvalidInput: A version or an id names no edit of the same model or one that was replaced, or a version names
            several edits.
    """
    targets: list[str] = []
    for name in edit.replaces:
        matches = [
            earlier.id
            for earlier in state.find_named([name], edit.memory)
            if earlier.model == edit.model and earlier.id in state.active
        ]
        if len(matches) != 1:
            subject = _describe(name)
            detail = (
                f"{subject} made {len(matches):,} edits of {edit.model}: name the one that is meant by its id"
                if matches
                else f"{subject} is no active correction of {edit.model}: errata log lists them"
            )
            raise InvalidInput(detail, field=f"edits.{edit.place}.replaces")
        successor = state.replacements.get((matches[0], edit.model, edit.memory))
        if successor is not None:
            raise InvalidInput(
                f"{_describe(name)} was replaced by edit {successor.id} of version {version_of(successor)}, "
                f"{successor.question!r}: say that this one replaces that",
                field=f"edits.{edit.place}.replaces",
            )
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
        with refusals.collect(edit.place):
            planned_edits.append(_extend(edit, answers, state) if edit.id in candidates else edit)
    return planned_edits


def _extend(edit: PlannedEdit, answers: Mapping[str, Answers], state: EditorState) -> PlannedEdit:
    """Join an edit with the first that it says more than, of those it was told to replace and that of its question."""
    named_ids, question = find_named(edit, state), normalize_question(edit.question)
    for id in dict.fromkeys([*named_ids, *answers[edit.model][edit.question].edits]):
        earlier = state.edits.get(id)
        if earlier is None or (earlier.memory, earlier.answer) != (edit.memory, edit.answer):
            continue
        is_same = id in named_ids or normalize_question(earlier.question) == question
        if is_same and _says_more(edit, earlier):
            return _join(edit, earlier)
    return edit


def _says_more(edit: PlannedEdit, earlier: EditRecord) -> bool:
    tests = {(normalize_question(test.question), test.answer) for test in edit.tests}
    known_tests = {
        (normalize_question(test.question), answer)
        for test in earlier.tests
        for answer in (None, test.answer)
    }
    return (
        not _keys_of(edit.wordings) <= _keys_of(earlier.wordings)
        or not _keys_of(edit.counterexamples) <= _keys_of(earlier.counterexamples)
        or not tests <= known_tests
    )


def _join(edit: PlannedEdit, earlier: EditRecord) -> PlannedEdit:
    where, version = f"edits.{edit.place}", version_of(earlier)
    own_keys = _keys_of(edit.wordings)
    against = [*edit.counterexamples, *(test.question for test in edit.tests if test.answer != edit.answer)]
    for text in against:
        if normalize_question(text) in _keys_of(earlier.wordings):
            raise InvalidInput(
                f"{text!r} is a wording of version {version}, which this edit extends: take that one back first",
                field=where,
            )
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
            raise InvalidInput(
                f"with those of version {version} this edit has {count} {name}, and {limit} are allowed",
                field=where,
            )
    return longer_edit


def _keys_of(texts: Sequence[str]) -> set[str]:
    return set(map(normalize_question, texts))
