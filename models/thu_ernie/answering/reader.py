"""Everything that an answer needs, and the passes of the encoder.

Rows of one pass are of like length; what is computed of a text depends on no other text and on no padding (1e-5).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import torch
from jaxtyping import Float
from torch import Tensor

from models.confidence import Confidence
from models.thu_ernie.alignment import Vocabulary
from models.thu_ernie.answering.layout import MaskedRow, WindowRow
from models.thu_ernie.answering.network import ErnieAnswers
from models.thu_ernie.answering.rows import BatchRows
from models.thu_ernie.entities.table import EntityTable, EntityView
from models.thu_ernie.row import Row, collate

TOKENS_PER_PASS = {"cpu": 1_024, "cuda": 16_384}
SCALES = ("neighbours", "answers", "span")  # kinds of answers, each with a scale of its own


@dataclass(frozen=True)
class Settings:
    """How a checkpoint reads.

    Attributes:
        question_room: Tokens of a question.
        subjects: Entities of a question that are tried as its subject.
        window: Tokens of a window of a passage, with the question.
        stride: Tokens that two windows share.
        longest: Tokens of a span.
        n_best: Spans that are compared.
    """

    question_room: int
    subjects: int
    window: int
    stride: int
    longest: int
    n_best: int


@dataclass(frozen=True)
class Model:
    """A checkpoint. Thread-safe: nothing of it changes.

    Attributes:
        network: The weights, in evaluation mode.
        vocabulary: Word pieces.
        table: Rows of entities without edits.
        answers: Every answer of the facts that it was trained on -> the name of its row.
        settings: How it reads.
        confidences: Scale of each kind of answer.
        digest: Digest of the folder it came from; "" where it came from none.
    """

    network: ErnieAnswers
    vocabulary: Vocabulary
    table: EntityTable
    answers: Mapping[str, str]
    settings: Settings
    confidences: Mapping[str, Confidence]
    digest: str = ""
    names: Mapping[str, str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        names = {answer.casefold(): name for answer, name in self.answers.items()}
        object.__setattr__(self, "names", names)

    @property
    def device(self) -> torch.device:
        """Return where the network computes."""
        return self.network.qa_outputs.weight.device

    @torch.inference_mode()
    def query(self, rows: Sequence[MaskedRow], vectors: Mapping[str, Tensor]) -> Float[Tensor, "row size"]:
        """Return what each mask is compared with rows by, in float32 on the CPU."""
        queries = torch.zeros(len(rows), self.network.config.entity_size)
        for places in self._passes([row.row for row in rows]):
            batch = collate(
                [rows[place].row for place in places], self._rows(vectors), self._padding, self.device
            )
            masks = torch.tensor([rows[place].place for place in places], device=self.device)
            queries[places] = self.network.query(batch, masks).float().cpu()
        return queries

    @torch.inference_mode()
    def point(
        self, rows: Sequence[WindowRow], vectors: Mapping[str, Tensor]
    ) -> list[Float[Tensor, "token 2"]]:
        """Return the start and end logits of each token, in float32 on the CPU; at place 0 those of no answer."""
        logits: dict[int, Tensor] = {}
        for places in self._passes([row.row for row in rows]):
            batch = collate(
                [rows[place].row for place in places], self._rows(vectors), self._padding, self.device
            )
            for place, values in zip(places, self.network.point(batch).float().cpu(), strict=True):
                logits[place] = values[: len(rows[place].row.tokens)]
        return [logits[place] for place in range(len(rows))]

    def rows_of_answers(self, view: EntityView) -> Float[Tensor, "answer size"]:
        """Return the row of each known answer at a version."""
        if not view.edits:
            return self._base_rows
        rows = self._base_rows.clone()
        for place, name in enumerate(self.answers.values()):
            if (row := view.row_of(name)) in view.vectors:
                rows[place] = view.vectors[row]
        return rows

    @cached_property
    def _base_rows(self) -> Float[Tensor, "answer size"]:
        numbers = [self.table.names.row_of(name) for name in self.answers.values()]
        return self.table.look_up(torch.tensor(numbers, dtype=torch.long))

    @property
    def _padding(self) -> int:
        return self.vocabulary.spans.padding

    def _rows(self, vectors: Mapping[str, Tensor]) -> BatchRows:
        return BatchRows(self.network.config.entity_size, vectors)

    def _passes(self, rows: Sequence[Row]) -> Iterator[list[int]]:
        """Yield the places of rows that are read together, the shortest first."""
        part: list[int] = []
        for place in sorted(range(len(rows)), key=lambda place: len(rows[place].tokens)):
            if part and (len(part) + 1) * len(rows[place].tokens) > TOKENS_PER_PASS[self.device.type]:
                yield part
                part = []
            part.append(place)
        if part:
            yield part
