"""K-BERT computes what the authors' code computes: graphs, trees, matrices, states, logits, losses and tags.

Trees, ids and matrices are exact. Tolerance 1e-4 for real tokens: the golden numbers are fp32. 2e-3 where padding
takes part: its scores all lie near -10000, which leaves them four digits.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from models.checkpoint import CONFIG
from models.kbert import Batch, Characters, Classifier, Graph, Row, Tagger, Triple, collate, parse_spo
from models.kbert.checkpoint import load_classifier, load_encoder, load_tagger, stored
from models.kbert.row import Kind, row
from models.kbert.tagger import ENT_LABEL
from models.kbert.tree import grow
from models.kbert.truncate import blind
from models.kbert.words import given

REAL: dict[str, Any] = {"atol": 1e-4, "rtol": 0}
PADDED: dict[str, Any] = {"atol": 2e-3, "rtol": 0}
POOLINGS = ("first", "mean", "max", "last")


@dataclass(frozen=True)
class Golden:
    folder: Path
    config: dict[str, Any]
    trees: dict[str, Any]
    tokens: Characters

    def tensors(self, name: str) -> dict[str, Tensor]:
        return load_file(self.folder / f"{name}.safetensors")

    def read(self, number: int, kind: Kind, length: int, **changes: Any) -> Row:
        """One tree case as a row, cut blindly at `length`."""
        (case,) = (case for case in self.trees["cases"] if case["id"] == number)
        case = case | changes
        graph = Graph((Triple(*triple) for triple in self.trees["triples"]), predicate=case["predicate"])
        tree = grow(given(case["words"]), graph, self.tokens, case["max_entities"])
        return blind(row(tree, kind), length)

    def batch(self, cases: str, kind: Kind, predicate: str) -> tuple[Batch, list[Row]]:
        length = self.config["batch_max_length"]
        changes = {"predicate": self.config[predicate], "max_entities": self.config["max_entities"]}
        rows = [self.read(number, kind, length, **changes) for number in self.config[cases]]
        return collate(rows, self.tokens.padding, length), rows


@pytest.fixture(scope="module")
def golden_kbert(golden_case: Path) -> Golden:
    def listed(name: str) -> Any:
        return json.loads((golden_case / name).read_text(encoding="utf-8"))

    vocabulary = {token: place for place, token in enumerate(listed("vocab.json"))}
    tokens = Characters(vocabulary, lowercase=False)
    return Golden(golden_case, listed("config.json"), listed("trees.json"), tokens)


@pytest.fixture(scope="module")
def folder_of(golden_case: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A checkpoint folder with the weights of that name and the golden configuration."""

    def make(name: str) -> Path:
        folder = tmp_path_factory.mktemp(name)
        (folder / CONFIG).write_bytes((golden_case / CONFIG).read_bytes())
        weights = f"{name}.weights.safetensors"
        (folder / "model.safetensors").write_bytes((golden_case / weights).read_bytes())
        return folder

    return make


@pytest.fixture(scope="module")
def tagger(folder_of: Any) -> Tagger:
    return load_tagger(stored(folder_of("tagger")))


@pytest.fixture(autouse=True)
def no_gradients() -> Iterator[None]:
    with torch.inference_mode():
        yield


def classifier(folder: Path, pooling: Any, pool_padding: bool = True) -> Classifier:
    return load_classifier(stored(folder), pooling, pool_padding=pool_padding)


@pytest.fixture(scope="module")
def classifiers(folder_of: Any) -> dict[str, Classifier]:
    folder = folder_of("classifier")
    return {pooling: classifier(folder, pooling) for pooling in POOLINGS}


def assert_inputs(batch: Batch, io: dict[str, Tensor], prefix: str) -> None:
    assert batch.ids.equal(io[prefix + "token_ids"])
    assert batch.positions.equal(io[prefix + "soft_positions"])
    assert batch.segments.equal(io[prefix + "segment_ids"])
    assert batch.visible.equal(io[prefix + "visible_matrix"].bool())


def assert_states(actual: Tensor, expected: Tensor, real: Tensor) -> None:
    torch.testing.assert_close(actual[real], expected[real], **REAL)
    torch.testing.assert_close(actual, expected, **PADDED)


def test_the_graph_reads_the_lines_the_authors_read(golden_kbert: Golden) -> None:
    raw = json.loads((golden_kbert.folder / "kg_parse.json").read_text(encoding="utf-8"))
    parsed = parse_spo(raw["lines"])
    for predicate in (True, False):
        graph = Graph(parsed.triples, predicate=predicate)
        values = {subject: sorted(fact.text for fact in graph.facts(subject)) for subject in graph.subjects()}
        assert values == raw["lookup_sorted"][f"predicate_{str(predicate).lower()}"]


