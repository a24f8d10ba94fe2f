"""Which questions read a changed word, told without answering them anew.

Hewitt et al., arXiv:2305.16765, section 3: the senses of a word enter the output from the place on where it is read,
and no sense weight depends on them. So a greedy answer stays as it is unless the question, or the answer that was
given before, has a changed word.
"""

import threading
from collections.abc import Sequence, Set

import torch
from cachetools import LRUCache

from models.backpack.answering.completion import Task, complete
from models.backpack.answering.reader import MAX_TOKENS, Reader
from models.backpack.editing.operation import find_differing
from models.backpack.editing.rows import TextEdits
from models.backpack.memory import SensesView
from models.scope.scope import Match

ANSWERS_CACHED = 16_384  # questions with the tokens of their answers, 300 bytes each


def find_changed_tokens(before: SensesView, after: SensesView) -> Set[int]:
    """Return the tokens that have other senses, or the same ones from other edits, in two versions."""
    edits = before.edits_by_token, after.edits_by_token
    by_other_edits = {
        token for token in edits[0].keys() | edits[1].keys() if edits[0].get(token) != edits[1].get(token)
    }
    return by_other_edits | find_differing(before.overlay, after.overlay)


class Foresight:
    """Tells which questions read one of some tokens. Thread-safe.

    Args:
        reader: The checkpoint.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._answers: LRUCache[tuple[str, tuple[str, ...]], tuple[int, ...]] = LRUCache(ANSWERS_CACHED)
        self._lock = threading.Lock()

    @torch.inference_mode()
    def reads(
        self, tokens: Set[int], questions: Sequence[str], facts: Sequence[Match | None], view: SensesView
    ) -> list[bool]:
        """Return whether each question, or its answer at a version, has one of the tokens.

        Args:
            tokens: The tokens.
            questions: The questions.
            facts: The edit that answers each; None where the base does.
            view: The memory at the version.
        """
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
        """Keep the answers of questions that are answered alike at two versions for the second one, too."""
        with self._lock:
            for question in questions:
                answer = self._answers.get((question, before.changes))
                if answer is not None:
                    self._answers[question, after.changes] = answer

    def _answer(self, questions: Sequence[str], view: SensesView) -> list[tuple[int, ...]]:
        """Return the tokens of the answers that the base gives under the changes of a version."""
        with self._lock:
            known = {
                question: self._answers[question, view.changes]
                for question in questions
                if (question, view.changes) in self._answers
            }
        if missing := [question for question in dict.fromkeys(questions) if question not in known]:
            edits = None if view.overlay is None else TextEdits(view.overlay)
            tasks = [Task(self._reader.ask(question)[0], MAX_TOKENS, edits=edits) for question in missing]
            answers = complete(self._reader.model, tasks, self._reader.speller.stop)
            known |= {question: answer.tokens for question, answer in zip(missing, answers, strict=True)}
            with self._lock:
                self._answers.update(((question, view.changes), known[question]) for question in missing)
        return [known[question] for question in questions]
