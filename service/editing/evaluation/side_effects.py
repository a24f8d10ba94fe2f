"""Side effects: questions that nobody edited and that are answered differently all the same.

A fixed set of probes is comparable between commits. Others are chosen where side effects are likely: all that the
change may reach, where the system can tell; else those nearest in words to what was edited.
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

from errata.wire import Link, SideEffect
from errata.wire.wording import normalize_question

from models.system import Probes
from service.editing.models import Models, ModelsAtVersion
from service.editing.notes import FactNote, read_note
from service.ledger.commit import EditRecord

NEAREST_PER_EDIT, MAX_CHOSEN = (
    8,
    200,
)  # a question that was not encoded before takes as long as many that were
MAX_NEAREST = 24  # questions, of each model
WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class ProbeChoice:
    """questions: to be compared. covered_wordings: plain, of all questions that are known to have changed or not then.

    n_unmeasured: how many others may have changed for all that is known.
    """

    questions: list[str]
    covered_wordings: Set[str]
    n_unmeasured: int


class ProbeSelector:
    """Chooses the probes of one model to compare."""

    def __init__(self, probes: Probes) -> None:
        self.probes = probes

    def choose(self, edit_wordings: Sequence[str], reachable: Sequence[str] | None) -> ProbeChoice:
        """The fixed probes and others, each once, without the edited questions themselves.

        Args:
            reachable: all taught questions that may be answered differently, the likeliest first; None where the system
                cannot tell.
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
        covered_wordings = {normalize_question(question) for question in questions}
        if reachable is not None:
            covered_wordings |= (
                self._all
                - own_wordings
                - {normalize_question(question) for question in candidates[MAX_CHOSEN:]}
            )
        return ProbeChoice(questions, covered_wordings, len(self._all - own_wordings - covered_wordings))

    @cached_property
    def _all(self) -> Set[str]:
        return {normalize_question(question) for question in (*self.probes.core, *self.probes.training)}

    def _nearest(self, question: str, limit: int) -> Iterable[str]:
        """Those with the most words in common; a rare word counts for more.

        The rarest word first: once it and the next match enough questions, commoner words only decide among those.
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
        """Word -> places in the taught questions that have it."""
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
    """n_compared: questions. n_unmeasured: how many more may be answered differently, for all that is known.

    nearest: model -> the known questions that resemble an edited one most, where the system can tell.
    """

    n_compared: int
    n_unmeasured: int
    changed: list[SideEffect]
    nearest: Mapping[str, Sequence[str]]


class SideEffectProbe:
    """Measures side effects on every model that reads a changed memory."""

    def __init__(self, models: Models, probes: Mapping[str, Probes]) -> None:
        self._models = models
        self._selectors = {model: ProbeSelector(questions) for model, questions in probes.items()}

    async def prepare(self, models: ModelsAtVersion) -> None:
        """Encode the fixed questions once, before an edit has to wait for it."""
        for model, selector in self._selectors.items():
            reachable = await models[model].reached_since(models[model])
            choice = await asyncio.to_thread(selector.choose, selector.probes.core[:1], reachable)
            await models[model].prepare_comparison(choice.questions)

    async def measure(
        self,
        edits: Sequence[EditRecord],
        before: ModelsAtVersion,
        after: ModelsAtVersion,
        versions: tuple[int, int | None],
        common_edits: Sequence[EditRecord] = (),
        known_wordings: Iterable[str] = (),
    ) -> SideEffects:
        """On questions that `edits` are not about.

        Args:
            versions: of the two sides; None for one that nobody can ask. common_edits: edits that are active on both
                sides, whose own questions are compared too. known_wordings: wordings that the report has elsewhere.
        """
        n_compared, n_unmeasured = 0, 0
        nearest: dict[str, Sequence[str]] = {}
        changed: list[SideEffect] = []
        reported_wordings = {normalize_question(question) for question in known_wordings}
        texts = {edit.id: edit.answer for edit in edits}
        for model, edit_wordings in sorted(self._edited_wordings(edits).items()):
            reachable = await after[model].reached_since(before[model])
            choice = await asyncio.to_thread(self._selectors[model].choose, edit_wordings, reachable)
            if reachable:
                nearest[model] = reachable[-MAX_NEAREST:]
            covered_wordings = {*map(normalize_question, edit_wordings)} | choice.covered_wordings
            questions = (edit.question for edit in common_edits if edit.model == model and edit.question)
            by_wording = {normalize_question(question): question for question in questions}
            further = [
                question for wording, question in by_wording.items() if wording not in covered_wordings
            ]
            differing = await after[model].differing_since(before[model], [*choice.questions, *further])
            old = await before[model].ask(differing)
            new = await after[model].ask_unless_routed(differing, texts)
            n_compared += len(choice.covered_wordings - reported_wordings) + len(further)
            n_unmeasured += choice.n_unmeasured
            changed += [
                SideEffect(
                    question=question,
                    before=old[question].text,
                    after=new[question].text,
                    model=model,
                    link=_link(question, model, versions),
                )
                for question in differing
                if old[question].text != new[question].text
                and normalize_question(question) not in reported_wordings
            ]
        return SideEffects(n_compared, n_unmeasured, changed, nearest)

    def _edited_wordings(self, edits: Sequence[EditRecord]) -> dict[str, list[str]]:
        """Model -> what the edits are about, for every model that reads what they wrote: where nobody can ask for an
        edit, the name of its subject."""
        wordings: dict[str, list[str]] = defaultdict(list)
        for edit in edits:
            for model in self._models.readers_of(edit.memory):
                wordings[model] += edit.wordings or [_subject(edit)]
        return wordings


def _subject(edit: EditRecord) -> str:
    note = read_note(edit)
    return note.subject if isinstance(note, FactNote) else ""


def _link(question: str, model: str, versions: tuple[int, int | None]) -> Link:
    def path(version: int) -> str:
        """Of GET /v1/answers."""
        return "/v1/answers?" + urlencode({"question": question, "model": model, "version": version})

    before, after = versions
    return Link(before=path(before), after=None if after is None else path(after))
