"""Finds the questions that read a changed word, without answering them again.

Hewitt et al., arXiv:2305.16765, section 3: the senses of a word enter the output from the place on where it is read,
and no sense weight depends on them. So a greedy answer stays as it is unless the question, or the answer that was
given before, has a changed word.
"""

from collections.abc import Sequence, Set
from functools import cached_property

import torch

from models.backpack.editing.overlay import find_differing
from models.backpack.editing.rows import TextEdits
from models.backpack.generate import Task, complete
from models.backpack.memory import SENSES, SensesView
from models.backpack.reader import DEFAULT, MAX_TOKENS, Reader
from models.kit.batching import Cache
from models.memory import Views
from models.scope.active import Match
from models.scope.change import Change
from models.scope.probe_index import ProbeIndex
from models.scope.router import Router
from models.system import Side

PROBE_FOLDER = DEFAULT.with_name("nkb")  # the checkpoint beside which the pack's questions lie
ANSWERS_CACHED = 16_384  # questions with the tokens of their answers, 300 bytes each


def find_changed_tokens(before: SensesView, after: SensesView) -> Set[int]:
    """Return the tokens that have other senses, or the same ones from other edits, in two versions."""
    edits = before.edits_by_token, after.edits_by_token
    by_other_edits = {
        token for token in edits[0].keys() | edits[1].keys() if edits[0].get(token) != edits[1].get(token)
    }
    return by_other_edits | find_differing(before.overlay, after.overlay)


class Foresight:
    """Tells which questions read one of some tokens. Threads may share it."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._answers: Cache[tuple[str, tuple[str, ...]], tuple[int, ...]] = Cache(ANSWERS_CACHED)

    @torch.inference_mode()
    def reads(
        self, tokens: Set[int], questions: Sequence[str], facts: Sequence[Match | None], view: SensesView
    ) -> list[bool]:
        """Return whether each question, or its answer at a version, has one of the tokens."""
        answers = [[] if fact is None else fact.block.tensors["answer"].tolist() for fact in facts]
        prompts = [
            self._reader.ask(question, len(answer))[0]
            for question, answer in zip(questions, answers, strict=True)
        ]
        has_token = [
            not tokens.isdisjoint([*prompt, *answer]) for prompt, answer in zip(prompts, answers, strict=True)
        ]
        open_places = [place for place, fact in enumerate(facts) if fact is None and not has_token[place]]
        texts = [questions[place] for place in open_places]
        for place, answer in zip(open_places, self._answer(texts, view), strict=True):
            has_token[place] = not tokens.isdisjoint(answer)
        return has_token

    def carry_over(self, questions: Sequence[str], before: SensesView, after: SensesView) -> None:
        """Keep the base's answers to questions that are answered alike at two versions for the second one, too."""
        answers = zip(questions, self._answer(questions, before), strict=True)
        self._answers.keep({(question, after.changes): answer for question, answer in answers})

    def _answer(self, questions: Sequence[str], view: SensesView) -> list[tuple[int, ...]]:
        """Return the tokens of the answers that the base gives under the changes of a version."""

        def compute(keys: Sequence[tuple[str, tuple[str, ...]]]) -> list[tuple[int, ...]]:
            edits = None if view.overlay is None else TextEdits(view.overlay)
            tasks = [Task(self._reader.ask(question)[0], MAX_TOKENS, edits=edits) for question, _ in keys]
            answers = complete(self._reader.model, tasks, self._reader.speller.stop)
            return [answer.tokens for answer in answers]

        keys = [(question, view.changes) for question in questions]
        answers = self._answers.of(keys, compute)
        return [answers[key] for key in keys]


class ForesightRouter(Router):
    """Implements `PredictsAffected` and `ForeseesTaught`, and the capabilities of a system with a scope."""

    def __init__(self, reader: Reader) -> None:
        self.reader, self._foresight = reader, Foresight(reader)
        super().__init__(reader.scope, reader.readings, SENSES)

    @torch.inference_mode()
    def may_differ(self, before: Side, after: Side) -> list[bool]:
        """Return False where both sides route a question alike and it reads no word with other senses."""
        questions = [ask.question for ask in before.asks]
        if not questions:
            return []
        old, new = before.views[SENSES], after.views[SENSES]
        [differs] = self.find_rerouted(questions, old.active_edits, new.active_edits)
        changed = find_changed_tokens(old, new)
        if not changed:
            return differs
        is_free = [ask.top_k == 1 and not ask.candidates for ask in before.asks]
        places = [place for place, is_plain in enumerate(is_free) if is_plain and not differs[place]]
        texts = [questions[place] for place in places]
        routes = self.find_routes(texts, [old.active_edits] * len(texts))
        reads = self._foresight.reads(changed, texts, routes, old)
        stay = {place for place, is_read in zip(places, reads, strict=True) if not is_read}
        by_base = [
            text
            for text, route, is_read in zip(texts, routes, reads, strict=True)
            if route is None and not is_read
        ]
        self._foresight.carry_over(by_base, old, new)
        return [place not in stay for place in range(len(questions))]

    @torch.inference_mode()
    def find_affected(self, before: Views, after: Views) -> list[str] | None:
        """Return the pack's questions that changed facts may answer.

        None after a change of senses, which reaches each answer with the word, and between tables that share no rows.
        """
        old, new = before[SENSES], after[SENSES]
        is_comparable = old.active_edits.generation == new.active_edits.generation
        if not is_comparable or find_changed_tokens(old, new):
            return None
        wordings = Change.between(old.active_edits, new.active_edits).wordings
        scope = self.reader.scope
        return self._probe_index.near(wordings, scope.min_cosine)

    @cached_property
    def _probe_index(self) -> ProbeIndex:
        """Return the pack's questions as the scope's encoder reads them, which is the same for all systems."""
        return ProbeIndex.load(PROBE_FOLDER, None, self.reader.model.embedding.device)
