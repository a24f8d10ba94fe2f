"""Mentions: names that two texts share get the same mark in both, so that a judge need not know the names.

Entity markers (Baldini Soares et al., arXiv:1906.03158), as learned vectors that are added to the embeddings: layers
that see where m1 and m2 stand compare who did what to whom in any two texts, whatever the names are.
"""

from collections.abc import Iterator

from models.scope.wordings.names import NAME, NO_WORD, Word, Words

N_MARKS = 4  # mentions of a pair that are told apart; further ones have no mark
NO_MARK = 0


def mark_mentions(first: Words, second: Words) -> bytes:
    """Return the mark of each token of two texts, one text behind the other, 1 to N_MARKS in the order of the first.

    Words that stand together in both texts are one mention. The special tokens around a text have no mark.
    """
    names = {
        word
        for text in (first, second)
        for word, name in zip(text.words, text.names, strict=True)
        if name >= NAME
    }
    shared = names & set(first.words) & set(second.words)
    together = set(zip(second.words, second.words[1:], strict=False))
    marks, last, n_mentions = dict[Word, int](), NO_WORD, 0
    for word in first.words:
        if word in shared and word not in marks:
            is_next = last in marks and (last, word) in together
            n_mentions += not is_next
            marks[word] = marks[last] if is_next else n_mentions
        last = word
    return bytes(mark for text in (first, second) for mark in _of_tokens(text, marks))


def _of_tokens(text: Words, marks: dict[Word, int]) -> Iterator[int]:
    yield NO_MARK
    for word in text.words:
        mark = marks.get(word, NO_MARK)
        yield from [mark if mark <= N_MARKS else NO_MARK] * len(word)
    yield NO_MARK
