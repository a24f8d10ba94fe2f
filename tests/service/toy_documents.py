"""A system that answers with the first word of a document."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from models.documents.memory import DOCUMENTS, Texts
from models.memory import Views
from models.system import UNSURE, Ask, Bundle, Input, Probes, Reply


class FirstWord:
    name, memories = "first-word", (DOCUMENTS,)
    inputs: frozenset[Input] = frozenset({"document"})
    probes = Probes()

    def answer(self, asks: Sequence[Ask], views: Sequence[Views]) -> list[Reply]:
        return [self._reply(ask, view[DOCUMENTS]) for ask, view in zip(asks, views, strict=True)]

    def _reply(self, ask: Ask, documents: Mapping[str, Any]) -> Reply:
        if ask.document not in documents:
            return Reply(None, 0.0, "", UNSURE)
        document = documents[ask.document]
        word = document.text.split()[0]
        return Reply(word, 1.0, word, edits=document.edits)

    def describe(self) -> Mapping[str, Any]:
        return {"engine": "split"}


def load(device: torch.device, dtype: torch.dtype) -> Bundle:
    return Bundle(FirstWord(), (Texts(),))
