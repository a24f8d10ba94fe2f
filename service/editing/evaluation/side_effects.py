"""Side effects: questions that were not edited and whose answers change all the same.

A fixed set of probes makes commits comparable. Other probes are chosen where side effects are likely: all that the
change may reach, if the system can tell; otherwise those nearest in words to the edited questions.
"""

from __future__ import annotations

import asyncio
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain
from math import log
from urllib.parse import urlencode

from errata.wire import Link, Outcome
from errata.wire.wording import normalize_question

from models.system import Probes
from service.editing.models import ModelAtVersion, Models, ModelsAtVersion
from service.editing.notes import FactNote, read_note
from service.ledger.commit import EditRecord

# A question that was not encoded before takes as long as many that were
NEAREST_PER_EDIT, MAX_CHOSEN = 8, 200
MAX_NEAREST = 24  # resembling questions of each model, NEAREST_PER_EDIT for each edit
WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class ProbeChoice:
    """The probes of one model to compare."""

    questions: list[str]  # the questions to ask on both sides
    n_unmeasured: int  # number of known questions of which the comparison does not say whether they changed
    asked_wordings: Set[str]  # plain wordings of the questions
    # Plain wordings of all known questions; none if the system cannot tell which of these a change may reach
    foreseen_wordings: Set[str]
    left_out: Set[str]  # foreseen wordings that the comparison says nothing about

    def covers(self, wording: str) -> bool:
        """Return whether the comparison says whether a question changed."""
        is_foreseen = wording in self.foreseen_wordings and wording not in self.left_out
        return is_foreseen or wording in self.asked_wordings

    def count_without(self, wordings: Set[str]) -> int:
        """Count the questions of which the comparison says whether they changed, without some."""
        n_asked_only = sum(wording not in self.foreseen_wordings for wording in self.asked_wordings)
        n_covered = len(self.foreseen_wordings) - len(self.left_out) + n_asked_only
        return n_covered - sum(map(self.covers, wordings))


