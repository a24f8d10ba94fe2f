"""K-BERT computes what the authors' code computes: graphs, trees, matrices, states, logits, losses and tags.

Trees, ids and matrices are exact. Tolerance 1e-4 for real tokens: the golden numbers are fp32. 2e-3 where padding
takes part: its scores all lie near -10000, which leaves them four digits.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import Tensor

from models.encoder.bert import norm_of_embeddings
from models.kbert.encoder import Encoder
from models.kbert.row import Batch, Row, collate
from tests.models.kbert.ablations import without_visible_matrix
from tests.parity.authors import (
    UER_EPSILON,
    Characters,
    Classifier,
    Kind,
    Tagger,
    build_graph,
    collate_as_authors,
    cut_blindly,
    load_encoder,
    parse_spo,
    read_with_padding,
    read_words,
    rename,
)

REAL: dict[str, Any] = {"atol": 1e-4, "rtol": 0}
PADDING: dict[str, Any] = {"atol": 2e-3, "rtol": 0}
POOLINGS = ("first", "mean", "max", "last")
ENT_LABEL = 1


@dataclass(frozen=True)
class Golden:
    folder: Path
    config: dict[str, Any]
    trees: dict[str, Any]
    tokens: Characters

    def tensors(self, name: str) -> dict[str, Tensor]:
        return load_file(self.folder / f"{name}.safetensors")

    def encoder(self, name: str) -> Encoder:
        return load_encoder(self.tensors(f"{name}.weights"), self.config["heads_num"])

    def read(self, number: int, kind: Kind, length: int, **changes: Any) -> Row:
        """Return one tree case as a row, cut blindly at `length`."""
        (case,) = (case for case in self.trees["cases"] if case["id"] == number)
        case = case | changes
        graph = build_graph(map(tuple, self.trees["triples"]), case["predicate"])
        return cut_blindly(read_words(case["words"], graph, self.tokens, case["max_entities"], kind), length)

    def batch(self, cases: str, kind: Kind, predicate: str) -> tuple[Batch, list[Row]]:
        length = self.config["batch_max_length"]
        changes = {"predicate": self.config[predicate], "max_entities": self.config["max_entities"]}
        rows = [self.read(number, kind, length, **changes) for number in self.config[cases]]
        return collate_as_authors(rows, self.tokens.padding, length, kind), rows


@pytest.fixture(scope="module")
def golden_kbert(golden_case: Path) -> Golden:
    def read(name: str) -> Any:
        return json.loads((golden_case / name).read_text(encoding="utf-8"))

    vocabulary = {token: place for place, token in enumerate(read("vocab.json"))}
    return Golden(golden_case, read("config.json"), read("trees.json"), Characters(vocabulary))


def assert_inputs(batch: Batch, io: dict[str, Tensor], prefix: str) -> None:
    assert batch.ids.equal(io[prefix + "token_ids"])
    assert batch.positions.equal(io[prefix + "soft_positions"])
    assert batch.segments.equal(io[prefix + "segment_ids"])
    assert batch.visible.equal(io[prefix + "visible_matrix"].bool())


def assert_states(encoder: Encoder, batch: Batch, expected: Tensor) -> None:
    """Compare states as they are served, and with the padding that the authors compute."""
    torch.testing.assert_close(encoder.read(batch)[batch.is_real], expected[batch.is_real], **REAL)
    states = read_with_padding(encoder, batch)
    torch.testing.assert_close(states[batch.is_real], expected[batch.is_real], **REAL)
    torch.testing.assert_close(states, expected, **PADDING)


def test_the_graph_reads_the_lines_the_authors_read(golden_kbert: Golden) -> None:
    raw = json.loads((golden_kbert.folder / "kg_parse.json").read_text(encoding="utf-8"))
    for predicate in (True, False):
        graph = build_graph(parse_spo(raw["lines"]), predicate)
        values = {subject: sorted(texts) for subject, texts in graph.items()}
        assert values == raw["lookup_sorted"][f"predicate_{str(predicate).lower()}"]


def test_every_tree_is_the_authors(golden_kbert: Golden) -> None:
    tensors = golden_kbert.tensors("trees")
    assert len(tensors) == 4 * len(golden_kbert.trees["cases"])
    for case in golden_kbert.trees["cases"]:
        length, name = case["max_length"], f"{case['name']}: "
        row = golden_kbert.read(case["id"], "single", length)
        batch = collate([row], golden_kbert.tokens.padding, length)
        texts = [token.text for token in row.tokens] + ["[PAD]"] * (length - len(row))
        is_injected = [int(token.is_injected) for token in row.tokens] + [0] * (length - len(row))
        assert texts == case["tokens"], name
        assert batch.ids[0].tolist() == case["token_ids"], name
        assert batch.positions[0].tolist() == case["soft_positions"], name
        assert is_injected == case["segments"], name
        assert len(row) == case["num_real"], name
        stem = f"case{case['id']:02d}."
        assert batch.visible[0].equal(tensors[stem + "visible_matrix"].bool()), name
        assert batch.ids[0].equal(tensors[stem + "token_ids"]), name
        assert batch.positions[0].equal(tensors[stem + "soft_positions"]), name
        assert is_injected == tensors[stem + "segments"].tolist(), name


@pytest.mark.parametrize("kind", ["single", "pair"])
def test_the_classifier_is_the_authors(golden_kbert: Golden, kind: Kind) -> None:
    io, prefix = golden_kbert.tensors("classifier.io"), f"{kind}."
    encoder, weights = golden_kbert.encoder("classifier"), golden_kbert.tensors("classifier.weights")
    batch, _ = golden_kbert.batch(f"classifier_{kind}_cases", kind, "classifier_predicate")
    assert_inputs(batch, io, prefix)
    without_matrix = without_visible_matrix(batch)
    embeddings = io[prefix + "embedding_output"][batch.is_real]
    gamma, beta = norm_of_embeddings(rename(weights))
    deviation, mean = torch.std_mean(encoder.embed(batch), -1, keepdim=True)
    normal = gamma * (encoder.embed(batch) - mean) / (deviation + UER_EPSILON) + beta
    torch.testing.assert_close(normal, embeddings, **REAL)
    assert_states(encoder, batch, io[prefix + "encoder_output"])
    assert_states(encoder, without_matrix, io[prefix + "encoder_output_no_vm"])
    for pooling in POOLINGS:
        logits = Classifier(encoder, weights, pooling)(batch)
        tolerance = REAL if pooling == "first" else PADDING
        torch.testing.assert_close(logits, io[f"{prefix}logits.{pooling}"], **tolerance)
    first = Classifier(encoder, weights, "first")
    torch.testing.assert_close(first(without_matrix), io[prefix + "logits_no_vm.first"], **REAL)
    loss = F.cross_entropy(first(batch), io[prefix + "labels"])
    torch.testing.assert_close(loss[None], io[prefix + "loss.first"], **REAL)


def test_the_tagger_is_the_authors(golden_kbert: Golden) -> None:
    io = golden_kbert.tensors("tagger.io")
    encoder, weights = golden_kbert.encoder("tagger"), golden_kbert.tensors("tagger.weights")
    batch, rows = golden_kbert.batch("tagger_cases", "tagging", "tagger_predicate")
    assert_inputs(batch, io, "")
    assert (batch.branch > 0).long().equal(io["injected"])
    assert_states(encoder, batch, io["encoder_output"])
    logits, labels = Tagger(encoder, weights)(batch), io["labels"]
    torch.testing.assert_close(logits[batch.is_real], io["logits"][batch.is_real], **REAL)
    torch.testing.assert_close(logits, io["logits"], **PADDING)
    torch.testing.assert_close(Tagger.loss(logits, labels)[None], io["loss"], **REAL)
    predictions = logits.argmax(-1)
    assert predictions[batch.is_real].equal(io["predict"][batch.is_real])
    assert int(((predictions == labels) & (labels > 0)).sum()) == int(io["correct"])
    for row, row_labels in zip(rows, labels.tolist(), strict=True):
        places = [place for place, label in enumerate(row_labels) if label == ENT_LABEL]
        assert places == [place for place, token in enumerate(row.tokens) if token.is_injected]
