"""Questions without people: a span that a paragraph repeats is masked everywhere but once, and has to be found there.

Recurring span selection: Ram, Kirstain, Berant, Globerson and Levy (arXiv:2101.00438), section 3.1. A longer span hides
the shorter ones that lie in it. The commonest words of all paragraphs begin and end no span.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import groupby

from models.kit.names import is_inside_word
from models.kit.text import CLS, MASK, SEP, Piece, WordPieces
from models.training.reading.net import Row

MOST_WORDS = 8  # words of a span
N_COMMON = 150  # words that begin and end no span
LEAST_LETTERS = 3  # letters and digits of a word that begins or ends a span
MASKED_SHARE = 0.15  # share of the tokens that are masked, as in the paper
MOST_DRAWS = 1_000  # paragraphs that are tried for a row
SAMPLE = 4_000  # paragraphs whose words are counted

Words = Sequence[Sequence[Piece]]


class Pretext:
    """Makes rows of paragraphs of free text, each of `length` tokens at most."""

    def __init__(self, paragraphs: Sequence[str], tokens: WordPieces, length: int) -> None:
        self._paragraphs, self._tokens, self._length = paragraphs, tokens, length
        words = (word.lower() for text in paragraphs[:SAMPLE] for word in text.split())
        self._common = {word for word, _ in Counter(words).most_common(N_COMMON)}

    def draw(self, rng: random.Random) -> Row:
        """Draw a paragraph that repeats a span, and mask it.

        Raises:
            ValueError: Hardly any paragraph repeats a span.
        """
        for _ in range(MOST_DRAWS):
            text = rng.choice(self._paragraphs)
            pieces = self._tokens.split(text)
            start = rng.randrange(max(1, len(pieces) - self._length // 2))
            words = split_words(text, pieces[start : start + self._length - 2])
            row = self._mask(text, words, rng)
            if row.asks:
                return row
        raise ValueError(f"of {MOST_DRAWS} paragraphs none repeats a span: give longer texts")

    def _mask(self, text: str, words: Words, rng: random.Random) -> Row:
        clusters = self._find_clusters(text, words)
        rng.shuffle(clusters)
        room = MASKED_SHARE * sum(map(len, words))
        spans: dict[int, tuple[int, int]] = {}  # first word of a masked span -> word behind it, its cluster
        clear: dict[int, tuple[int, int]] = {}  # cluster -> words of the occurrence that stays
        for number, cluster in enumerate(clusters):
            size = sum(len(word) for first, last in cluster[1:] for word in words[first:last])
            if size > room:
                continue
            room -= size
            clear[number] = rng.choice(cluster)
            spans |= {first: (last, number) for first, last in cluster if (first, last) != clear[number]}
        return self._lay(words, spans, clear)

    def _lay(self, words: Words, spans: dict[int, tuple[int, int]], clear: dict[int, tuple[int, int]]) -> Row:
        mask = self._tokens.tag(MASK).id
        ids, asks, numbers, places = [self._tokens.tag(CLS).id], [], [], {}
        word = 0
        while word < len(words):
            places[word] = len(ids)
            if word in spans:
                asks.append(len(ids))
                ids.append(mask)
                word, number = spans[word]
                numbers.append(number)
            else:
                ids += [piece.id for piece in words[word]]
                word += 1
        places[word] = len(ids)
        answers = [(places[clear[number][0]], places[clear[number][1]] - 1) for number in numbers]
        return Row([*ids, self._tokens.tag(SEP).id], asks, answers, 1, len(ids))

    def _find_clusters(self, text: str, words: Words) -> list[list[tuple[int, int]]]:
        """Return the places of each span that is there at least twice, as first word and word behind it."""
        names = [text[word[0].start : word[-1].end].lower() for word in words]
        may_bound = [
            name not in self._common and sum(map(str.isalnum, name)) >= LEAST_LETTERS for name in names
        ]
        is_free = [True] * len(names)
        clusters = []
        for size in range(MOST_WORDS, 0, -1):
            by_words = defaultdict(list)
            for first in range(len(names) - size + 1):
                last = first + size
                if may_bound[first] and may_bound[last - 1] and all(is_free[first:last]):
                    by_words[tuple(names[first:last])].append((first, last))
            for places in by_words.values():
                cluster: list[tuple[int, int]] = []
                for first, last in places:
                    if all(is_free[first:last]) and (not cluster or cluster[-1][1] <= first):
                        cluster.append((first, last))
                if len(cluster) > 1:
                    clusters.append(cluster)
                    for first, last in cluster:
                        is_free[first:last] = [False] * size
        return clusters


def split_words(text: str, pieces: Sequence[Piece]) -> Words:
    """Return the tokens of each word."""
    number = 0
    numbers = []
    for piece in pieces:
        number += not is_inside_word(text, piece.start)
        numbers.append(number)
    groups = groupby(zip(numbers, pieces, strict=True), key=lambda pair: pair[0])
    return [[piece for _, piece in group] for _, group in groups]
