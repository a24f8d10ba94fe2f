"""Exact match of free generation, on the model as it will be served."""

import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from torch import Tensor
from transformers import T5ForConditionalGeneration

from models.nkb.answers import DecodedAnswer
from models.nkb.decode import Decoder
from models.nkb.reader import Subjects
from models.nkb.system import MAX_TOKENS
from models.scope.readings import dequantize, quantize
from models.training.base import Corpus
from models.training.calibrate import GradedAnswer
from models.training.states import BATCH
from models.training.subject_net import ASPECT, SubjectNet


@dataclass(frozen=True)
class Outcome:
    """One line with the model's answer, whether it is right to the letter, and whether the model ended it."""

    row: int
    answer: str
    grade: GradedAnswer


class Examiner:
    """A model that is asked lines of a corpus."""

    def __init__(
        self, t5: T5ForConditionalGeneration, tokenizer: Tokenizer, corpus: Corpus, subjects: Subjects
    ) -> None:
        self._t5, self._tokenizer, self._corpus, self._subjects = t5, tokenizer, corpus, subjects
        self._decoder = Decoder(t5)

    def ask(self, rows: Sequence[int]) -> list[Outcome]:
        """Answer the lines greedily, in their order."""
        order = sorted(rows, key=lambda row: len(self._corpus.lines[row].text))
        outcomes: dict[int, Outcome] = {}
        for start in range(0, len(order), BATCH):
            outcomes.update((outcome.row, outcome) for outcome in self._batch(order[start : start + BATCH]))
        return [outcomes[row] for row in rows]

    def _batch(self, rows: Sequence[int]) -> list[Outcome]:
        states, mask = self._corpus.states.batch(rows)
        answers = self._decoder.generate(self._t5.encoder(states), mask, max_tokens=MAX_TOKENS)
        near = self._subjects.nearest(self._subjects.key(*self._corpus.states.batch(rows)))[0].tolist()
        return [self._outcome(*parts) for parts in zip(rows, answers, near, strict=True)]

    def _outcome(self, row: int, decoded_answer: DecodedAnswer, near: float) -> Outcome:
        answer = self._tokenizer.decode(list(decoded_answer.tokens)).strip()
        expected = unicodedata.normalize("NFC", self._corpus.lines[row].answer)
        right = decoded_answer.finished and unicodedata.normalize("NFC", answer) == expected
        return Outcome(row, answer, GradedAnswer(decoded_answer.logprobs, near, right))


def share(outcomes: Sequence[Outcome]) -> float:
    """Return the exact match in per cent."""
    return 100 * sum(o.grade.right for o in outcomes) / max(1, len(outcomes))


def by_relation(outcomes: Sequence[Outcome], relation_of_row: Sequence[str]) -> dict[str, tuple[int, float]]:
    """Return number of questions and exact match of each relation."""
    groups: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        groups[relation_of_row[outcome.row]].append(outcome)
    return {relation: (len(group), share(group)) for relation, group in sorted(groups.items())}


@torch.no_grad()
def taught_subjects(net: SubjectNet, corpus: Corpus, rows_by_subject: Sequence[Sequence[int]]) -> Tensor:
    """Compute the mean reading of each subject over its training texts, packed as in the checkpoint."""
    readings = [corpus.states.key(net, rows)[:, :ASPECT].mean(0) for rows in rows_by_subject]
    return quantize(F.normalize(torch.stack(readings), dim=-1))


def served_weights(net: SubjectNet) -> dict[str, Tensor]:
    """Return the tensors of subjects.safetensors: the subject's reading alone."""
    return {"attend": net.attend.weight[:1], "read": net.read_subject.weight}


def subjects(net: SubjectNet, centres: Tensor) -> Subjects:
    return Subjects.from_weights(served_weights(net), dequantize(centres))
