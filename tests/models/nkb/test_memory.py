"""The bank as a memory: its options, and that a refusal does not stop the changes beside it.

A cached read equals a new read, and a process that only answers caches nothing.
The default checkpoint on any device, and in bfloat16.
"""

import math
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from pydantic import ValidationError

from models.blocks import Image
from models.kit.decoded import DecodedAnswer
from models.memory import AnswerChange, EditRefused, Material
from models.nkb.edit import fold, materials
from models.nkb.memory import BankMemory, BankOptions
from models.nkb.overlay import Overlay, value_rows
from models.nkb.reader import ReadCache, Reader
from models.nkb.surgery import apply_value_edit
from models.scope.wordings.table import WordingTable
from tests.models.interleaving import before_line
from tests.models.nkb.small_t5 import options

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


@pytest.mark.parametrize("line", range(8))
def test_the_slots_of_an_image_are_its_own_while_another_is_counted(memory: BankMemory, line: int) -> None:
    changes = [AnswerChange(id, question, "Quito") for id, question in (("a", PERU), ("b", CHILE))]
    first, second = memory.build(changes, options("gated"))
    assert isinstance(first, Material)
    assert isinstance(second, Material)
    small, large = memory.fold([first]), memory.fold([first, second])
    expected = memory.usage(small)
    with before_line(BankMemory._count, line, lambda: memory.usage(large)):
        assert memory.usage(small) == expected


def test_gated_slots_take_no_lambda(memory: BankMemory) -> None:
    gated = BankOptions.model_validate({"method": "gated", "lambda": 0.5})
    results = memory.build([AnswerChange("a", PERU, "Cusco"), AnswerChange("b", CHILE, "Arica")], gated)
    assert [_code(result) for result in results] == ["bad_lambda", "bad_lambda"]


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


def test_a_cached_read_is_what_reading_gives(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    cache, questions = ReadCache(reader), ["capital of Chile", "What is the capital of Peru?"]
    read = cache.read(questions)
    cache.keep(questions, read)
    monkeypatch.setattr(Reader, "read", None)
    for asks, rows in ((questions, [0, 1]), (questions[::-1], [1, 0]), (questions[:1], [0])):
        hit = cache.read(asks)
        assert torch.equal(hit.readings.vectors, read.readings.vectors[rows])
        assert torch.equal(hit.readings.wordings, read.readings.wordings[rows])
        assert torch.equal(hit.familiarity, read.familiarity[rows])
        for place, row in enumerate(rows):
            assert torch.equal(hit.states[place][hit.mask[place]], read.states[row][read.mask[row]])


def test_nothing_is_cached_before_a_cached_read_is_asked_for(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache, questions = ReadCache(reader), ["capital of Chile"]
    cache.keep(questions, reader.read(questions))
    monkeypatch.setattr(Reader, "read", lambda *_: pytest.fail("read anew", pytrace=False))
    with pytest.raises(pytest.fail.Exception, match="read anew"):
        cache.read(questions)


QUESTIONS = ["What is the capital of Peru?", "Which element has number 26?", "What is the capital of Chile?"]


@pytest.fixture(scope="module")
def narrow(device: torch.device) -> Reader:
    return Reader.load(device=device, dtype=torch.bfloat16)


def answer(reader: Reader, questions: Sequence[str], overlay: Overlay | None = None) -> list[DecodedAnswer]:
    read = reader.read(questions)
    return reader.decoder.generate(read.states, read.mask, overlays=[overlay] * len(questions), max_tokens=32)


def test_in_bfloat16_the_same_is_answered_nearly_as_surely(narrow: Reader, reader: Reader) -> None:
    for actual, expected in zip(answer(narrow, QUESTIONS), answer(reader, QUESTIONS), strict=True):
        assert narrow.say(actual.tokens) == reader.say(expected.tokens)
        assert all(map(math.isfinite, actual.logprobs))
        assert sum(actual.logprobs) == pytest.approx(sum(expected.logprobs), abs=0.2)


def test_in_bfloat16_the_bank_the_norms_and_all_that_scores_stay_float32(narrow: Reader) -> None:
    block = narrow.decoder.layers[-1].feed_forward
    assert block.up.weight.dtype == block.down.weight.dtype == torch.bfloat16
    assert block.slots is not None
    wide = (
        block.norm,
        block.slots.values,
        block.slots.stored_rows,
        narrow.decoder.head_weight,
        narrow.subjects.centres,
        narrow.read(QUESTIONS).readings.vectors,
    )
    assert {tensor.dtype for tensor in wide} == {torch.float32}


@pytest.mark.parametrize("method", ["gated", "surgery"])
def test_in_bfloat16_an_edit_is_made_and_answers(narrow: Reader, method: str) -> None:
    correction = AnswerChange("a", QUESTIONS[0], "Cusco")
    (material,) = materials(narrow, narrow.read, [correction], method)
    assert all(tensor.device.type == "cpu" for tensor in material.block.tensors.values())
    if method == "gated":
        view = WordingTable(narrow.scope.judge, narrow.device).view([material.block])
        matches = narrow.scope.route(narrow.read(QUESTIONS).readings, [view] * len(QUESTIONS))
        assert [match is not None for match in matches] == [True, False, False]
        rows = material.block.tensors
        overlay = Overlay(steps=narrow.pushes.values(rows["tokens"], rows["strengths"]))
    else:
        image = fold(Image(narrow.digest), narrow.decoder, [material])
        overlay = Overlay(value_rows(image.ordered_blocks, narrow.device)[0])
    (decoded_answer,) = answer(narrow, QUESTIONS[:1], overlay)
    assert narrow.say(decoded_answer.tokens) == "Cusco"


def test_an_answer_that_the_base_gives_needs_no_surgery(reader: Reader) -> None:
    read = reader.read(QUESTIONS[:1])
    (decoded_answer,) = answer(reader, QUESTIONS[:1])
    with pytest.raises(ValueError, match="already gives this answer"):
        apply_value_edit(reader, read, reader.spell(reader.say(decoded_answer.tokens)))
