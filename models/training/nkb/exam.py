"""The exam of nkb: answers of the bare model while it is trained, the scale fitted on them, and edits of its bank.

An answer is right to the letter, and only if the model ended it itself.
"""

import math
import random
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tokenizers import Tokenizer
from transformers import T5ForConditionalGeneration

from models import confidence as scales
from models.confidence import Confidence
from models.kit.decoded import features
from models.memory import AnswerChange
from models.nkb.decode import Decoder
from models.nkb.reader import Subjects
from models.nkb.system import MAX_TOKENS
from models.packs.pack import Item
from models.system import Ask
from models.training.kit.card import percent
from models.training.kit.exam import Case, Question
from models.training.nkb.learning import Corpus
from models.training.nkb.states import BATCH
from models.training.nkb.texts import Texts

DECAY, ITERATIONS = 1e-4, 200
MOST_ASKED = 1000  # questions of each kind of bystander


@dataclass(frozen=True)
class GradedAnswer:
    """The features of an answer, and whether it was right."""

    features: tuple[float, ...]
    right: bool


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
        for start in range(0, len(order), BATCH):
            part = order[start : start + BATCH]
            states, mask = self.corpus.states.batch(part)
            near = self.subjects.nearest(self.subjects.key(states, mask))[0].tolist()
            decoded_answers = decoder.generate(self.t5.encoder(states), mask, max_tokens=MAX_TOKENS)
            for row, answer, familiarity in zip(part, decoded_answers, near, strict=True):
                text = _normalize(self.tokenizer.decode(list(answer.tokens)).strip())
                right = answer.finished and text == _normalize(self.corpus.lines[row].answer)
                answers.append(GradedAnswer(features(answer.logprobs, familiarity), right))
        return answers

    def share(self, rows: Sequence[int]) -> dict[str, float]:
        """Return the number of lines, and the share that is answered rightly before any threshold."""
        answers = self.ask(rows)
        return {"n": len(answers), "exact": percent(answer.right for answer in answers)}


def _normalize(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def fit(familiar: Sequence[GradedAnswer], strangers: Sequence[GradedAnswer], most_wrong: float) -> Confidence:
    """Fit logistic weights on both, and choose the lowest threshold that keeps wrong answers rare in each.

    Args:
        familiar: Answers about facts that were learned.
        strangers: Answers about names that were not; none of them is right.
        most_wrong: Share of each group that may be answered wrongly.
    """
    answers = [*familiar, *strangers]
    x, y = [answer.features for answer in answers], [answer.right for answer in answers]
    confidence = scales.fit(x, y, decay=DECAY, max_iterations=ITERATIONS)
    limits = [_least_threshold(confidence, group, most_wrong) for group in (familiar, strangers) if group]
    return replace(confidence, threshold=max(limits))


def _least_threshold(confidence: Confidence, answers: Sequence[GradedAnswer], most_wrong: float) -> float:
    """Return the lowest score from which at most this share of all answers is given and wrong."""
    n_allowed = int(most_wrong * len(answers))
    scores = sorted((confidence.score(a.features) for a in answers if not a.right), reverse=True)
    return math.nextafter(scores[n_allowed], 1.0) if n_allowed < len(scores) else 0.0


def draw_groups(texts: Texts) -> dict[str, list[Question]]:
    """Return the questions of each group that nothing was chosen by."""
    return {
        name: [Question(Ask(texts.lines[row].text), texts.lines[row].answer or None) for row in rows]
        for name, rows in texts.group_rows().items()
        if "tuning" not in name
    }


def draw_cases(items: Sequence[Item], targets: Sequence[int], seed: int) -> list[Case]:
    """Draw another answer of its relation for each target, and questions around all of them.

    Questions whose answer stays are about facts without an edit: of an edited relation and no edited subject, of an
    edited subject, and of any other subject. All edits are active at once, so it does not matter which case has them.
    """
    rng = random.Random(seed)
    answers = {index: answer for index in targets if (answer := _other_answer(items, index, rng))}
    stay = {
        kind: [Ask(_held_question(items[i], rng)) for i in rng.sample(group, min(MOST_ASKED, len(group)))]
        for kind, group in _bystanders(items, targets).items()
    }
    cases = []
    for place, (index, answer) in enumerate(answers.items()):
        question = items[index].relation.question(items[index].subject.label)
        reach = {"given": question, "held": _held_question(items[index], rng)}
        cases.append(
            Case(
                AnswerChange(str(index), question, answer),
                {kind: [Question(Ask(wording), answer)] for kind, wording in reach.items()},
                {kind: asks[place :: len(answers)] for kind, asks in stay.items()},
            )
        )
    return cases


def _bystanders(items: Sequence[Item], targets: Sequence[int]) -> dict[str, list[int]]:
    relations = {items[index].relation.id for index in targets}
    subjects = {items[index].subject.id for index in targets}
    rest = sorted(set(range(len(items))) - set(targets))
    far = [i for i in rest if items[i].subject.id not in subjects]
    return {
        "same_relation": [i for i in far if items[i].relation.id in relations],
        "same_subject": [i for i in rest if items[i].subject.id in subjects],
        "others": far,
    }


def _other_answer(items: Sequence[Item], index: int, rng: random.Random) -> str | None:
    """Return an answer of another fact of the relation; None if all have the same."""
    relation, answer = items[index].relation.id, items[index].answer
    answers = sorted({i.answer for i in items if i.relation.id == relation and i.answer != answer})
    return rng.choice(answers) if answers else None


def _held_question(item: Item, rng: random.Random) -> str:
    return rng.choice(item.relation.held_out).replace("{subject}", item.subject.label)
