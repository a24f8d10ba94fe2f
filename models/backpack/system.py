"""`backpack`: a Backpack language model as a system that answers by completion, foresees, streams and routes questions.

Hewitt et al., arXiv:2305.16765. Its memory is models/backpack/memory.py.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from models.backpack.drawing import Draft, draw
from models.backpack.editing.fact import read_rows
from models.backpack.editing.rows import TextEdits, complete_rows
from models.backpack.foresight import PROBE_FOLDER, ForesightRouter
from models.backpack.generate import Completion, Task, complete
from models.backpack.inspection import show_senses
from models.backpack.memory import SENSES, SensesMemory, SensesView
from models.backpack.reader import DEFAULT, MAX_TOKENS, Reader
from models.backpack.replies import Case, Replies
from models.memory import Views
from models.packs.pack import PackProbes
from models.scope.active import Match
from models.scope.probe_index import ProbeIndex
from models.senses import SensesInquiry, WordSenses
from models.system import AnswerDelta, Ask, Bundle, Input, Reply


class BackpackSystem(ForesightRouter, PackProbes):
    """The default checkpoint with its editable senses."""

    name = "backpack"
    memories = (SENSES,)
    inputs: frozenset[Input] = frozenset({"candidates", "sampling"})

    def __init__(self, reader: Reader) -> None:
        super().__init__(reader)
        self._replies = Replies(reader)

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
            reply = self._replies.choose(case)
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
        (reply,) = self._replies.complete([case], completion.answers)
        tokens = completion.answers[0].tokens if reply.answer else ()
        for longer in [*(settle(tokens[:count]) for count in range(1, len(tokens))), reply.answer or ""]:
            if len(longer) > len(text):
                yield AnswerDelta(longer[len(text) :])
                text = longer
        yield reply

    def show_senses(self, inquiry: SensesInquiry, views: Views) -> WordSenses:
        """Return the senses of a word at a version."""
        return show_senses(self.reader, inquiry, views[SENSES])

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
            self._prepare_case(ask, view, match)
            for ask, view, match in zip(asks, memories, matches, strict=True)
        ]

    def _prepare_case(self, ask: Ask, view: SensesView, match: Match | None) -> Case:
        """Lay out a question; the rows of a fact are completed for the wording in which it is asked for."""
        model = self.reader.model
        # A prompt leaves room for the tokens of a drawn answer that are wanted, of half of the positions.
        n_wanted = (
            0 if ask.sampling is None else min(ask.sampling.max_tokens or 0, model.config.positions // 2)
        )
        if match is None or not self.reader.scope.opens(match):
            prompt, truncated = self.reader.ask(ask.question, n_wanted)
            edits = None if view.overlay is None else TextEdits(view.overlay)
            return Case(ask, view, match, None, prompt, truncated, edits, MAX_TOKENS)
        answer, rows = read_rows(match.block, model.embedding.device)
        prompt, truncated = self.reader.ask(ask.question, max(len(answer), n_wanted))
        edits = TextEdits(view.overlay, complete_rows(model, prompt, answer, rows, view.overlay))
        return Case(ask, view, match, match, prompt, truncated, edits, max(MAX_TOKENS, len(answer)))

    def _answer_freely(self, cases: Sequence[Case]) -> list[Reply]:
        if not cases:
            return []
        tasks = [case.task for case in cases]
        return self._replies.complete(cases, complete(self.reader.model, tasks, self.reader.speller.stop))

    def _answer_alone(self, case: Case) -> Reply:
        if case.ask.candidates:
            return self._replies.choose(case)
        (draft,) = deque(self._draw(case), maxlen=1)
        return self._replies.draw(case, draft)

    def _stream_draft(self, case: Case) -> Iterator[AnswerDelta | Reply]:
        text = ""
        for draft in self._draw(case):
            if len(draft.text) > len(text):
                yield AnswerDelta(draft.text[len(text) :])
                text = draft.text
        yield self._replies.draw(case, draft)

    def _draw(self, case: Case) -> Iterator[Draft]:
        """Yield a drawn answer as it grows, up to the caller's limit or the last position."""
        assert case.ask.sampling is not None, "an answer is drawn if its question says how"
        model, speller = self.reader.model, self.reader.speller
        limit = min(case.ask.sampling.max_tokens or case.limit, model.config.positions - len(case.prompt))
        return draw(model, speller, Task(case.prompt, limit, edits=case.edits), case.ask.sampling)


def load(device: torch.device, dtype: torch.dtype, folder: Path = DEFAULT) -> Bundle:
    """Load the checkpoint in `folder`; it computes in float32, whatever the dtype.

    Raises:
        CheckpointError: A file is missing, damaged or not of this checkpoint, the pack's questions among them.
    """
    del dtype  # in bfloat16 a cached step differs from a whole text by more than the margins of edits
    ProbeIndex.load(PROBE_FOLDER, None)
    reader = Reader.load(folder, device)
    return Bundle(BackpackSystem(reader), (SensesMemory(reader),))
