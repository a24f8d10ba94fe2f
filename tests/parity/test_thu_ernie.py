"""THU-ERNIE computes what the authors' code computes: tokens, alignment, states of both streams, logits and losses.

Tokens, alignment and masks are exact. Floats are fp32 that went through another order of sums: logits of words and
entities, which reach 12, within 2e-4; states, other logits and losses within 1e-4.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from models.kit.text import WordPieces
from models.thu_ernie.align import Link
from models.thu_ernie.config import ErnieConfig
from models.thu_ernie.network import Batch
from models.thu_ernie.row import Row
from tests.parity.ernie import (
    NO_LABEL,
    ErnieClassifier,
    ErniePretraining,
    ErnieSpans,
    ErnieTyping,
    PretrainingLabels,
    align_as_authors,
    build_pieces,
    clean,
    cross_entropy,
    pool,
    pretraining_loss,
    span_loss,
    unlink,
)

STATES: dict[str, Any] = {"atol": 1e-4, "rtol": 0}
LOGITS: dict[str, Any] = {"atol": 2e-4, "rtol": 0}


@dataclass(frozen=True)
class Golden:
    """One case: its sizes, its weights with every matrix as float32, its inputs and outputs."""

    raw: dict[str, Any]
    config: ErnieConfig
    weights: dict[str, Tensor]
    heads: dict[str, Tensor]
    io: dict[str, Tensor]

    @property
    def batch(self) -> Batch:
        io = self.io
        return Batch(
            io["input_ids"],
            io["token_type_ids"],
            io["attention_mask"].bool(),
            io["input_ent"],
            io["ent_mask"].bool(),
        )

    @property
    def classes(self) -> int:
        return int(self.raw["num_labels_typing_and_seqcls"])

    def fill(self, model: nn.Module, head: str) -> nn.Module:
        """Give a model the network of the case and the tensors of one head."""
        network = {name: value for name, value in self.weights.items() if name.startswith("bert.")}
        tensors = {
            name.removeprefix(f"{head}."): value
            for name, value in self.heads.items()
            if name.startswith(f"{head}.")
        }
        model.load_state_dict(network | tensors)
        return model.eval()

    def pretraining(self) -> ErniePretraining:
        model = ErniePretraining(self.config)
        model.load_state_dict(self.weights)
        return model.eval()


@pytest.fixture(scope="module")
def golden_ernie(golden_case: Path) -> Golden:
    def read(kind: str) -> dict[str, Tensor]:
        return load_file(golden_case.with_name(f"{golden_case.name}.{kind}.safetensors"))

    raw = json.loads(golden_case.with_name(f"{golden_case.name}.config.json").read_text(encoding="utf-8"))

    def unpack(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
        """Unpack matrices of the wide case, which are 8-bit numbers times a power of two."""
        return {n: t.float() * raw["int8_scale"] if t.dtype == torch.int8 else t for n, t in tensors.items()}

    weights, heads = unpack(read("weights")), unpack(read("heads"))
    return Golden(raw, ErnieConfig.from_json(raw), weights, heads, read("io"))


@pytest.fixture(scope="module")
def tokenizer_cases(golden_case: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((golden_case.parent / "tokenizer.json").read_text(encoding="utf-8"))
    return content


@pytest.fixture(scope="module")
def vocabulary(tokenizer_cases: dict[str, Any]) -> WordPieces:
    lowers = tokenizer_cases["do_lower_case"]
    options = {"lowercase": lowers, "strip_accents": lowers, "handle_chinese_chars": False}
    return build_pieces(tokenizer_cases["vocab"], **options)


def test_the_states_of_both_streams_are_the_authors_after_each_layer(golden_ernie: Golden) -> None:
    model, io = golden_ernie.pretraining(), golden_ernie.io
    layers = list(model.bert.layers(golden_ernie.batch))
    assert len(layers) == len(golden_ernie.config.kinds)
    for number, (kind, (tokens, entities)) in enumerate(zip(golden_ernie.config.kinds, layers, strict=True)):
        torch.testing.assert_close(tokens, io[f"layer{number}.tokens"], **STATES)
        if kind != "sim":
            torch.testing.assert_close(entities, io[f"layer{number}.entities"], **STATES)
    tokens = model.bert(golden_ernie.batch)
    torch.testing.assert_close(tokens, io["sequence_output"], **STATES)
    torch.testing.assert_close(pool(model.bert, tokens), io["pooled_output"], **STATES)


def test_the_pre_training_heads_and_losses_are_the_authors(golden_ernie: Golden) -> None:
    io = golden_ernie.io
    logits = golden_ernie.pretraining()(golden_ernie.batch, io["candidate"])
    torch.testing.assert_close(logits.words, io["mlm_logits"], **LOGITS)
    torch.testing.assert_close(logits.entities, io["ent_logits"], **LOGITS)
    torch.testing.assert_close(logits.order, io["nsp_logits"], **STATES)
    assert not logits.entities[..., 0].any()
    labels = PretrainingLabels(io["mlm_labels"], io["ent_labels"], io["nsp_labels"])
    torch.testing.assert_close(pretraining_loss(logits, labels)[None], io["loss_total"], **STATES)
    without = cross_entropy(logits.words, labels.words) + cross_entropy(logits.order, labels.order)
    torch.testing.assert_close(without[None], io["loss_mlm_plus_nsp"], **STATES)
    assert (labels.entities != NO_LABEL).any()


def test_the_span_head_is_the_authors_with_and_without_entities(golden_ernie: Golden) -> None:
    model, io, batch = (
        golden_ernie.fill(ErnieSpans(golden_ernie.config), "qa"),
        golden_ernie.io,
        golden_ernie.batch,
    )
    logits, plain = model(batch), model(unlink(batch))
    for column, side in enumerate(("start", "end")):
        torch.testing.assert_close(logits[..., column], io[f"qa.{side}_logits"], **STATES)
        torch.testing.assert_close(plain[..., column], io[f"qa.{side}_logits_no_entities"], **STATES)
    loss = span_loss(logits, io["qa.start_positions"], io["qa.end_positions"])
    torch.testing.assert_close(loss[None], io["qa.loss"], **STATES)


def test_classes_and_types_are_the_authors(golden_ernie: Golden) -> None:
    config, batch, io = golden_ernie.config, golden_ernie.batch, golden_ernie.io
    classifier = golden_ernie.fill(ErnieClassifier(config, golden_ernie.classes), "seqcls")
    typing = golden_ernie.fill(ErnieTyping(config, golden_ernie.classes), "typing")
    torch.testing.assert_close(classifier(batch), io["seqcls.logits"], **STATES)
    torch.testing.assert_close(typing(batch), io["typing.logits"], **STATES)


def test_the_entity_vectors_are_rows_of_the_table(golden_ernie: Golden) -> None:
    io = golden_ernie.io
    assert io["entity_table"][io["entity_ids"] + 1].equal(io["input_ent"])
    assert io["entity_table"][io["candidate_ids"] + 1].equal(io["candidate"])


def test_tokens_and_entities_of_every_text_are_the_authors(
    tokenizer_cases: dict[str, Any], vocabulary: WordPieces
) -> None:
    for case in tokenizer_cases["cases"]:
        links = [Link(*entity) for entity in case["entities"]]
        result = align_as_authors(case["text"], links, vocabulary)
        marks = [tokenizer_cases["no_entity_marker"]] * len(result.pieces)
        for place, link in result.links.items():
            marks[place] = link.entity
        assert [piece.text for piece in result.pieces] == case["tokens"], case["text"]
        assert [piece.id for piece in result.pieces] == case["token_ids"], case["text"]
        assert marks == case["token_entities"], case["text"]
        assert clean(case["text"], links)[1] == [Link(*entity) for entity in case["entities_after_call"]]
        assert links == [Link(*entity) for entity in case["entities"]]
        assert len(result.links) + len(result.rejections) == len(links)


def test_every_pair_is_laid_out_as_the_authors_do(
    tokenizer_cases: dict[str, Any], vocabulary: WordPieces
) -> None:
    rows = {entity: id + 1 for entity, id in tokenizer_cases["entity2id"].items()}
    for case in tokenizer_cases["pairs"]:
        texts = [
            align_as_authors(
                case[f"text_{side}"], [Link(*entity) for entity in case[f"entities_{side}"]], vocabulary
            )
            for side in "ab"
        ]
        row = Row.of(texts, vocabulary)
        entity_rows = row.entity_rows(rows)
        assert [piece.text for piece in row.tokens] == case["tokens"]
        assert [piece.id for piece in row.tokens] == case["token_ids"]
        assert [number - 1 for number in entity_rows] == case["entity_ids"]
        assert [1, *(int(number > 0) for number in entity_rows[1:])] == case["ent_mask"]
