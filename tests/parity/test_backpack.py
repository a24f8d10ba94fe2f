"""A Backpack computes what the authors' training code computes, from both layouts of its checkpoint.

Tolerance: logits reach 50 in fp32, so rtol 1e-5 and atol 2e-4; senses, weights and states atol 5e-5.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from models.backpack.checkpoint import build_backpack
from models.backpack.editing.overlay import SenseOverlay, project
from models.backpack.network import Backpack
from models.backpack.senses import BackpackConfig

LOGITS: dict[str, Any] = {"rtol": 1e-5, "atol": 2e-4}
STATES: dict[str, Any] = {"rtol": 0, "atol": 5e-5}


@dataclass(frozen=True)
class Golden:
    model: Backpack
    io: dict[str, Tensor]
    meta: dict[str, Any]


@pytest.fixture(scope="module", params=["hf", "fork"])
def golden_backpack(request: pytest.FixtureRequest, golden_case: Path) -> Golden:
    def path(suffix: str) -> Path:
        return golden_case.with_name(f"{golden_case.name}.{suffix}")

    config = BackpackConfig.from_hf(json.loads(path("config.json").read_text()))
    model = build_backpack(config, load_file(path(f"weights_{request.param}.safetensors")))
    return Golden(model, load_file(path("io.safetensors")), json.loads(path("meta.json").read_text()))


def test_the_senses_of_tokens_are_the_authors(golden_backpack: Golden) -> None:
    senses = golden_backpack.model.senses_of(golden_backpack.io["sense_ids"])
    torch.testing.assert_close(senses, golden_backpack.io["sense_vectors"], **STATES)


def test_states_weights_and_logits_are_the_authors(golden_backpack: Golden) -> None:
    reading = golden_backpack.model(golden_backpack.io["input_ids"])
    io = golden_backpack.io
    torch.testing.assert_close(reading.context, io["gpt2_hidden"], **STATES)
    torch.testing.assert_close(reading.alpha, io["alpha"], **STATES)
    torch.testing.assert_close(reading.senses.transpose(1, 2), io["content"], **STATES)
    torch.testing.assert_close(reading.output, io["context_output"], **STATES)
    torch.testing.assert_close(reading.logits, io["logits"], **LOGITS)


def test_a_projection_edits_senses_and_logits_as_the_authors_do(golden_backpack: Golden) -> None:
    model, io = golden_backpack.model, golden_backpack.io
    for number, edit in enumerate(golden_backpack.meta["edits"]):
        word = edit["word_id"]
        before = model.senses_of(torch.tensor([word]))[0]
        torch.testing.assert_close(before, io[f"edit{number}.senses_before"], **STATES)
        away, towards = (model.embedding[edit[f"{way}_direction_id"]] for way in ("remove", "add"))
        after = project(before, away, towards)
        torch.testing.assert_close(after, io[f"edit{number}.senses_after"], **STATES)
        overlay = SenseOverlay.of({word: (after, torch.ones(model.config.senses))})
        logits = model(io["input_ids"], edits=overlay).logits
        torch.testing.assert_close(logits, io[f"edit{number}.logits_after"], **LOGITS)


def test_a_factor_on_the_weight_of_one_sense_changes_what_the_authors_change(golden_backpack: Golden) -> None:
    model, io = golden_backpack.model, golden_backpack.io
    ids = io["input_ids"][:1]
    for number, case in enumerate(golden_backpack.meta["sense_multipliers"]):
        factors = torch.ones(ids.shape[1], model.config.senses)
        factors[case["positions"], case["sense"]] = case["multiplier"]
        reading = model(ids, edits=PlaceFactors(factors))
        torch.testing.assert_close(reading.output, io[f"mult{number}.context_output"], **STATES)
        torch.testing.assert_close(reading.logits, io[f"mult{number}.logits"], **LOGITS)


@dataclass(frozen=True)
class PlaceFactors:
    """Factors on the senses at places of one text, as the authors' study of bias has them."""

    factors: Tensor

    def apply(self, ids: Tensor, senses: Tensor) -> Tensor:
        return senses * self.factors[None, ..., None]


@dataclass(frozen=True)
class TopicControl:
    """Multiplies the senses of each token by a table, less so once the text has expressed the topic (section 5.2).

        sim[l, s] = sum over tokens u of relu(C(x_s)_l . E[u]),   a = sigmoid(-k sim + 6) (1 + s / 100)
        C(x_s)_l  <- C(x_s)_l (m a + 1 - a)

    As in the authors' code a token's similarity counts later tokens, too; k = 0 leaves the annealing out.
    """

    table: Tensor
    embedding: Tensor
    annealing: float

    def apply(self, ids: Tensor, senses: Tensor) -> Tensor:
        factors = self.table[ids]
        if self.annealing:
            similarity = torch.einsum("bsld,bud->bslu", senses, self.embedding[ids]).relu().sum(-1)
            recency = 1 + torch.arange(ids.shape[1]) / 100
            share = torch.sigmoid(-self.annealing * similarity + 6) * recency[None, :, None]
            factors = factors * share + 1 - share
        return senses * factors[..., None]


def test_a_table_multiplies_the_senses_of_every_token(golden_backpack: Golden) -> None:
    model, io = golden_backpack.model, golden_backpack.io
    control = TopicControl(io["table.multipliers"], model.embedding, annealing=0)
    logits = model(io["input_ids"], edits=control).logits
    torch.testing.assert_close(logits, io["table.logits"], **LOGITS)


def test_an_annealed_table_fades_as_the_authors_does(golden_backpack: Golden) -> None:
    model, io = golden_backpack.model, golden_backpack.io
    annealing = golden_backpack.meta["annealing_scale"]
    control = TopicControl(io["table.multipliers"], model.embedding, annealing)
    logits = model(io["input_ids"], edits=control).logits
    torch.testing.assert_close(logits, io["table_annealed.logits"], **LOGITS)
