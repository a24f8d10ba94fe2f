"""The plan of POST /admin/edits: it turns requested edits into a draft of those that change something."""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from typing import Any, TypeVar

from errata.wire import EditItem, EditReport, EditRequest, FactItem, MemoryItem, RefusedEdit, RelationItem
from errata.wire.wording import normalize_question
from more_itertools import map_reduce

from models.memory import Change as MemoryChange
from models.memory import Material, Options
from service.editing.draft import Build, Draft, EditorState, request_digest
from service.editing.evaluation.expectations import all_return_expected, ask_all, report_no_op
from service.editing.evaluation.slot_budget import SlotBudget
from service.editing.figures import Timings
from service.editing.models import Models
from service.editing.planned_edit import PlannedEdit
from service.editing.plans.conflicts import (
    FEW_RETURNS,
    KEEP_ONE,
    LATER_WINS,
    SMALL,
    PlanChanged,
    Refusals,
    extend,
    find_answered_by_others,
    find_contradictions,
    find_named,
    find_unmet,
    mark_repetitions,
)
from service.editing.plans.contradicted_answers import plan_contradicted
from service.editing.plans.fact_resolver import FactResolver, ResolvedFact, clean_fact
from service.editing.plans.facts import clean_relation, plan_fact, plan_relation
from service.editing.plans.memory_changes import find_unfit, plan_change
from service.editing.plans.options import resolve_options
from service.editing.plans.rewording import reword
from service.editing.state_builder import StateBuilder
from service.errors import JSON, EditRefused, ErrataError, InvalidInput, MemoryFull, NothingToDo
from service.ledger.commit import GivenTest, Kind, edit_order, new_edit_id
from service.ledger.fold import Change

GRAPH_SAYS_SO = "the graph says so already; there is nothing to edit"

# Requests without the newer fields keep the digest that they had before these existed.
NEWER_FIELDS, NEWER_ITEM_FIELDS = {"options", "review"}, {"counterexamples", "replaces", "tests", "create"}

R = TypeVar("R")
GRAPH_ITEMS = (FactItem, RelationItem)  # kinds of items that write the graph


