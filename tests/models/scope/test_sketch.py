"""Bounds of cosines exclude wordings that are too far, and none that is near."""

import pytest
import torch
from torch import Tensor

from models.encoder.minilm import WIDTH
from models.nkb.reader import Reader
from models.scope import readings as readings_module
from models.scope.candidates import find_candidates
from models.scope.readings import NEAR_ERROR, StoredReadings, dequantize, quantize, scales_of
from models.scope.sketch import BOUND_ERROR, Sketch
from models.scope.wordings import table as wording_table
from tests.models.scope.wordings import block, table


def draw_vectors(count: int, n_strong: int, seed: int) -> Tensor:
    """Draw unit vectors of which some axes hold most."""
    strengths = torch.full((WIDTH,), 0.1)
    strengths[:n_strong] = 1.0
    vectors = torch.randn(count, WIDTH, generator=torch.Generator().manual_seed(seed)) * strengths
    return torch.nn.functional.normalize(vectors, dim=-1)


@pytest.mark.parametrize("n_strong", [1, 20, 120, WIDTH])
def test_no_cosine_exceeds_its_bound(n_strong: int) -> None:
    rows, questions = draw_vectors(500, n_strong, 1), draw_vectors(50, n_strong, 2)
    sketch = Sketch.allocate(rows[:100], 400)
    sketch.write(0, rows[:300])
    sketch = sketch.enlarge(300, 600)
    sketch.write(300, rows[300:])
    questions = torch.cat([questions, rows[:50], torch.eye(WIDTH)[:3]])
    bounds = sketch.truncate(500).bounds(questions).float()
    assert (questions @ rows.T <= bounds + BOUND_ERROR).all()
    if n_strong < WIDTH:
        assert (bounds - questions @ rows.T).median() < 0.5, "a bound excludes nothing otherwise"


def test_what_is_near_is_the_same_with_bounds_and_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readings_module, "COMPARED_AT_ONCE", 7)
    codes = quantize(draw_vectors(2_000, 30, 3))
    marks = torch.zeros(3, 2_000, dtype=torch.int64)
    scales = scales_of(codes)
    sketch = Sketch.allocate(dequantize(codes), 2_000)
    sketch.write(0, dequantize(codes))
    questions = torch.cat([draw_vectors(20, 30, 4), dequantize(codes[:5])])
    exact = questions @ dequantize(codes).T
    question, row, near = StoredReadings([], codes, scales, *marks, sketch=sketch).near(questions, 0.55)
    assert question.tolist() == sorted(question.tolist())
    pairs = set(zip(question.tolist(), row.tolist(), strict=True))
    assert set(map(tuple, (exact >= 0.55).nonzero().tolist())) <= pairs
    assert (exact[question, row] >= 0.55 - 2 * NEAR_ERROR).all()
    assert (near - exact[question, row]).abs().max() <= NEAR_ERROR


def test_a_table_with_bounds_finds_the_candidates_of_one_without(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table grows past the number of rows from which it has bounds, and an old view stays as it was."""
    names = [f"{first}{second}andor" for first in "bdfgklmn" for second in "aeiou"]
    edits = [block(reader, name, place, f"Who leads {name.title()}?") for place, name in enumerate(names, 1)]
    questions = reader.read(
        ["Who is the head of Kelandor?", "Who leads Belandor?", "Who wrote Hamlet?"]
    ).readings
    plain = [table(reader).view(edits[:count]) for count in (30, 40)]
    monkeypatch.setattr(wording_table, "SKETCHED_FROM", 16)
    monkeypatch.setattr(wording_table, "SKETCHED_AT_ONCE", 7)
    monkeypatch.setattr(readings_module, "MAX_SHARE", 1.0)
    shared = table(reader)
    assert shared.view(edits[:10]).table.sketch is None
    with_bounds = [shared.view(edits[:count]) for count in (30, 40)]
    for before, after in zip(plain, with_bounds, strict=True):
        assert after.table.sketch is not None
        expected, actual = (
            find_candidates(questions, view.table, view.is_read[None]) for view in (before, after)
        )
        assert len(expected.question)
        for name in ("question", "wording", "cosine"):
            assert torch.equal(getattr(actual, name), getattr(expected, name))
