"""The exam: questions about whole documents that training has not seen, with and without the memory."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tokenizers import Tokenizer

from models.ernie_doc.answer import AnswerRule, answer
from models.ernie_doc.reader import Reader
from models.ernie_doc.windows import Chooser
from models.packs.pack import Pack
from models.reading.document import tokenize
from models.training.ernie_doc.composed import MIDDLE, build_world, compose, compose_long
from models.training.ernie_doc.examples import MOST_TOKENS
from models.training.reading.exam import exam_texts as read_hands
from models.training.reading.outcomes import Outcome
from models.training.reading.written.texts import HELD_HAND, Text

N_COMPOSED = 20  # documents made of the pack's facts, in an exam
READINGS: Mapping[str, Mapping[str, Any]] = {
    "with": {},
    "without": {"uses_memory": False},
    "alone": {"second": None},
}
"""Name of a way of reading -> its fields of an `AnswerRule`."""
MORE_READINGS = {
    "composed": ["without"],
    f"passages {HELD_HAND}": ["alone"],
    "documents": ["alone"],
}  # documents -> further ways of reading them
LONG_PARTS = 8  # parts of the longest documents, of 2,000 tokens each
N_ASKED = 25  # questions to one document of that length; each reads some 200 windows
N_CHOOSE = 12  # texts of each hand that are asked about to choose; all of them for the test
N_LONG = 2  # documents of that length


def choosing_texts(seed: int) -> dict[str, Sequence[Text]]:
    """Return the texts to choose by: some of each hand but the one that is held out, none made of the pack's facts."""
    rng, hands = random.Random(seed), read_hands("choose")
    return {hand: rng.sample(texts, min(N_CHOOSE, len(texts))) for hand, texts in hands.items() if texts}


def exam_texts(pack: Pack, seed: int) -> dict[str, Sequence[Text]]:
    """Return the texts of the exam: passages, documents, and composed ones of several lengths."""
    rng, world = random.Random(seed), build_world(pack, "test")
    longest = [compose_long(world, LONG_PARTS, rng) for _ in range(N_LONG)]
    return {
        **read_hands("test"),
        "composed": [compose(world, MIDDLE, rng) for _ in range(N_COMPOSED)],
        "2,000 tokens": [compose_long(world, 1, rng) for _ in range(N_COMPOSED // 2)],
        "20,000 tokens": [
            replace(text, questions=tuple(rng.sample(text.questions, N_ASKED))) for text in longest
        ],
    }


def examine(
    reader: Reader, chooser: Chooser, tokenizer: Tokenizer, texts: Sequence[Text], rule: AnswerRule
) -> list[Outcome]:
    """Ask all questions of all texts."""
    outcomes = []
    for text in texts:
        document = tokenize(text.text, tokenizer, MOST_TOKENS)
        for question in text.questions:
            result = answer(reader, chooser, document, question.text, tokenizer, rule)
            outcomes.append(Outcome(question, result.spans, len(result.choice.numbers)))
    return outcomes


def readings_of(name: str) -> list[str]:
    """Return the ways in which documents of a name are read."""
    return ["with", *MORE_READINGS.get(name, [])]
