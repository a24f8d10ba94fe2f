"""A batch of questions through linking, the encoder and the alignment head, to answers or reasons for none.

Each entity that a question may be about has its own mask; the candidates of all masks compete, and the zero row
with them. Without a mention the mask is aligned with all answers that the checkpoint knows.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from models.kit.replies import decline, fact_json, reply, share_rest
from models.memory import Views
from models.system import UNSURE, Ask, Reason, Reply
from models.thu_ernie.align import place_links
from models.thu_ernie.candidates import (
    AlignedCandidate,
    Alignment,
    Candidate,
    Choice,
    align,
    list_neighbours,
    list_texts,
)
from models.thu_ernie.entities.memory import ENTITIES
from models.thu_ernie.entities.table import EntityView
from models.thu_ernie.finder import RowFinder
from models.thu_ernie.links import LinkedMention, LinkedQuestion, link_question
from models.thu_ernie.reader import Model
from models.thu_ernie.row import Row, cut, lay_mask

NO_ENTITY = Reason("no_entity", "The question names no entity that has a row.")
NO_CANDIDATES = Reason("no_candidates", "None of the possible answers has a row to compare with.")
NO_FACT = Reason("no_fact", "No fact of what the question names answers it.")
MOST_ANSWERS = 64  # listed ones of all known answers


@dataclass(frozen=True)
class Draft:
    """A question that is laid out and not read yet."""

    ask: Ask
    linking: LinkedQuestion  # what it mentions
    kind: str  # name of the scale of its answers
    choices: tuple[Choice, ...]  # what each mask is aligned with; none: all known answers
    masks: tuple[Row, ...]  # a row for each subject, or one without any
    truncated: bool
    finder: RowFinder


@dataclass(frozen=True)
class Reading(Draft):
    """A question as it was read."""

    alignment: Alignment  # candidates with their logits

    @property
    def exclusions(self) -> tuple[str, ...]:
        """Return the candidates without a row."""
        return tuple(dict.fromkeys(text for choice in self.choices for text in choice.exclusions))

    def subject_of(self, entry: AlignedCandidate) -> LinkedMention | None:
        """Return the mention whose mask an answer was aligned with."""
        return self.linking.subjects[entry.subject] if self.linking.subjects else None


class Aligner:
    """Answers questions by entities. Thread-safe."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def read(self, asks: Sequence[Ask], views: Sequence[Views]) -> list[Reading]:
        """Read questions in as few passes as they fit into."""
        return self._read(
            [self._draft(ask, *self.link(ask, view)) for ask, view in zip(asks, views, strict=True)]
        )

    def read_again(
        self, reading: Reading, questions: Sequence[LinkedQuestion], views: Views
    ) -> list[Reading]:
        """Read a question with other links, for an explanation."""
        finder = RowFinder(views[ENTITIES])
        return self._read([self._draft(reading.ask, linking, finder) for linking in questions])

    def link(self, ask: Ask, views: Views) -> tuple[LinkedQuestion, RowFinder]:
        """Return the mentions of a question, and the rows of its version."""
        finder = RowFinder(views[ENTITIES])
        mentions = ask.mentions if ask.use_graph else ()
        return link_question(ask.question, mentions, finder, self.model.settings.subjects), finder

    def reply(self, reading: Reading) -> Reply:
        """Reply with the best candidate if it is sure enough."""
        entries = reading.alignment.entries
        if not entries:
            return decline(_why_nothing(reading), truncated=reading.truncated)
        scale = self.model.confidences[reading.kind]
        best, score = entries[0], scale.score(reading.alignment.features)
        subject = reading.subject_of(best)
        return reply(
            best.candidate.answer,
            score,
            None if score >= scale.threshold else _why_unsure(reading, best),
            (*best.candidate.edits, subject.row.edit if subject else ""),
            _rivals(reading, score),
            truncated=reading.truncated,
            facts=fact_rows(best.candidate),
        )

    def _draft(self, ask: Ask, linking: LinkedQuestion, finder: RowFinder) -> Draft:
        choices = self._choose(ask, linking, finder)
        kind = "neighbours" if linking.subjects else "answers"
        masks, truncated = [], False
        for mention in linking.subjects or (None,):
            links = linking.links_for(mention)
            text = place_links(ask.question, links, self.model.vocabulary)
            question, truncated = cut(text, self.model.settings.question_room)
            link = None if mention is None else mention.link
            masks.append(lay_mask(question, link, self.model.vocabulary))
        return Draft(ask, linking, kind, choices, tuple(masks), truncated, finder)

    def _choose(self, ask: Ask, linking: LinkedQuestion, finder: RowFinder) -> tuple[Choice, ...]:
        """Return the candidates of each mask; none if all known answers are candidates."""
        subjects = linking.subjects
        choices = tuple(list_neighbours(mention.entity, mention.row, finder) for mention in subjects)
        if not ask.candidates:
            return choices
        choice = list_texts(ask.candidates, choices, self.model.names, finder)
        return (choice,) * max(1, len(subjects))

    def _read(self, drafts: Sequence[Draft]) -> list[Reading]:
        masks = [mask for draft in drafts for mask in draft.masks]
        vectors = [
            {name: row.vector for name, row in draft.linking.vectors.items()}
            for draft in drafts
            for _ in draft.masks
        ]
        queries = torch.split(self.model.query(masks, vectors), [len(draft.masks) for draft in drafts])
        return [self._align(draft, of_draft) for draft, of_draft in zip(drafts, queries, strict=True)]

    def _align(self, draft: Draft, queries: Float[Tensor, "subject size"]) -> Reading:
        if draft.choices:
            entries = [
                entry
                for number, (query, choice) in enumerate(zip(queries, draft.choices, strict=True))
                for entry in align(query, choice.candidates, number)
            ]
        else:
            entries = self._align_with_all(queries[0], draft.finder.view)
        if draft.ask.candidates:
            entries = _keep_best(entries)
        entries.sort(key=lambda entry: -entry.logit)
        return Reading(**vars(draft), alignment=Alignment(tuple(entries)))

    def _align_with_all(self, query: Float[Tensor, " size"], view: EntityView) -> list[AlignedCandidate]:
        """Return the best of all known answers."""
        products = self.model.rows_of_answers(view) @ query
        values, places = products.topk(min(MOST_ANSWERS, len(products)))
        answers = list(self.model.answers)
        entries = []
        for value, place in zip(values.tolist(), places.tolist(), strict=True):
            row = RowFinder(view).find(self.model.answers[answers[place]])
            entries.append(AlignedCandidate(Candidate(answers[place], (row,) if row else ()), value, 0))
        return entries


