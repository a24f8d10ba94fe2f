"""ERNIE-Doc computes what the authors' port computes, over consecutive segments with the memory carried.

Tolerance 1e-4: the golden numbers are fp32, and a float64 recomputation of them differs by up to 4.1e-6.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from models.ernie_doc.attention import attention_bias
from models.ernie_doc.memory import start_memory
from models.ernie_doc.model import ErnieDoc, Reading
from models.ernie_doc.network import feed_order
from models.ernie_doc.paddle import Report, load_weights, read_config

CLOSE: dict[str, Any] = {"atol": 1e-4, "rtol": 0}


@dataclass(frozen=True)
class Case:
    raw: dict[str, Any]
    model: ErnieDoc
    report: Report
    io: dict[str, Tensor]

    def part(self, number: int, name: str) -> Tensor:
        return self.io[f"seg{number}.{name}"]

    def read(self) -> Iterator[tuple[int, Reading]]:
        """Read the segments one after the other, from our own memories."""
        batch = len(self.part(0, "input_ids"))
        memory = self.io.get("initial_memories", start_memory(self.model.config, batch))
        for number in range(self.raw["num_segments"]):
            names = ("input_ids", "token_type_ids", "attn_mask")
            ids, tasks, mask = (self.part(number, name).squeeze(-1) for name in names)
            reading = self.model(ids, tasks, mask, memory)
            memory = reading.memory
            yield number, reading


@pytest.fixture(scope="module")
def case(golden_case: Path) -> Case:
    raw = json.loads(Path(f"{golden_case}.config.json").read_text(encoding="utf-8"))
    model = ErnieDoc(replace(read_config(raw), shares_memory_task=True)).eval()
    report = load_weights(model, load_file(f"{golden_case}.weights.safetensors"))
    return Case(raw, model, report, load_file(f"{golden_case}.io.safetensors"))


def test_every_weight_of_the_authors_has_its_place(case: Case) -> None:
    assert case.report.ignored == ()
    assert case.report.missing == ()


def test_positions_are_fed_in_the_authors_order(case: Case) -> None:
    config = case.model.config
    expected = case.io["position_ids"][0, :, 0]
    assert feed_order(config.segment, config.memory, torch.device("cpu")).equal(expected)


def test_states_logits_and_memories_are_the_authors(case: Case) -> None:
    for number, reading in case.read():
        torch.testing.assert_close(reading.states, case.part(number, "sequence_output"), **CLOSE)
        torch.testing.assert_close(reading.pooled, case.part(number, "pooled_output"), **CLOSE)
        torch.testing.assert_close(reading.memory, case.part(number, "memories_after"), **CLOSE)
        if case.model.config.classes:
            labels = case.model.class_logits(reading.pooled)
            torch.testing.assert_close(labels, case.part(number, "logits"), **CLOSE)
            continue
        mask = case.part(number, "attn_mask").squeeze(-1)
        start, end = case.model.span_logits(reading.states, mask).unbind(-1)
        torch.testing.assert_close(start, case.part(number, "start_logits"), **CLOSE)
        torch.testing.assert_close(end, case.part(number, "end_logits"), **CLOSE)


def test_the_scores_of_a_padded_query_vanish_in_its_mask(case: Case) -> None:
    """The authors' softmax sees the mask alone there, so that the attention is uniform."""
    expected = set(case.raw["padded_query_rows_softmax_inputs"])
    actual = set()
    for number in range(case.raw["num_segments"]):
        mask = case.part(number, "attn_mask").squeeze(-1)
        memory_mask = mask.new_ones(len(mask), case.model.config.memory)
        scores = attention_bias(mask, memory_mask, case.model.config.mask_value) + 3.0
        actual |= set(scores[:, 0][mask == 0].unique().tolist())
    assert actual == expected
