"""Replies to questions: from texts that were completed, drawn, or chosen among candidates.

A reply names the changes of senses that it rests on: those without which the answer would be another one.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from models.backpack.drawing import Draft
from models.backpack.editing.rows import TextEdits
from models.backpack.explain import explain
from models.backpack.generate import Task, complete, rank, score_candidates
from models.backpack.memory import SensesView
from models.backpack.reader import Reader
from models.backpack.scales import choice_features, free_features
from models.kit.decoded import DecodedAnswer
from models.kit.replies import reply, share_rest
from models.scope.active import Match
from models.system import UNSURE, Ask, Reason, Reply

WORDLESS = Reason("wordless", "The model wrote no word.")


@dataclass(frozen=True)
class Case:
    """One question with all that its answer follows from."""

    ask: Ask
    view: SensesView
    match: Match | None  # the edit that the question asks for, or nearly does
    fact: Match | None  # that edit if it answers
    prompt: Sequence[int]
    truncated: bool
    edits: TextEdits | None  # edits of senses that act on its text
    limit: int  # most tokens of its answer

    @property
    def task(self) -> Task:
        """Return the text to complete. A fact has one answer, so it has no alternatives."""
        return Task(self.prompt, self.limit, 1 if self.fact else self.ask.top_k, self.edits)


class Replies:
    """Writes replies from completed, drawn and chosen answers. Thread-safe."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader

    def complete(self, cases: Sequence[Case], answers: Sequence[DecodedAnswer]) -> list[Reply]:
        """Return the replies of questions that were completed together."""
        replies = [self._reply(case, answer) for case, answer in zip(cases, answers, strict=True)]
        shifts = self._find_shifts(cases, answers)
        return [
            replace(
                plain_reply,
                edits=(*plain_reply.edits, *shifts.get(place, ())),
                explanation=self._explain(case, answer.tokens) if case.ask.explain else None,
            )
            for place, (case, answer, plain_reply) in enumerate(zip(cases, answers, replies, strict=True))
        ]

    def _reply(self, case: Case, answer: DecodedAnswer) -> Reply:
        say, scale = self.reader.speller.say, self.reader.scales["free"]
        best = say(answer.tokens)
        score = scale.score(free_features(answer.logprobs)) if case.fact is None else case.fact.probability
        is_sure = case.fact is not None or (answer.finished and best != "" and score >= scale.threshold)
        runners_up = answer.alternatives
        shares = share_rest(score, [math.exp(sum(other.logprobs)) for other in runners_up])
        rivals = zip([say(other.tokens) for other in runners_up], shares, strict=True)
        return self._write(case, best, score, is_sure, rivals)

    def draw(self, case: Case, draft: Draft) -> Reply:
        """Return a drawn answer, which is not withheld; it rests on all edits that acted on its text."""
        score = self.reader.scales["free"].score(free_features(draft.logprobs))
        if case.fact is not None and self.reader.speller.answer(draft.text) == _answer_of(case.fact):
            score = case.fact.probability
        plain_reply = self._write(case, draft.text, score, draft.text != "", ())
        return replace(
            plain_reply,
            reason=None if draft.text else WORDLESS,
            edits=(*plain_reply.edits, *_edits_of(case, draft.tokens)),
            explanation=self._explain(case, draft.tokens) if case.ask.explain else None,
            finish=draft.finish,
            tokens=draft.scores,
        )

    def choose(self, case: Case) -> Reply:
        """Rank the candidates of a question by their probability."""
        candidates, speller = case.ask.candidates, self.reader.speller
        tokens = [speller.answer(candidate) for candidate in candidates]
        scores = score_candidates(self.reader.model, case.prompt, tokens, case.edits)
        order = rank(scores)
        best, scale = candidates[order[0]], self.reader.scales["choice"]
        score = scale.score(choice_features(scores))
        if case.fact is not None and speller.answer(best) == _answer_of(case.fact):
            score = case.fact.probability
        runners_up = order[1 : case.ask.top_k]
        shares = share_rest(score, [math.exp(scores[place]) for place in runners_up])
        rivals = zip([candidates[place] for place in runners_up], shares, strict=True)
        plain_reply = self._write(case, best, score, score >= scale.threshold, rivals)
        explanation = self._explain(case, tokens[order[0]]) if case.ask.explain else None
        return replace(
            plain_reply,
            edits=(*plain_reply.edits, *self._shift_of_choice(case, tokens, order[0])),
            explanation=explanation,
        )

    def _write(
        self, case: Case, best: str, score: float, is_sure: bool, rivals: Iterable[tuple[str, float]]
    ) -> Reply:
        fact = case.fact
        return reply(
            best,
            score,
            None if is_sure else UNSURE,
            () if fact is None else (fact.edit,),
            sorted(rivals, key=lambda rival: -rival[1]),
            truncated=case.truncated,
            nearby_edit=case.match.nearby_edit if case.match is not None and fact is None else None,
            wording="" if fact is None else fact.wording,
        )

    def _find_shifts(
        self, cases: Sequence[Case], answers: Sequence[DecodedAnswer]
    ) -> Mapping[int, tuple[str, ...]]:
        """Return the changes of senses that an answer rests on: without them it would be another one."""
        edits = {
            place: _edits_of(case, answer.tokens)
            for place, (case, answer) in enumerate(zip(cases, answers, strict=True))
        }
        places = [place for place, names in edits.items() if names]
        if not places:
            return {}
        tasks = [replace(cases[place].task, edits=None, branches=1) for place in places]
        base = complete(self.reader.model, tasks, self.reader.speller.stop)
        return {
            place: edits[place]
            for place, answer in zip(places, base, strict=True)
            if answer.tokens != answers[place].tokens
        }

    def _shift_of_choice(self, case: Case, candidates: Sequence[Sequence[int]], best: int) -> tuple[str, ...]:
        """Return the changes of senses without which another candidate would be the best."""
        edits = _edits_of(case, candidates[best])
        if not edits:
            return ()
        order = rank(score_candidates(self.reader.model, case.prompt, candidates))
        return edits if order[0] != best else ()

    def _explain(self, case: Case, tokens: Sequence[int]) -> dict[str, Any]:
        first = tokens[0] if tokens else self.reader.speller.stop
        fact = case.fact
        route = None if fact is None else {"edit": fact.edit, "probability": round(fact.probability, 4)}
        attribution = explain(self.reader.model, self.reader.speller, case.prompt, first, case.edits)
        return {"fact": route, "attribution": attribution}


def _answer_of(fact: Match) -> list[int]:
    """Return the tokens of a fact's answer, its end included."""
    tokens: list[int] = fact.block.tensors["answer"].tolist()
    return tokens


def _edits_of(case: Case, tokens: Sequence[int]) -> tuple[str, ...]:
    """Return the edits that changed senses of tokens that were read; () where a fact decides."""
    if case.fact is not None:
        return ()
    by_token = case.view.edits_by_token
    names = (name for token in (*case.prompt, *tokens) for name in by_token.get(token, ()))
    return tuple(dict.fromkeys(names))
