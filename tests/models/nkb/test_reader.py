"""The default checkpoint on any device, and in bfloat16."""

import math
from collections.abc import Sequence

import pytest
import torch

from models.blocks import Image
from models.kit.decoded import DecodedAnswer
from models.memory import AnswerChange
from models.nkb.edit import fold, materials
from models.nkb.overlay import Overlay, value_rows
from models.nkb.reader import Reader
from models.nkb.surgery import operate_on
from models.scope.wordings.table import WordingTable

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
        view = WordingTable(narrow.scope.judge, narrow.t5.device).view([material.block])
        matches = narrow.scope.route(narrow.read(QUESTIONS).readings, [view] * len(QUESTIONS))
        assert [match is not None for match in matches] == [True, False, False]
        rows = material.block.tensors
        overlay = Overlay(steps=narrow.pushes.values(rows["tokens"], rows["strengths"]))
    else:
        image = fold(Image(narrow.digest), narrow.decoder, [material])
        overlay = Overlay(value_rows(image.ordered_blocks, narrow.t5.device)[0])
    (decoded_answer,) = answer(narrow, QUESTIONS[:1], overlay)
    assert narrow.say(decoded_answer.tokens) == "Cusco"


def test_an_answer_that_the_base_gives_needs_no_surgery(reader: Reader) -> None:
    read = reader.read(QUESTIONS[:1])
    (decoded_answer,) = answer(reader, QUESTIONS[:1])
    with pytest.raises(ValueError, match="already gives this answer"):
        operate_on(reader, read, reader.spell(reader.say(decoded_answer.tokens)))
