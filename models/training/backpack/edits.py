"""How edits of facts hold in the finished checkpoint: in the wordings given, and by their stored rows elsewhere.

The system adds what a routed question lacks (models/backpack/editing/rows.py); here the stored rows stand alone, so
that the figure says how far they reach.
"""

import time
from collections.abc import Sequence

import torch

from models.backpack.answering.reader import Reader
from models.backpack.editing.fact import read_rows
from models.backpack.editing.rows import FactRows, TextEdits, read_forced
from models.backpack.memory import SensesMemory
from models.memory import AnswerChange, Material, Options
from models.training.backpack.texts import Correction


def try_edits(reader: Reader, corrections: Sequence[Correction]) -> dict[str, float]:
    """Make each correction by itself and return shares in per cent, and milliseconds for an edit."""
    memory, start = SensesMemory(reader), time.monotonic()
    results = [
        memory.build([AnswerChange("trial", c.wordings[0], c.answer, c.wordings[1:])], Options())[0]
        for c in corrections
    ]
    seconds = time.monotonic() - start
    holds: list[bool] = []
    reaches: list[bool] = []
    for correction, result in zip(corrections, results, strict=True):
        if isinstance(result, Material):
            answer, rows = read_rows(result.block, reader.model.embedding.device)
            holds += [says(reader, wording, answer, rows) for wording in correction.wordings]
            reaches += [says(reader, wording, answer, rows) for wording in correction.new_wordings]
        else:
            holds += [False] * len(correction.wordings)
            reaches += [False] * len(correction.new_wordings)
    return {
        "edits_hold": round(100 * sum(holds) / max(1, len(holds)), 1),
        "edits_reach": round(100 * sum(reaches) / max(1, len(reaches)), 1),
        "edit_ms": round(1000 * seconds / max(1, len(corrections))),
    }


@torch.inference_mode()
def says(reader: Reader, question: str, answer: Sequence[int], rows: FactRows) -> bool:
    """Return whether a question is answered so with these rows: each token leads behind those before it."""
    prompt, _ = reader.ask(question, len(answer))
    reading = read_forced(reader.model, prompt, answer, TextEdits(rows=rows))
    return bool((reading.leads(answer) > 0).all())
