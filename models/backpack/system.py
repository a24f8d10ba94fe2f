"""`backpack`: a Backpack language model as a system that answers by completion, foresees, streams and routes questions.

Hewitt et al., arXiv:2305.16765. Its memory is models/backpack/memory.py.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from models.backpack.answering.candidates import rank, score_candidates
from models.backpack.answering.completion import Completion, Task, complete
from models.backpack.answering.confidence import choice_features, free_features
from models.backpack.answering.drawing import Draft, draw
from models.backpack.answering.explain import explain
from models.backpack.answering.foresight import PROBE_FOLDER, ForesightRouter
from models.backpack.answering.reader import DEFAULT, MAX_TOKENS, Reader
from models.backpack.editing.fact import read_rows
from models.backpack.editing.rows import TextEdits, complete_rows
from models.backpack.inspection.senses import show_senses
from models.backpack.inspection.study import measure_bias
from models.backpack.memory import SENSES, SensesMemory, SensesView
from models.memory import Views
from models.nkb.answers import DecodedAnswer, share_remainder
from models.packs.probes import pack_probes
from models.scope.probe_index import ProbeIndex
from models.scope.scope import Match
from models.senses import BiasInquiry, BiasReport, SensesInquiry, WordSenses
from models.system import UNSURE, Alternative, AnswerDelta, Ask, Bundle, Input, Probes, Reason, Reply

WORDLESS = Reason("wordless", "The model wrote no word.")


@dataclass(frozen=True)
class Case:
    """One question with all that its answer follows from.

    Attributes:
        ask: The question.
        view: The memory at the version that is asked.
        match: The edit that the question asks for, or nearly does; None where no edit is near.
        fact: That edit if it answers; None if it is merely near.
        prompt: Tokens of the question.
        truncated: Whether the question was cut.
        edits: Edits of senses that act on its text; None if there are none.
        limit: Most tokens of its answer.
    """

    ask: Ask
    view: SensesView
    match: Match | None
    fact: Match | None
    prompt: Sequence[int]
    truncated: bool
    edits: TextEdits | None
    limit: int

    @property
    def task(self) -> Task:
        """Return the text to complete. A fact has one answer, so it has no alternatives."""
        return Task(self.prompt, self.limit, 1 if self.fact else self.ask.top_k, self.edits)


class BackpackSystem(ForesightRouter):
    """The default checkpoint with its editable senses.

    Args:
        reader: The checkpoint.
    """

    name = "backpack"
    memories = (SENSES,)
    inputs: frozenset[Input] = frozenset({"candidates", "sampling"})

    def __init__(self, reader: Reader) -> None:
        super().__init__(reader)

    @property
    def probes(self) -> Probes:
        """Return the questions of the pack that the checkpoint was trained on."""
        return pack_probes()

    @torch.inference_mode()
    def answer(self, asks: Sequence[Ask], views: Sequence[Views]) -> list[Reply]:
        """Answer questions: those without candidates in one batch, and drawn ones separately."""
        cases = self._prepare(asks, views)
        free = [
            place for place, case in enumerate(cases) if not case.ask.candidates and case.ask.sampling is None
        ]
        replies = dict(zip(free, self._answer_freely([cases[place] for place in free]), strict=True))
        return [
            replies[place] if place in replies else self._answer_alone(case)
            for place, case in enumerate(cases)
        ]

    @torch.inference_mode()
    def stream(self, ask: Ask, views: Views) -> Iterator[AnswerDelta | Reply]:
        """Yield an answer token by token.

        A fact's tokens are yielded as they are said, and so are those of a drawn answer, which is given whatever its
        score. Whether any other answer is withheld is known at its end alone, so its tokens are yielded then; before
        that the deltas tell how many there are.
        """
        (case,) = self._prepare([ask], [views])
        if ask.candidates:
            reply = self._choose(case)
            yield AnswerDelta(reply.answer or "")
            yield reply
            return
        if ask.sampling is not None:
            yield from self._stream_draft(case)
            return
        settle, text = self.reader.speller.settle, ""
        completion = Completion(self.reader.model, [case.task], self.reader.speller.stop)
        is_going = True
        while is_going:
            tokens = completion.answers[0].tokens
            if case.fact is None:
                yield AnswerDelta(progress={"tokens": len(tokens)})
            elif len(longer := settle(tokens)) > len(text):
                yield AnswerDelta(longer[len(text) :])
                text = longer
            is_going = completion.advance()
        (reply,) = self._reply_to([case], completion.answers)
        tokens = completion.answers[0].tokens if reply.answer else ()
        for longer in [*(settle(tokens[:count]) for count in range(1, len(tokens))), reply.answer or ""]:
            if len(longer) > len(text):
                yield AnswerDelta(longer[len(text) :])
                text = longer
        yield reply

    def show_senses(self, inquiry: SensesInquiry, views: Views) -> WordSenses:
        """Return the senses of a word at a version."""
        return show_senses(self.reader, inquiry, views[SENSES])

    def measure_bias(self, inquiry: BiasInquiry, views: Views) -> BiasReport:
        """Return which sense carries the difference between words, and what multipliers on it do."""
        return measure_bias(self.reader, inquiry, views[SENSES])

    def describe(self) -> Mapping[str, Any]:
        """Return sizes, checkpoint and scope for /v1/models."""
        model, config = self.reader.model, self.reader.model.config
        return {
            "checkpoint": self.reader.digest,
            "engine": "torch",
            "parameters": sum(parameter.numel() for parameter in model.parameters()),
            "senses": config.senses,
            "width": config.width,
            "layers": config.layers,
            "vocabulary": config.words,
            "positions": config.positions,
            "unsure_below": self.reader.scales["free"].threshold,
            "scope": self.reader.scope.describe(),
        }

    def _prepare(self, asks: Sequence[Ask], views: Sequence[Views]) -> list[Case]:
        """Find the edit that each question asks for, and the edits of senses that act on its text."""
        memories: list[SensesView] = [view[SENSES] for view in views]
        if not asks:
            return []
        readings = self.reader.readings([ask.question for ask in asks])
        matches = self.reader.scope.match(readings, [memory.active_edits for memory in memories])
        return [
            self._prepare_fact(ask, view, match)
            if match is not None and self.reader.scope.opens(match)
            else self._prepare_base(ask, view, match)
            for ask, view, match in zip(asks, memories, matches, strict=True)
        ]

    def _prepare_base(self, ask: Ask, view: SensesView, near: Match | None) -> Case:
        prompt, truncated = self.reader.ask(ask.question, self._count_wanted(ask))
        edits = None if view.overlay is None else TextEdits(view.overlay)
        return Case(ask, view, near, None, prompt, truncated, edits, MAX_TOKENS)

    def _count_wanted(self, ask: Ask) -> int:
        """Return the tokens of a drawn answer that a prompt leaves room for: those wanted, of half of the positions."""
        n_wanted = 0 if ask.sampling is None else ask.sampling.max_tokens or 0
        return min(n_wanted, self.reader.model.config.positions // 2)

    def _prepare_fact(self, ask: Ask, view: SensesView, fact: Match) -> Case:
        """Complete the rows of a fact for the wording in which it is asked for."""
        model = self.reader.model
        answer, rows = read_rows(fact.block, model.embedding.device)
        prompt, truncated = self.reader.ask(ask.question, max(len(answer), self._count_wanted(ask)))
        rows = complete_rows(model, prompt, answer, rows, view.overlay)
        edits = TextEdits(view.overlay, rows)
        return Case(ask, view, fact, fact, prompt, truncated, edits, max(MAX_TOKENS, len(answer)))

    def _answer_freely(self, cases: Sequence[Case]) -> list[Reply]:
        if not cases:
            return []
        tasks = [case.task for case in cases]
        return self._reply_to(cases, complete(self.reader.model, tasks, self.reader.speller.stop))

    def _reply_to(self, cases: Sequence[Case], answers: Sequence[DecodedAnswer]) -> list[Reply]:
        replies = [self._reply(case, answer) for case, answer in zip(cases, answers, strict=True)]
        shifts = self._find_shifts(cases, answers)
        return [
            replace(
                reply,
                edits=(*reply.edits, *shifts.get(place, ())),
                explanation=self._explain(case, answer.tokens) if case.ask.explain else None,
            )
            for place, (case, answer, reply) in enumerate(zip(cases, answers, replies, strict=True))
        ]

    def _reply(self, case: Case, answer: DecodedAnswer) -> Reply:
        say, scale = self.reader.speller.say, self.reader.scales["free"]
        best = say(answer.tokens)
        score = scale.score(free_features(answer.logprobs)) if case.fact is None else case.fact.probability
        is_sure = case.fact is not None or (answer.finished and best != "" and score >= scale.threshold)
        runners_up = answer.alternatives
        shares = share_remainder(1 - score, [sum(other.logprobs) for other in runners_up])
        alternatives = [
            Alternative(say(other.tokens), share) for other, share in zip(runners_up, shares, strict=True)
        ]
        return self._write(case, best, score, is_sure, alternatives)

    def _answer_alone(self, case: Case) -> Reply:
        if case.ask.candidates:
            return self._choose(case)
        (draft,) = deque(self._draw(case), maxlen=1)
        return self._reply_drawn(case, draft)

    def _stream_draft(self, case: Case) -> Iterator[AnswerDelta | Reply]:
        text = ""
        for draft in self._draw(case):
            if len(draft.text) > len(text):
                yield AnswerDelta(draft.text[len(text) :])
                text = draft.text
        yield self._reply_drawn(case, draft)

    def _draw(self, case: Case) -> Iterator[Draft]:
        """Yield a drawn answer as it grows, up to the caller's limit or the last position."""
        assert case.ask.sampling is not None, "an answer is drawn if its question says how"
        model, speller = self.reader.model, self.reader.speller
        limit = min(case.ask.sampling.max_tokens or case.limit, model.config.positions - len(case.prompt))
        return draw(model, speller, case.prompt, case.ask.sampling, limit, case.edits)

    def _reply_drawn(self, case: Case, draft: Draft) -> Reply:
        """Return a drawn answer, which is not withheld; it rests on all edits that acted on its text."""
        score = self.reader.scales["free"].score(free_features(draft.logprobs))
        if case.fact is not None and self.reader.speller.answer(draft.text) == _answer_of(case.fact):
            score = case.fact.probability
        reply = self._write(case, draft.text, score, draft.text != "", ())
        return replace(
            reply,
            reason=None if draft.text else WORDLESS,
            edits=(*reply.edits, *_edits_of(case, draft.tokens)),
            explanation=self._explain(case, draft.tokens) if case.ask.explain else None,
            finish=draft.finish,
            tokens=draft.scores,
        )

    def _choose(self, case: Case) -> Reply:
        """Rank the candidates of a question by their probability."""
        candidates, speller = case.ask.candidates, self.reader.speller
        tokens = [speller.answer(candidate) for candidate in candidates]
        scores = score_candidates(self.reader.model, case.prompt, tokens, case.edits)
        order, _ = rank(scores)
        best, scale = candidates[order[0]], self.reader.scales["choice"]
        score = scale.score(choice_features(scores))
        if case.fact is not None and speller.answer(best) == _answer_of(case.fact):
            score = case.fact.probability
        runners_up = order[1 : case.ask.top_k]
        shares = share_remainder(1 - score, [scores[place] for place in runners_up])
        alternatives = [
            Alternative(candidates[place], share) for place, share in zip(runners_up, shares, strict=True)
        ]
        reply = self._write(case, best, score, score >= scale.threshold, alternatives)
        explanation = self._explain(case, tokens[order[0]]) if case.ask.explain else None
        return replace(
            reply,
            edits=(*reply.edits, *self._shift_of_choice(case, tokens, order[0])),
            explanation=explanation,
        )

    def _write(
        self, case: Case, best: str, score: float, is_sure: bool, alternatives: Sequence[Alternative]
    ) -> Reply:
        near = case.match if case.fact is None else None
        return Reply(
            best if is_sure else None,
            score,
            best,
            None if is_sure else UNSURE,
            () if case.fact is None else (case.fact.edit,),
            tuple(sorted(alternatives, key=lambda alternative: -alternative.score)),
            case.truncated,
            nearby_edit=None if near is None else near.nearby_edit,
            wording="" if case.fact is None else case.fact.wording,
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
        order, _ = rank(score_candidates(self.reader.model, case.prompt, candidates))
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


def load(device: torch.device, dtype: torch.dtype, folder: Path = DEFAULT) -> Bundle:
    """Load the checkpoint in `folder`; it computes in float32, whatever the dtype.

    Raises:
        CheckpointError: A file is missing, damaged or not of this checkpoint, the pack's questions among them.
    """
    del dtype  # in bfloat16 a cached step differs from a whole text by more than the margins of edits
    ProbeIndex.load(PROBE_FOLDER, None)
    reader = Reader.load(folder, device)
    return Bundle(BackpackSystem(reader), (SensesMemory(reader),))
