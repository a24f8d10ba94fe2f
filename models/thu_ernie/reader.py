"""Everything that an answer needs: rows, and the passes of the encoder.

Rows of one pass are of like length; the result of a text depends on no other text and on no padding (1e-5).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor

from models.confidence import Confidence
from models.kit.batching import by_length
from models.kit.text import WordPieces
from models.thu_ernie.entities.table import EntityTable, EntityView
from models.thu_ernie.heads import ErnieAnswers
from models.thu_ernie.row import Row, collate

TOKENS_PER_PASS = {"cpu": 1_024, "cuda": 16_384}
Vectors: TypeAlias = Mapping[str, Float[Tensor, " size"]]
SCALES = ("neighbours", "answers")  # kinds of answers, each with its own scale


@dataclass(frozen=True)
class Settings:
    """The settings with which a checkpoint reads."""

    question_room: int  # tokens of a question
    subjects: int  # entities of a question that are tried as its subject
    margin: float  # logits by which a row that is solved for a fact leads the fact's rivals


@dataclass(frozen=True)
class Model:
    """A checkpoint. Thread-safe: nothing of it changes."""

    network: ErnieAnswers  # in evaluation mode
    vocabulary: WordPieces
    table: EntityTable
    answers: Mapping[str, str]  # every answer of the facts that it was trained on -> the name of its row
    settings: Settings
    confidences: Mapping[str, Confidence]  # by the kind of answer
    digest: str = ""  # digest of its folder
    names: Mapping[str, str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        names = {answer.casefold(): name for answer, name in self.answers.items()}
        object.__setattr__(self, "names", names)

    @property
    def device(self) -> torch.device:
        """Return where the network computes."""
        return next(self.network.parameters()).device

    @torch.inference_mode()
    def query(self, masks: Sequence[Row], vectors: Sequence[Vectors]) -> Float[Tensor, "row size"]:
        """Return the vector of each mask, with the rows of its links, in float32 on the CPU."""
        size, padding = self.network.config.entity_size, self.vocabulary.padding
        queries = torch.zeros(len(masks), size)
        rows, rows_by_name = _tell_apart(masks, vectors)
        budget = TOKENS_PER_PASS[self.device.type]
        for places in by_length([len(row.tokens) for row in rows], budget):
            batch = collate([rows[place] for place in places], rows_by_name, size, padding, self.device)
            queries[places] = self.network.query(batch).float().cpu()
        return queries

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
        numbers = [self.table.row_of(name) for name in self.answers.values()]
        return self.table.look_up(torch.tensor(numbers, dtype=torch.long))


def _tell_apart(rows: Sequence[Row], vectors: Sequence[Vectors]) -> tuple[list[Row], dict[str, Tensor]]:
    """Name the entities of each text apart from those of the others, which may be of other versions."""
    rows_by_name = {f"{n} {name}": row for n, of_text in enumerate(vectors) for name, row in of_text.items()}
    apart = [
        replace(row, links={p: replace(link, entity=f"{n} {link.entity}") for p, link in row.links.items()})
        for n, row in enumerate(rows)
    ]
    return apart, rows_by_name
