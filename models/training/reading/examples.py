"""The questions of a step, each laid out beside a window of its text."""

import random
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from more_itertools import chunked

from models.encoder.minilm import MiniLM
from models.kit.text import CLS, MASK, SEP, Piece, WordPieces
from models.training.kit.plan import Plan
from models.training.reading.composed import PassageMaker
from models.training.reading.net import NO_ANSWER, Row
from models.training.reading.written.texts import PASSAGES, Question, Split, Text, read_texts
from models.training.reading.written.variants import Variation

N_NEAR = 8  # nearest questions about other texts, one of which is asked in vain
SPECIAL_TOKENS = 4  # [CLS], [MASK] and two [SEP]


class Examples:
    """Draws examples of written passages and documents, and of the passages of facts that `maker` composes."""

    def __init__(self, maker: PassageMaker, plan: Plan, tokens: WordPieces) -> None:
        self._maker, self._mixture, self._tokens = maker, plan.mixture, tokens
        self._length, self._question_room = plan.length, plan.question_room
        self._texts = read_sources("train")
        self._variation = Variation(self._texts, plan.mixture)
        self._places = [(t, q) for t, text in enumerate(self._texts) for q in range(len(text.questions))]
        self._near = find_near(self._texts)

    def __len__(self) -> int:
        return len(self._places)

    def draw(self, number: int, rng: random.Random) -> Row:
        """Draw a row: a passage of facts, or the written question of this number, changed in ways that keep it true."""
        if rng.random() < self._mixture.composed_share:
            return self._lay(*self._maker.compose(rng), rng)
        place, question_place = self._places[number]
        text = self._texts[place]
        if rng.random() < self._mixture.in_vain_share:
            other, other_place = self._places[rng.choice(self._near[number])]
            near = self._texts[other].questions[other_place].text
            text, question_place = replace(text, questions=(Question(near, None, None, "unanswerable"),)), 0
        text = self._variation.draw(text, rng)
        return self._lay(text, text.questions[question_place], rng)

    def _lay(self, text: Text, question: Question, rng: random.Random) -> Row:
        """Lay a question out beside a window of its text, which has the answer in most rows, if there is one."""
        question_pieces = self._tokens.split(question.text)[: self._question_room]
        pieces = self._tokens.split(text.text)
        room = self._length - len(question_pieces) - SPECIAL_TOKENS
        answer = find_tokens(pieces, question)
        begin = self._choose_window(len(pieces), room, answer, rng)
        window = pieces[begin : begin + room]
        offset = len(question_pieces) + SPECIAL_TOKENS - 1
        span = NO_ANSWER
        if answer is not None and begin <= answer[0] and answer[1] < begin + len(window):
            span = (offset + answer[0] - begin, offset + answer[1] - begin)
        cls, sep, mask = (self._tokens.tag(name).id for name in (CLS, SEP, MASK))
        question_ids, window_ids = ([piece.id for piece in part] for part in (question_pieces, window))
        ids = [cls, *question_ids, mask, sep, *window_ids, sep]
        return Row(ids, [len(question_pieces) + 1], [span], offset, offset + len(window))

    def _choose_window(
        self, n_tokens: int, room: int, answer: tuple[int, int] | None, rng: random.Random
    ) -> int:
        latest = max(0, n_tokens - room)
        if answer is None or rng.random() < self._mixture.elsewhere_share:
            return rng.randint(0, latest)
        return rng.randint(min(latest, max(0, answer[1] + 1 - room)), min(latest, answer[0]))


def read_sources(split: Split) -> list[Text]:
    """Return the written passages and documents of a split that have questions."""
    texts = [*read_texts(split), *read_texts(split, PASSAGES)]
    return [text for text in texts if text.questions]


def find_tokens(pieces: Sequence[Piece], question: Question) -> tuple[int, int] | None:
    """Return the first and the last token of an answer; None without one."""
    if question.answer is None or question.start is None:
        return None
    end = question.start + len(question.answer)
    inside = [place for place, piece in enumerate(pieces) if piece.start < end and piece.end > question.start]
    return (inside[0], inside[-1]) if inside else None


def find_near(texts: Sequence[Text]) -> list[list[int]]:
    """Return for each question, counted through all texts, the numbers of the most similar ones about other texts."""
    encoder = MiniLM()
    questions = [question.text for text in texts for question in text.questions]
    owners = np.repeat(np.arange(len(texts)), [len(text.questions) for text in texts])
    vectors = np.concatenate([encoder.encode(part).sentences.numpy() for part in chunked(questions, 64)])
    near = []
    for owner, vector in zip(owners, vectors, strict=True):
        cosines = np.where(owners == owner, -1.0, vectors @ vector)
        near.append(np.argpartition(-cosines, N_NEAR)[:N_NEAR].tolist())
    return near