def test_every_tree_is_the_authors(golden_kbert: Golden) -> None:
    tensors = golden_kbert.tensors("trees")
    assert len(tensors) == 4 * len(golden_kbert.trees["cases"])
    for case in golden_kbert.trees["cases"]:
        length, name = case["max_length"], f"{case['name']}: "
        made = golden_kbert.read(case["id"], "single", length)
        batch = collate([made], golden_kbert.tokens.padding, length)
        texts = [token.text for token in made.tokens] + ["[PAD]"] * (length - len(made))
        injected = [int(token.injected) for token in made.tokens] + [0] * (length - len(made))
        assert texts == case["tokens"], name
        assert batch.ids[0].tolist() == case["token_ids"], name
        assert batch.positions[0].tolist() == case["soft_positions"], name
        assert injected == case["segments"], name
        assert len(made) == case["num_real"], name
        stem = f"case{case['id']:02d}."
        assert batch.visible[0].equal(tensors[stem + "visible_matrix"].bool()), name
        assert batch.ids[0].equal(tensors[stem + "token_ids"]), name
        assert batch.positions[0].equal(tensors[stem + "soft_positions"]), name
        assert injected == tensors[stem + "segments"].tolist(), name


@pytest.mark.parametrize("kind", ["single", "pair"])
def test_the_classifier_is_the_authors(
    golden_kbert: Golden, classifiers: dict[str, Classifier], kind: Kind
) -> None:
    io, prefix = golden_kbert.tensors("classifier.io"), f"{kind}."
    batch, _ = golden_kbert.batch(f"classifier_{kind}_cases", kind, "classifier_predicate")
    assert_inputs(batch, io, prefix)
    bert, blurred = classifiers["first"].bert, batch.without_visible_matrix()
    embedded = bert.embedding(batch.ids, batch.positions, batch.segments)
    torch.testing.assert_close(embedded, io[prefix + "embedding_output"], **REAL)
    assert_states(bert.read(batch), io[prefix + "encoder_output"], batch.real)
    assert_states(bert.read(blurred), io[prefix + "encoder_output_no_vm"], batch.real)
    without = bert(batch.ids, batch.positions, batch.segments)
    assert_states(without, io[prefix + "encoder_output_no_vm"], batch.real)
    for pooling, model in classifiers.items():
        close = REAL if pooling == "first" else PADDED
        torch.testing.assert_close(model(batch), io[f"{prefix}logits.{pooling}"], **close)
    torch.testing.assert_close(classifiers["first"](blurred), io[prefix + "logits_no_vm.first"], **REAL)
    loss = Classifier.loss(classifiers["first"](batch), io[prefix + "labels"])
    torch.testing.assert_close(loss[None], io[prefix + "loss.first"], **REAL)


def test_pooling_the_first_token_needs_no_parity_switch(golden_kbert: Golden, folder_of: Any) -> None:
    io, model = golden_kbert.tensors("classifier.io"), classifier(folder_of("classifier"), "first", False)
    batch, _ = golden_kbert.batch("classifier_single_cases", "single", "classifier_predicate")
    torch.testing.assert_close(model(batch), io["single.logits.first"], **REAL)


def test_the_tagger_is_the_authors(golden_kbert: Golden, tagger: Tagger) -> None:
    io = golden_kbert.tensors("tagger.io")
    batch, rows = golden_kbert.batch("tagger_cases", "tagging", "tagger_predicate")
    assert_inputs(batch, io, "")
    assert (batch.branch > 0).long().equal(io["injected"])
    assert_states(tagger.bert.read(batch), io["encoder_output"], batch.real)
    logits, labels = tagger(batch), io["labels"]
    assert_states(logits, io["logits"], batch.real)
    torch.testing.assert_close(Tagger.loss(logits, labels)[None], io["loss"], **REAL)
    predicted = logits.argmax(-1)
    assert predicted[batch.real].equal(io["predict"][batch.real])
    assert int(((predicted == labels) & (labels > 0)).sum()) == int(io["correct"])
    for made, row_labels in zip(rows, labels.tolist(), strict=True):
        found = [place for place, label in enumerate(row_labels) if label == ENT_LABEL]
        assert found == [place for place, token in enumerate(made.tokens) if token.injected]


def test_the_encoder_alone_loads_from_a_file_with_heads(golden_kbert: Golden, folder_of: Any) -> None:
    io = golden_kbert.tensors("tagger.io")
    batch, _ = golden_kbert.batch("tagger_cases", "tagging", "tagger_predicate")
    encoder = load_encoder(stored(folder_of("tagger")))
    assert_states(encoder.read(batch), io["encoder_output"], batch.real)
