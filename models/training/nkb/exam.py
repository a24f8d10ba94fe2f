"""The exam of nkb: answers of the bare model while it is trained, and the scale fitted on them.

An answer is right to the letter, and only if the model ended it itself.
"""

import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from more_itertools import chunked
from tokenizers import Tokenizer
from transformers import T5ForConditionalGeneration

from models import confidence as scales
from models.confidence import Confidence
from models.kit.decoded import features
from models.nkb.decode import Decoder
from models.nkb.reader import Subjects
from models.nkb.system import MAX_TOKENS
from models.training.kit.card import percent
from models.training.nkb.learning import Corpus
from models.training.nkb.states import BATCH

DECAY, ITERATIONS = 1e-4, 200


# The features of an answer, and whether it was right.
GradedAnswer: TypeAlias = tuple[tuple[float, ...], bool]


@dataclass(frozen=True)
class Examiner:
    """A bare model that is asked lines of a corpus, whose states are known."""

    t5: T5ForConditionalGeneration
    tokenizer: Tokenizer
    corpus: Corpus
    subjects: Subjects

    def ask(self, rows: Sequence[int]) -> list[GradedAnswer]:
        """Answer lines greedily; the shortest first."""
        decoder, answers = Decoder(self.t5), list[GradedAnswer]()
        order = sorted(rows, key=lambda row: len(self.corpus.lines[row].text))
        for part in chunked(order, BATCH):
            states, mask = self.corpus.states.batch(part)
            near = self.subjects.nearest(self.subjects.key(states, mask))[0].tolist()
            decoded_answers = decoder.generate(self.t5.encoder(states), mask, max_tokens=MAX_TOKENS)
            for row, answer, familiarity in zip(part, decoded_answers, near, strict=True):
                text = _normalize(self.tokenizer.decode(list(answer.tokens)).strip())
                right = answer.finished and text == _normalize(self.corpus.lines[row].answer)
                answers.append((features(answer.logprobs, familiarity), right))
        return answers

    def share(self, rows: Sequence[int]) -> dict[str, float]:
        """Return the number of lines, and the share that is answered rightly before any threshold."""
        answers = self.ask(rows)
        return {"n": len(answers), "exact": percent(is_right for _, is_right in answers)}


def _normalize(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def fit(familiar: Sequence[GradedAnswer], strangers: Sequence[GradedAnswer], most_wrong: float) -> Confidence:
    """Fit logistic weights on both, and choose the lowest threshold that keeps wrong answers rare in each.

    Args:
        familiar: Answers about facts that were learned.
        strangers: Answers about names that were not; none of them is right.
        most_wrong: Share of each group that may be answered wrongly.
    """
    x, y = zip(*familiar, *strangers, strict=True)
    confidence = scales.fit(x, y, decay=DECAY, max_iterations=ITERATIONS)
    limits = [_least_threshold(confidence, group, most_wrong) for group in (familiar, strangers) if group]
    return replace(confidence, threshold=max(limits))


def _least_threshold(confidence: Confidence, answers: Sequence[GradedAnswer], most_wrong: float) -> float:
    """Return the lowest score from which at most this share of all answers is given and wrong."""
    n_allowed = int(most_wrong * len(answers))
    scores = sorted((confidence.score(row) for row, is_right in answers if not is_right), reverse=True)
    return math.nextafter(scores[n_allowed], 1.0) if n_allowed < len(scores) else 0.0