def _keep_best(entries: Sequence[AlignedCandidate]) -> list[AlignedCandidate]:
    """Return each candidate of a request once, with the subject that it fits best."""
    best: dict[str, AlignedCandidate] = {}
    for entry in entries:
        other = best.get(entry.candidate.answer)
        if other is None or entry.logit > other.logit:
            best[entry.candidate.answer] = entry
    return list(best.values())


def _why_nothing(reading: Reading) -> Reason:
    if reading.exclusions:
        return NO_CANDIDATES
    return NO_FACT if reading.linking.subjects else NO_ENTITY


def _why_unsure(reading: Reading, best: AlignedCandidate) -> Reason:
    """Return the reason: nothing is linked, the zero row fits better than any fact, or the best is not sure enough."""
    if not reading.linking.subjects and not reading.ask.candidates:
        return NO_ENTITY
    return NO_FACT if best.logit < 0 and best.candidate.facts else UNSURE


def _rivals(reading: Reading, score: float) -> list[tuple[str, float]]:
    """Divide the probability that the best answer leaves among the others."""
    entries, (shares, no_answer) = reading.alignment.entries, reading.alignment.shares()
    scores: dict[str, float] = {}
    for entry, share in zip(entries[1:], share_rest(score, shares[1:], no_answer), strict=True):
        scores.setdefault(entry.candidate.answer, share)
    scores.pop(entries[0].candidate.answer, None)
    return list(scores.items())[: reading.ask.top_k - 1]


def fact_rows(candidate: Candidate) -> tuple[dict[str, str], ...]:
    """Return the facts of a candidate as replies name them."""
    entity = candidate.entity
    return () if entity is None else tuple(fact_json(entity.id, entity.label, f) for f in candidate.facts)
