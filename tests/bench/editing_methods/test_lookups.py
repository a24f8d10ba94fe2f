"""Methods that look an edit up by its question, behind the face of an editor, and SERAC's classifier."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import torch
from torch import Tensor

from tests.bench.editing_methods.draw import EditRequest
from tests.bench.editing_methods.lookups import LookupEditor
from tests.bench.editing_methods.methods.nearest import CosineCache, Serac, classify, load_classifier
from tests.bench.editing_methods.model import Model, Question

WIDTH = 384


@dataclass
class SmallModel:
    """Sentence vectors on the axes of a plane, and a base that says the question's last word."""

    vectors: dict[str, Tensor]
    reader: Any = field(default_factory=lambda: SmallReader())

    def read(self, questions: Sequence[str]) -> list[Question]:
        return [Question(torch.empty(0, 1), torch.empty(1), self.vectors[text]) for text in questions]

    def base(self, questions: Sequence[str]) -> list[str]:
        return [text.split()[-1] for text in questions]


class SmallReader:
    @property
    def encoder(self) -> "SmallReader":
        return self

    def encode(self, texts: Sequence[str]) -> None:
        """Do nothing; only its time is asked for."""


def at(degrees: float) -> Tensor:
    angle = torch.deg2rad(torch.tensor(degrees))
    return torch.stack([angle.cos(), angle.sin()])


def make_editor(threshold: float, **degrees: float) -> LookupEditor:
    model = SmallModel({text: at(angle) for text, angle in degrees.items()})
    return LookupEditor(cast(Model, model), CosineCache(threshold))


def request(id: str, question: str, answer: str) -> EditRequest:
    return EditRequest(id, question, answer, ())


def test_a_question_near_an_edit_gets_its_answer_and_another_the_bases() -> None:
    editor = make_editor(0.9, edited=0, near=20, far=30)
    model = editor.apply([request("1", "edited", "new")])
    assert [reply.answer for reply in model.say(["edited", "near", "far"])] == ["new", "new", "far"]


def test_the_nearest_edit_answers_and_of_equal_ones_the_later() -> None:
    editor = make_editor(0.5, east=0, north=90, both=44)
    first, second, third = request("1", "east", "1"), request("2", "north", "2"), request("3", "east", "3")
    model = editor.apply([first, second, third])
    assert [reply.answer for reply in model.say(["both", "north", "east"])] == ["3", "2", "3"]


def test_an_edit_that_is_taken_back_leaves_no_trace() -> None:
    editor = make_editor(0.9, east=0, north=90)
    first, second = request("1", "east", "1"), request("2", "north", "2")
    model = editor.apply([first, second])
    rest = model.with_only({"2"})
    assert rest.digest == editor.apply([second]).digest != model.digest
    assert [reply.answer for reply in rest.say(["east", "north"])] == ["east", "2"]
    assert [reply.answer for reply in model.with_only(set()).say(["east"])] == ["east"]


def test_the_bytes_of_an_edit_are_its_vector_and_its_answer() -> None:
    editor = make_editor(0.9, east=0)
    assert editor.apply([request("1", "east", "Malmö")]).bytes_per_edit == 2 * 4 + 6


def test_serac_s_classifier_is_symmetric() -> None:
    u, w = torch.nn.functional.normalize(torch.randn(2, 5, WIDTH), dim=-1)
    weights = load_classifier()
    torch.testing.assert_close(classify(weights, u, w), classify(weights, w, u))


def test_serac_is_surest_of_the_question_itself() -> None:
    vectors = torch.nn.functional.normalize(torch.randn(100, WIDTH), dim=-1)
    scores = Serac(0.5).score(vectors, vectors)
    assert scores.argmax(1).tolist() == list(range(100))
    assert scores.diagonal().min() > 0.5


def test_serac_scores_only_the_nearest_wordings() -> None:
    vectors = torch.nn.functional.normalize(torch.randn(100, WIDTH), dim=-1)
    scores, cosines = Serac(0.5).score(vectors[:1], vectors), vectors[0] @ vectors.T
    far = cosines.argsort()[:36]
    assert scores[0, far].eq(0).all()
    assert scores.gt(0).sum() == 64