class EditPlan:
    """One commit of corrections of any models, and of facts for all of them."""

    kind: Kind = "edit"

    def __init__(self, request: EditRequest, models: Models) -> None:
        items = [
            item.model_copy(update={"model": item.model or models.default})
            if isinstance(item, EditItem)
            else item
            for item in request.edits
        ]
        request = request.model_copy(update={"edits": items})
        content = request.model_dump(mode="json", include={"message", "method", *NEWER_FIELDS})
        content["edits"] = [_drop_empty(item.model_dump(mode="json"), NEWER_ITEM_FIELDS) for item in items]
        self.message = request.message
        self.request = request_digest("edit", _drop_empty(content, NEWER_FIELDS))
        self._dry_run = request.dry_run
        self._models = models
        self._items = request.edits
        self._answer_places = {place for place, item in enumerate(items) if isinstance(item, EditItem)}
        if any(isinstance(item, GRAPH_ITEMS) for item in request.edits):
            models.check_takes_facts()
        self._options = resolve_options(request, models)
        self._version_independent = Refusals(request.skip_refused or not request.measure)
        self._is_small = len(items) <= SMALL
        self._given_edits = list(self._plan_given())
        self._version, self._refusals = -1, self._version_independent
        self._ids: dict[tuple[int, str, str], str] = defaultdict(new_edit_id)
        self._needed_edits: set[str] = set()

    async def build(self, state: EditorState, builder: StateBuilder, timings: Timings) -> Build:
        self._begin(state)
        return await self._settle(lambda: self._plan(state, builder, timings))

    async def _settle(self, plan: Callable[[], Awaitable[R]]) -> R:
        """Plan again until the draft holds no refused edit, and all that it needs."""
        while True:
            with suppress(PlanChanged):
                return await plan()

    async def _plan(self, state: EditorState, builder: StateBuilder, timings: Timings) -> Build:
        with timings.part("editor"):
            edits = await extend(await self._plan_all(state), self._answer_places, state, self._refusals)
        with timings.part("report"):
            no_ops = await self._no_ops(edits, state)
        fresh = [edit for index, edit in enumerate(edits) if index not in no_ops]
        if not fresh and not self._dry_run:
            raise self._nothing_to_do(edits, no_ops, state)
        with timings.part("editor"):
            materials = await self._build_rows(fresh, state)
            self._refusals.add(
                await find_unfit(
                    fresh,
                    state,
                    self._models,
                    lambda earlier: builder.build(
                        state, self._draft(earlier, materials, {}, state.version + 1)
                    ),
                )
            )
            build = await builder.build(state, self._draft(fresh, materials, no_ops, state.version + 1))
        with timings.part("report"):
            await self._check_settled(fresh, [edits[index] for index in no_ops], build)
        return build

    async def preview(
        self, state: EditorState, builder: StateBuilder, budget: SlotBudget
    ) -> list[RefusedEdit]:
        """Return the edits that would be refused, as far as that is known without measuring each of them.

        Edits whose question another edit answers are among them: that is known without asking once all are in place.

        Raises:
            MemoryFull: No edit is refused, and they do not fit.
        """
        for asks in (False, True):  # whether each edit is needed, which takes as long to tell as building it
            self._begin(state)
            fresh, materials = await self._settle(partial(self._plan_answers, state, asks))
            build = await builder.build(state, self._draft(fresh, materials, {}, state.version + 1))
            self._refusals.by_place |= await find_answered_by_others(fresh, build)
            try:
                if fresh and not self._refusals.by_place:
                    budget.check(build.memories.values())
                break
            except MemoryFull:  # a model may give some of the answers already: those edits take no slots
                if asks:
                    raise
        return self._refusals.in_order()

    async def _plan_answers(
        self, state: EditorState, asks: bool
    ) -> tuple[Sequence[PlannedEdit], Mapping[str, Material]]:
        """Return the corrections of answers and their rows, if it `asks` without those that are not needed."""
        edits = [edit for edit in await self._plan_all(state) if edit.is_answer]
        no_ops = await self._no_ops(edits, state) if asks else {}
        fresh = [e for index, e in enumerate(edits) if not e.is_repetition and index not in no_ops]
        return fresh, await self._build_rows(fresh, state)

    def _begin(self, state: EditorState) -> None:
        """Forget the refusals of another version, and refuse the edits that replace none of this one."""
        if state.version != self._version:
            self._version = state.version
            independent, n_returns = self._version_independent, SMALL if self._is_small else FEW_RETURNS
            self._refusals = Refusals(independent.skip, independent.by_place, n_returns)
            for edit in self._given_edits:
                with self._refusals.collect(edit.place):
                    find_named(edit, state)

    def _plan_given(self) -> Iterator[PlannedEdit]:
        """Yield the corrections of answers and the memories' own changes, which do not depend on the version."""
        for place, item in enumerate(self._items):
            with self._version_independent.collect(place):
                if isinstance(item, EditItem):
                    yield self._plan_answer(item, place)
                elif isinstance(item, MemoryItem):
                    yield plan_change(item, place, self._models)

    def _plan_answer(self, item: EditItem, place: int) -> PlannedEdit:
        model = item.model or self._models.default
        memory = self._models.memory_for(model, "answer")
        if memory is None:
            raise EditRefused(
                f"{model} answers from the graph: correct it with {{subject, relation, object}}, "
                "not with a free answer",
                reason="triples_only",
            )
        return PlannedEdit(
            place,
            model,
            memory.name,
            _method(self._options[memory.name]),
            item.question,
            item.answer,
            tuple(item.paraphrases),
            tuple(item.counterexamples),
            tuple(item.replaces),
            tuple(GivenTest(test.question, test.answer) for test in item.tests),
        )

    async def _plan_all(self, state: EditorState) -> list[PlannedEdit]:
        plain_edits = [edit for edit in self._given_edits if edit.place not in self._refusals]
        edits = [*plain_edits, *await self._plan_facts(state)]
        await asyncio.to_thread(self._supersede_contradicted, edits)
        return await asyncio.to_thread(mark_repetitions, edits)

    def _supersede_contradicted(self, edits: Sequence[PlannedEdit]) -> None:
        """Leave out the earlier edit of each contradiction.

        The facts after one that is left out may mean something else. A large request is planned again for all of them
        together: an answer then takes the place of all facts before it that make up another one.

        Raises:
            PlanChanged: An edit is left out.
        """
        facts = {e.place: (e.triple.subject, e.triple.relation) for e in edits if e.triple is not None}
        places = map_reduce(sorted(facts), facts.__getitem__)
        n_lost = Counter[tuple[str, str]]()  # the first ones of each group of facts that are left out
        contradiction = None
        for contradiction in find_contradictions(edits):
            earlier, later = contradiction.earlier, contradiction.later
            if not self._refusals.skip:
                raise InvalidInput(KEEP_ONE.format(**asdict(contradiction)), field=f"edits.{later}")
            losers = [earlier]
            if earlier in facts and later in self._answer_places and not self._is_small:
                group, start = places[facts[earlier]], n_lost[facts[earlier]]
                n_lost[facts[earlier]] = end = bisect_left(group, later)
                losers += group[start:end]
            self._refusals.supersede(losers, LATER_WINS.format(**asdict(contradiction)))
            if earlier in facts and self._is_small:
                break
        if contradiction is not None:
            raise PlanChanged

    async def _plan_facts(self, state: EditorState) -> list[PlannedEdit]:
        """Plan the facts, and the definitions of relations, on this version of the graph."""
        if not any(isinstance(item, GRAPH_ITEMS) for item in self._items):
            return []
        models = self._models
        view = state.memories[models.fact_memory].view
        resolver = FactResolver(view, models.lookup)
        methods = {name: _method(self._options[m.name]) for name, m in models.answer_memories.items()}
        facts: dict[int, tuple[FactItem, ResolvedFact]] = {}
        edits: list[PlannedEdit] = []
        for place, item in enumerate(self._items):
            if place in self._refusals:
                continue
            await asyncio.sleep(0)  # other calls run between the facts
            with self._refusals.collect(place), resolver.transaction():
                if isinstance(item, FactItem):
                    fact = clean_fact(item, place)
                    facts[place] = fact, await resolver.resolve(fact, place)
                elif isinstance(item, RelationItem):
                    relation = clean_relation(item, place)
                    edits.append(plan_relation(relation, place, view, models))
                    resolver.define(relation)
        for place, (fact, resolution) in facts.items():
            await asyncio.sleep(0)
            edits += plan_fact(fact, resolver.with_object(resolution), place, view, models, methods)
        edits += await plan_contradicted(facts, state, view, models, methods)
        # Facts that make up one answer give it after the last of them.
        last = {(edit.model, edit.question): edit for edit in edits if edit.is_answer}
        edits = [e for e in edits if not e.is_answer or last[e.model, e.question] is e]
        return [replace(edit, id=self._ids[edit.place, edit.model, edit.memory]) for edit in edits]

    async def _no_ops(self, edits: Sequence[PlannedEdit], state: EditorState) -> dict[int, EditReport]:
        """Return the reports of edits that need no rows, by place in `edits`."""
        answers = await ask_all(state.models, ((edit.model, edit.wordings) for edit in edits))

        def is_no_op(edit: PlannedEdit) -> bool:
            if not edit.is_answer:
                return edit.no_op_reason is not None
            says_more = edit.extends is not None
            return edit.is_repetition or (not says_more and all_return_expected(edit, answers[edit.model]))

        return {
            index: report_no_op(edit, answers.get(edit.model, {}))
            for index, edit in enumerate(edits)
            if edit.id not in self._needed_edits and is_no_op(edit)
        }

    async def _build_rows(self, edits: Sequence[PlannedEdit], state: EditorState) -> dict[str, Material]:
        """Return the rows of each edit by its id; raise PlanChanged if some edits are refused."""
        materials: dict[str, Material] = {}
        refused: dict[int, ErrataError] = {}
        for memory, batch in map_reduce(edits, lambda edit: edit.memory).items():
            changes = await self._changes(batch, state)
            results = await self._models.build(memory, changes, self._options[memory])
            for edit, result in zip(batch, results, strict=True):
                if isinstance(result, Material):
                    materials[edit.id] = result
                else:
                    refused[edit.place] = result
        self._refusals.add(refused)
        return materials

    async def _changes(self, edits: Sequence[PlannedEdit], state: EditorState) -> list[MemoryChange]:
        """Return the changes; those of answers have other names of their subjects, and the edits that they replace."""
        answers = [edit for edit in edits if edit.is_answer]
        changes: dict[str, MemoryChange] = {edit.id: edit.change for edit in edits}
        if not answers:
            return list(changes.values())
        other_names: Sequence[tuple[str, ...]] = [()] * len(answers)
        if self._models.fact_memory:
            other_names = await reword([edit.question for edit in answers], self._models, state.memories)
        wordings = [(*edit.wordings, *names) for edit, names in zip(answers, other_names, strict=True)]
        model = state.models[answers[0].model]
        same = iter(await model.find_same([question for texts in wordings for question in texts]))
        for edit, names, texts in zip(answers, other_names, wordings, strict=True):
            against = {normalize_question(question) for question in edit.counterexamples}
            same_facts = [
                earlier
                for _ in texts
                for earlier in next(same)
                if normalize_question(state.edits[earlier].question) not in against
            ]
            targets = find_named(edit, state)
            changes[edit.id] = edit.answer_change(tuple(dict.fromkeys([*same_facts, *targets])), names)
        return list(changes.values())

    def _draft(
        self,
        fresh: Sequence[PlannedEdit],
        materials: Mapping[str, Material],
        no_ops: Mapping[int, EditReport],
        version: int,
    ) -> Draft:
        ordered_materials = [
            replace(
                materials[edit.id], block=replace(materials[edit.id].block, order=edit_order(version, index))
            )
            for index, edit in enumerate(fresh)
        ]
        return Draft(
            Change(tuple(edit.id for edit in fresh), ()),
            None,
            tuple(edit.record(material) for edit, material in zip(fresh, ordered_materials, strict=True)),
            tuple(ordered_materials),
            no_ops,
            {edit.id: edit.place for edit in fresh},
            tuple(self._refusals.in_order()),
        )

    async def _check_settled(
        self, fresh: Sequence[PlannedEdit], no_ops: Sequence[PlannedEdit], build: Build
    ) -> None:
        """Check that no edit that needed no rows needs them because of the others, and that none is now left out.

        If the request asks for it, an edit is left out whose own question does not get its answer.

        Raises:
            PlanChanged: There is such an edit.
        """
        answer_edits = [edit for edit in no_ops if edit.triple is None]
        answers = await ask_all(build.models, ((edit.model, edit.wordings) for edit in answer_edits))
        missing = {
            edit.id
            for edit in answer_edits
            if edit.no_op_reason is None and not all_return_expected(edit, answers[edit.model])
        }
        self._needed_edits |= missing
        if missing:
            raise PlanChanged
        if self._refusals.skip:
            self._refusals.add(await find_unmet([edit for edit in fresh if edit.question], build))

    def _nothing_to_do(
        self, edits: Sequence[PlannedEdit], no_ops: Mapping[int, EditReport], state: EditorState
    ) -> NothingToDo:
        has_answers = any(edits[index].is_answer for index in no_ops)
        count = len(no_ops)
        subject = "this question has" if count == 1 else f"all {count:,} questions have"
        reason = (
            f"{subject} the wanted answer already; there is nothing to edit" if has_answers else GRAPH_SAYS_SO
        )
        refused: list[JSON] = [edit.model_dump(mode="json") for edit in self._refusals.in_order()]
        if not refused:
            return NothingToDo(reason, version=state.version)
        detail = f"{len(refused):,} of {len(self._items):,} edits are refused"
        rest = reason if no_ops else "there is nothing to edit"
        return NothingToDo(f"{detail}; {rest}", version=state.version, refused=refused)


def _drop_empty(fields: Mapping[str, Any], names: Set[str]) -> dict[str, Any]:
    """Return the fields without those of these names that have no value."""
    return {name: value for name, value in fields.items() if value or name not in names}


def _method(options: Options) -> str:
    return str(getattr(options, "method", "answer"))
