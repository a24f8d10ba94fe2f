"""No two pieces are near, and pieces outside of the text have no direction."""

import torch

from models.encoder.minilm import MiniLM
from models.training.subject_net import PIECES, SILENT, spelling


def test_each_piece_has_a_direction_of_its_own() -> None:
    directions = spelling(torch.arange(1_000, 3_000))
    cosines = directions @ directions.T - torch.eye(len(directions))
    assert torch.allclose(directions.norm(dim=-1), torch.ones(len(directions)))
    assert cosines.abs().max() < 0.6
    assert cosines.square().mean().sqrt() < 0.1


def test_the_vocabulary_is_the_encoders_and_its_marks_are_silent() -> None:
    encoder = MiniLM()
    assert len(encoder.words) == PIECES
    ids = encoder.encode(["Peru", "Peru and Chile"]).ids
    assert set(SILENT) == {int(ids[0, 0]), int(ids[0, -1]), int(ids[1, -1])}
    assert not spelling(torch.tensor(SILENT)).any()
