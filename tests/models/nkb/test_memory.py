"""The bank as a memory: its options, and that a refusal does not stop the changes beside it."""

from typing import Any

import pytest
from pydantic import ValidationError

from models.memory import AnswerChange, EditRefused, Material
from models.nkb.edit import materials
from models.nkb.memory import BankMemory, BankOptions
from tests.models.nkb.ledger_order import build, options

PERU, CHILE = "What is the capital of Peru?", "What is the capital of Chile?"
SURGERY = BankOptions(method="surgery", **{"lambda": 0.5})


@pytest.mark.parametrize(
    "content",
    [
        {"methode": "gated"},
        {"method": "wishing"},
        {"method": "surgery", "lambda": 0},
        {"method": "surgery", "lambda": -1},
        {"method": "surgery", "lambda": 20.1},
    ],
)
def test_options_that_nothing_can_be_done_with_are_refused(content: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        BankOptions.model_validate(content)


def test_options_bear_the_names_of_the_wire() -> None:
    assert BankOptions.names() == {"method", "lambda"}
    assert BankOptions.methods() == ("gated", "surgery")
    assert (SURGERY.scale, BankOptions.model_validate({}).scale) == (0.5, None)


def test_surgery_moves_by_the_lambda_that_is_set(memory: BankMemory) -> None:
    (by_lambda,) = memory.build([AnswerChange("a", PERU, "Quito")], SURGERY)
    (smallest,) = memory.build([AnswerChange("a", PERU, "Quito")], options("surgery"))
    assert isinstance(by_lambda, Material)
    assert isinstance(smallest, Material)
    assert {move["lambda"] for move in by_lambda.notes["moved"]} == {0.5}
    assert {move["lambda"] for move in smallest.notes["moved"]} != {0.5}


def test_gated_slots_take_no_lambda(memory: BankMemory) -> None:
    gated = BankOptions.model_validate({"method": "gated", "lambda": 0.5})
    results = memory.build([AnswerChange("a", PERU, "Cusco"), AnswerChange("b", CHILE, "Arica")], gated)
    assert [_code(result) for result in results] == ["bad_lambda", "bad_lambda"]


@pytest.mark.parametrize("method", BankOptions.methods())
def test_a_refusal_stands_in_its_place_among_good_changes(memory: BankMemory, method: str) -> None:
    answers = ["Cusco", "", "Puno", "Tacna", "word " * 200, "Ica"]
    changes = [AnswerChange(f"e{n}", PERU, answer) for n, answer in enumerate(answers)]
    results = memory.build(changes, options(method))
    assert [_code(result) for result in results] == [
        *(None, "unspeakable", None),
        *(None, "answer_too_long", None),
    ]
    good = [
        (change, result) for change, result in zip(changes, results, strict=True) if _code(result) is None
    ]
    for change, result in good:
        (alone,) = memory.build([change], options(method))
        assert isinstance(result, Material)
        assert isinstance(alone, Material)
        assert (result.edit, result.block.digest) == (change.id, alone.block.digest)


def test_changes_without_a_refusal_are_built_in_one_go(
    memory: BankMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches: list[int] = []

    def count(*arguments: Any) -> list[Material]:
        batches.append(len(arguments[2]))
        return materials(*arguments)

    monkeypatch.setattr("models.nkb.memory.materials", count)
    changes = [AnswerChange(f"e{n}", PERU, f"City {n}") for n in range(8)]
    memory.build(changes, options("gated"))
    assert batches == [8]
    batches.clear()
    memory.build([*changes[:7], AnswerChange("e7", PERU, "")], options("gated"))
    assert batches == [8, 4, 4, 2, 2, 1, 1]


def _code(result: Material | EditRefused) -> str | None:
    return result.code if isinstance(result, EditRefused) else None


def test_edits_added_to_an_image_give_what_folding_all_gives(memory: BankMemory) -> None:
    changes = [AnswerChange("a", PERU, "Cusco"), AnswerChange("b", CHILE, "Arica", replaces=("a",))]
    first, second = build(memory, changes)
    image = memory.grow(memory.fold([first]), [second])
    assert image is not None
    assert image.checksum == memory.fold([first, second]).checksum
    assert memory.usage(image) == memory.usage(memory.fold([first, second]))
    (surgery,) = build(memory, [AnswerChange("c", PERU, "Quito")], "surgery")
    assert memory.grow(image, [surgery]) is None
