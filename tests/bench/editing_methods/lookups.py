"""The methods of methods/nearest.py behind the face of an editor."""

import hashlib
import statistics
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from tests.bench.editing_methods.draw import EditRequest
from tests.bench.editing_methods.editors import EditedModel, mean
from tests.bench.editing_methods.methods.nearest import Lookup
from tests.bench.editing_methods.model import Model, Reply, batches

ALONE = 7  # edits that are timed one by one


@dataclass(frozen=True)
class LookupEditor:
    """Keeps the sentence vector and the answer of each edit."""

    model: Model
    lookup: Lookup

    @property
    def name(self) -> str:
        return self.lookup.name

    def fresh_copy(self) -> "LookupEditor":
        return self

    def apply(self, requests: Sequence[EditRequest]) -> EditedModel:
        vectors = [
            question.vector for question in self.model.read([request.question for request in requests])
        ]
        seconds = [self._time_alone(request.question) for request in requests[:ALONE]]
        return EditedLookup(self, tuple(requests), tuple(vectors), 1e3 * statistics.median(seconds or [0]))

    @torch.inference_mode()
    def _time_alone(self, question: str) -> float:
        """Return the seconds of encoding a question: all that an edit takes."""
        start = time.perf_counter()
        self.model.reader.encoder.encode([question])
        return time.perf_counter() - start


@dataclass(frozen=True)
class EditedLookup:
    editor: LookupEditor
    requests: tuple[EditRequest, ...]
    vectors: tuple[Float[Tensor, " d"], ...]
    edit_ms: float
    rows_per_slot: float = 0.0

    @torch.inference_mode()
    def say(self, questions: Sequence[str]) -> list[Reply]:
        places = self._look_up(questions)
        rest = [question for question, place in zip(questions, places, strict=True) if place is None]
        base = dict(zip(rest, self.editor.model.base(rest), strict=True))
        texts = [
            base[question] if place is None else self.requests[place].answer
            for question, place in zip(questions, places, strict=True)
        ]
        return [Reply(text, text) for text in texts]

    def _look_up(self, questions: Sequence[str]) -> list[int | None]:
        """Return the place of the edit that answers each question; of equal ones the later."""
        if not self.vectors:
            return [None] * len(questions)
        wordings, lookup = torch.stack(self.vectors).flip(0), self.editor.lookup
        places: list[int | None] = []
        for batch in batches(self.editor.model.read(questions)):
            best = lookup.score(torch.stack([question.vector for question in batch]), wordings).max(1)
            places += [
                len(self.vectors) - 1 - place if score >= lookup.threshold else None
                for score, place in zip(best.values.tolist(), best.indices.tolist(), strict=True)
            ]
        return places

    def with_only(self, ids: Collection[str]) -> "EditedLookup":
        pairs = [(r, v) for r, v in zip(self.requests, self.vectors, strict=True) if r.id in ids]
        return replace(self, requests=tuple(r for r, _ in pairs), vectors=tuple(v for _, v in pairs))

    def without_cache(self) -> "EditedLookup":
        return replace(self, editor=replace(self.editor, model=Model(self.editor.model.reader)))

    @property
    def applied(self) -> frozenset[str]:
        return frozenset(request.id for request in self.requests)

    @property
    def bytes_per_edit(self) -> float:
        pairs = zip(self.requests, self.vectors, strict=True)
        return mean([vector.nbytes + len(request.answer.encode()) for request, vector in pairs])

    @property
    def digest(self) -> str:
        total = hashlib.sha256()
        for request, vector in zip(self.requests, self.vectors, strict=True):
            total.update(vector.numpy().tobytes() + request.answer.encode())
        return total.hexdigest()