class ProbeSelector:
    def __init__(self, probes: Probes) -> None:
        self.probes = probes

    def choose(self, edit_wordings: Sequence[str], reachable: Sequence[str] | None) -> ProbeChoice:
        """Return the fixed probes and others, each once, without the edited questions themselves.

        Args:
            reachable: All trained questions whose answers may change, first those to ask; None if the system cannot
                tell.
        """
        own_wordings = {normalize_question(question) for question in edit_wordings}
        nearest: Iterable[str] = ()
        if reachable is None:
            share = min(NEAREST_PER_EDIT, max(1, MAX_CHOSEN // max(1, len(edit_wordings))))
            nearest = chain.from_iterable(
                self._nearest(question, share) for question in edit_wordings[:MAX_CHOSEN]
            )
        core, candidates = (
            [question for question in questions if normalize_question(question) not in own_wordings]
            for questions in (self.probes.core, nearest if reachable is None else reachable)
        )
        questions = list(dict.fromkeys([*core, *candidates[:MAX_CHOSEN]]))
        asked_wordings = {normalize_question(question) for question in questions}
        if reachable is None:
            n_known = len(self._all) - len(self._all & (own_wordings | asked_wordings))
            return ProbeChoice(questions, n_known, asked_wordings, frozenset(), frozenset())
        late = {normalize_question(question) for question in candidates[MAX_CHOSEN:]} - asked_wordings
        left_out = (own_wordings | late) & self._all
        return ProbeChoice(questions, len(late & self._all), asked_wordings, self._all, left_out)

    @cached_property
    def _all(self) -> Set[str]:
        return {normalize_question(question) for question in (*self.probes.core, *self.probes.training)}

    def _nearest(self, question: str, limit: int) -> Iterable[str]:
        """Return the trained questions with the most words in common; a rare word counts for more.

        The rarest words are looked up first: once they match enough questions, commoner words only rank these.
        """
        scores: dict[int, float] = {}
        known_words = _words(question) & self._index.keys()
        for word in sorted(known_words, key=lambda word: (len(self._index[word]), word)):
            places = self._index[word]
            near = places if len(scores) < limit else scores.keys() & places
            weight = log(1 + len(self.probes.training) / len(places))
            scores |= {place: scores.get(place, 0.0) + weight for place in near}
        best = sorted(scores, key=lambda place: (-scores[place], place))
        return (self.probes.training[place] for place in best[:limit])

    @cached_property
    def _index(self) -> Mapping[str, Set[int]]:
        """The places in the trained questions of each word."""
        index: dict[str, set[int]] = defaultdict(set)
        for place, question in enumerate(self.probes.training):
            for word in _words(question):
                index[word].add(place)
        return dict(index)


@lru_cache(100_000)
def _words(question: str) -> frozenset[str]:
    return frozenset(WORD.findall(question.casefold()))


@dataclass(frozen=True)
class SideEffects:
    """The result of a comparison."""

    n_compared: int  # number of questions that were compared
    n_unmeasured: int  # number of known questions that were not, and whose answers may have changed
    changed: list[Outcome]  # the questions whose answers changed
    # The known questions that resemble an edited one most, by model, if the system can tell
    nearest: Mapping[str, Sequence[str]]


class SideEffectProbe:
    def __init__(self, models: Models, probes: Mapping[str, Probes]) -> None:
        self._models = models
        self._selectors = {model: ProbeSelector(questions) for model, questions in probes.items()}

    async def prepare(self, models: ModelsAtVersion) -> None:
        """Encode the fixed questions once, before an edit has to wait for it."""
        for model, selector in self._selectors.items():
            reachable = await models[model].reached_since(models[model])
            choice = await asyncio.to_thread(selector.choose, selector.probes.core[:1], reachable)
            await models[model].prepare_comparison(choice.questions)

    async def find_probes(
        self, edits: Sequence[EditRecord], before: ModelsAtVersion, after: ModelsAtVersion
    ) -> dict[str, Sequence[str]]:
        """Return the questions that `measure` compares, by model that foresees what a change may reach."""
        probes: dict[str, Sequence[str]] = {}
        for model, wordings in self._edited_wordings(edits).items():
            reachable = await after[model].reached_since(before[model])
            if reachable is not None:
                probes[model] = self._selectors[model].choose(wordings, reachable).questions
        return probes

    async def measure(
        self,
        edits: Sequence[EditRecord],
        before: ModelsAtVersion,
        after: ModelsAtVersion,
        versions: tuple[int, int | None],
        common_edits: Sequence[EditRecord] = (),
        known_wordings: Iterable[str] = (),
    ) -> SideEffects:
        """Compare the answers to questions that `edits` are not about.

        Args:
            versions: The versions of both sides; None for a side that has no version yet.
            common_edits: Edits that are active on both sides, whose questions are compared too.
            known_wordings: Wordings that the report has elsewhere.
        """
        n_compared, n_unmeasured = 0, 0
        nearest: dict[str, Sequence[str]] = {}
        changed: list[Outcome] = []
        reported_wordings = {normalize_question(question) for question in known_wordings}
        by_id = {edit.id: edit for edit in edits}
        for model, edit_wordings in sorted(self._edited_wordings(edits).items()):
            reachable = await after[model].reached_since(before[model])
            choice = await asyncio.to_thread(self._selectors[model].choose, edit_wordings, reachable)
            if reachable:
                nearest[model] = reachable[-min(MAX_NEAREST, NEAREST_PER_EDIT * len(edit_wordings)) :]
            own_wordings = {*map(normalize_question, edit_wordings)}
            by_wording = {
                normalize_question(edit.question): edit.question
                for edit in common_edits
                if edit.model == model and edit.question
            }
            further = [
                question
                for wording, question in by_wording.items()
                if wording not in own_wordings and not choice.covers(wording)
            ]
            n_compared += choice.count_without(reported_wordings) + len(further)
            n_unmeasured += choice.n_unmeasured
            sides = before[model], after[model]
            effects = await _compare(model, [*choice.questions, *further], sides, by_id, versions)
            changed += [e for e in effects if normalize_question(e.question) not in reported_wordings]
        return SideEffects(n_compared, n_unmeasured, changed, nearest)

    def _edited_wordings(self, edits: Sequence[EditRecord]) -> dict[str, list[str]]:
        """Return the wordings of the edits by model, for every model that reads what they wrote.

        An edit without a question is represented by the name of its subject.
        """
        wordings: dict[str, list[str]] = defaultdict(list)
        for edit in edits:
            note = read_note(edit)
            subject = note.subject if isinstance(note, FactNote) else ""
            for model in self._models.readers_of(edit.memory):
                wordings[model] += edit.wordings or [subject]
        return wordings


async def _compare(
    model: str,
    questions: Sequence[str],
    sides: tuple[ModelAtVersion, ModelAtVersion],
    edits: Mapping[str, EditRecord],
    versions: tuple[int, int | None],
) -> list[Outcome]:
    """Return the questions whose answers differ between both sides of a model."""
    before, after = sides
    differing = await after.differing_since(before, questions)
    old, new = await before.ask(differing), await after.ask_unless_routed(differing, edits)
    changed = [question for question in differing if old[question].text != new[question].text]
    return [
        Outcome(
            question=question,
            before=old[question].text,
            after=new[question].text,
            model=model,
            link=_link(question, model, versions),
            follows=is_same,
        )
        for question, is_same in zip(changed, await after.ask_the_same(changed), strict=True)
    ]


def find_unmeant(effects: Iterable[Outcome], edits: Iterable[EditRecord]) -> list[Outcome]:
    """Return the effects that corrections of answers have on questions that ask for something else.

    A fact changes answers as it should.
    """
    corrected_models = {edit.model for edit in edits if edit.question and read_note(edit) is None}
    return [effect for effect in effects if effect.model in corrected_models and not effect.follows]


def _link(question: str, model: str, versions: tuple[int, int | None]) -> Link:
    def path(version: int) -> str:
        """Return the path of GET /v1/answers."""
        return "/v1/answers?" + urlencode({"question": question, "model": model, "version": version})

    before, after = versions
    return Link(before=path(before), after=None if after is None else path(after))
