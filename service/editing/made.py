"""Rows that were made of corrections and are in no commit yet, for whoever asks for the same ones next."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace

from models.memory import AnswerChange, Material
from service.measuring.materials import key as key_of

MOST_KEPT = 20_000  # corrections; about 10 kB each

Content = tuple[str, str, str, str, tuple[str, ...]]


class Made:
    """By what a correction says. An edit's id is in its block's key and not in its rows, so they serve any edit."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most = most
        self._kept: OrderedDict[Content, Material] = OrderedDict()

    def has(self, model: str, method: str, correction: AnswerChange) -> bool:
        """What is there is the newest now, so that it is not forgotten before it is taken."""
        content = _content(model, method, correction)
        if content in self._kept:
            self._kept.move_to_end(content)
        return content in self._kept

    def keep(self, model: str, method: str, correction: AnswerChange, made: Material) -> None:
        self._kept[_content(model, method, correction)] = made
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)

    def get(self, model: str, method: str, correction: AnswerChange) -> Material:
        made = self._kept[_content(model, method, correction)]
        block = replace(made.block, key=key_of(correction.id))
        return replace(made, edit=correction.id, block=block)


def _content(model: str, method: str, correction: AnswerChange) -> Content:
    return model, method, correction.question, correction.answer, correction.paraphrases
