"""Files under either naming load exactly, and what does not match is refused instead of loaded as noise."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from transformers import BertConfig, BertForSequenceClassification, BertModel

from models.encoder.minilm import MiniLM
from models.encoder.weights import find
from models.kbert import (
    CheckpointError,
    Classifier,
    Encoder,
    EncoderConfig,
    Pointer,
    Reader,
    Tagger,
    collate,
    load_classifier,
    load_encoder,
    load_pointer,
    load_tagger,
    stored,
    write,
)
from models.kbert.encoder import fresh
from models.kbert.names import to_hf, to_uer

Build = Callable[..., Encoder]
Change = Callable[[dict[str, Tensor]], Any]
COMMIT = "0" * 40


def rewrite(folder: Path, change: Change) -> None:
    tensors = load_file(folder / "model.safetensors")
    changed = change(tensors)
    save_file(changed if isinstance(changed, dict) else tensors, folder / "model.safetensors")


def configure(folder: Path, **changes: Any) -> None:
    raw = json.loads((folder / "config.json").read_text()) | changes
    (folder / "config.json").write_text(
        json.dumps({key: value for key, value in raw.items() if value is not None})
    )


def assert_equal(actual: nn.Module, expected: nn.Module) -> None:
    left, right = actual.state_dict(), expected.state_dict()
    assert left.keys() == right.keys()
    assert all(left[key].equal(right[key]) for key in right)


@pytest.fixture
def folder(build: Build, tmp_path: Path) -> Path:
    write(build(), tmp_path)
    return tmp_path


@pytest.mark.parametrize(("naming", "norm"), [("uer", "uer"), ("uer", "bert"), ("hf", "bert")])
def test_a_written_encoder_is_read_back_bit_for_bit(
    build: Build, tmp_path: Path, naming: Any, norm: str
) -> None:
    encoder = build(norm=norm)
    if naming == "hf":
        encoder.embedding.segment_embedding.weight[0] = 0
    write(encoder, tmp_path, naming)
    loaded = load_encoder(stored(tmp_path))
    assert_equal(loaded, encoder)
    assert loaded.config == encoder.config
    assert not loaded.training


def test_equal_models_are_written_as_equal_bytes(build: Build, tmp_path: Path) -> None:
    for name in ("a", "b"):
        write(build(), tmp_path / name)
    for file in ("model.safetensors", "config.json"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_transformers_reads_what_is_written_for_it(
    build: Build, reader: Callable[..., Reader], tmp_path: Path
) -> None:
    encoder = build(norm="bert")
    write(encoder, tmp_path, "hf")
    bert, report = BertModel.from_pretrained(tmp_path, add_pooling_layer=False, output_loading_info=True)
    assert not any(report[kind] for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    batch = collate([reader().without_graph().pair("爱吃", "好")], 0)
    expected = bert(batch.ids, batch.real.long(), batch.segments - 1).last_hidden_state
    torch.testing.assert_close(encoder.read(batch), expected.detach(), atol=1e-5, rtol=0)


@pytest.mark.parametrize("pickled", [False, True])
def test_a_whole_hugging_face_model_is_read_and_its_own_head_ignored(
    small: Callable[..., EncoderConfig], tmp_path: Path, pickled: bool
) -> None:
    sizes = small(norm="bert").hf()
    model = BertForSequenceClassification(BertConfig(**{k: v for k, v in sizes.items() if k != "model_type"}))
    model.save_pretrained(tmp_path)
    if pickled:
        torch.save(load_file(tmp_path / "model.safetensors"), tmp_path / "pytorch_model.bin")
        (tmp_path / "model.safetensors").unlink()
    encoder = load_encoder(stored(tmp_path))
    assert encoder.config.norm == "bert"
    words = encoder.embedding.word_embedding.weight
    assert words.equal(model.bert.embeddings.word_embeddings.weight)
    assert encoder.embedding.segment_embedding.weight[0].eq(0).all()


def test_old_names_of_norms_and_wrapped_models_are_known(build: Build, tmp_path: Path) -> None:
    encoder = build(norm="bert")
    encoder.embedding.segment_embedding.weight[0] = 0
    write(encoder, tmp_path, "hf")

    def age(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
        old = {
            k.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): v
            for k, v in tensors.items()
        }
        return {f"module.bert.{k}": v for k, v in old.items()} | {"cls.bias": torch.zeros(1)}

    rewrite(tmp_path, age)
    assert_equal(load_encoder(stored(tmp_path)), encoder)


def test_a_uer_file_alone_needs_only_the_sizes_that_tensors_do_not_say(build: Build, tmp_path: Path) -> None:
    encoder = build()
    write(encoder, tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    target = {"target.mlm_linear_1.weight": torch.zeros(2, 2)}
    torch.save({f"module.{k}": v for k, v in tensors.items()} | target, tmp_path / "google_model.bin")
    (tmp_path / "model.safetensors").unlink()
    configure(tmp_path, vocab_size=None, max_positions=None, segment_rows=None, norm=None, model_type=None)
    assert_equal(load_encoder(stored(tmp_path)), encoder)


def test_the_norm_can_be_chosen_for_weights_under_either_name(build: Build, tmp_path: Path) -> None:
    write(build(norm="bert"), tmp_path, "hf")
    assert stored(tmp_path, norm="uer").config.norm == "uer"


def test_heads_are_read_back_and_new_ones_only_when_asked(build: Build, tmp_path: Path) -> None:
    models = {
        "classifier": fresh(Classifier(build(), 3, "mean")),
        "tagger": fresh(Tagger(build(), 5)),
        "pointer": fresh(Pointer(build())),
    }
    for name, model in models.items():
        write(model, tmp_path / name)
    read = {name: stored(tmp_path / name) for name in models}
    assert_equal(load_classifier(read["classifier"], "mean"), models["classifier"])
    assert_equal(load_tagger(read["tagger"]), models["tagger"])
    assert_equal(load_pointer(read["pointer"]), models["pointer"])
    with pytest.raises(CheckpointError, match="no output_layer_2: give `labels`"):
        load_classifier(read["tagger"], "mean")
    with pytest.raises(CheckpointError, match="no output_layer: give `labels`"):
        load_tagger(read["classifier"])
    with pytest.raises(CheckpointError, match=r"missing pointer\.bias, pointer\.weight"):
        load_pointer(read["tagger"])
    new = load_classifier(read["tagger"], "mean", labels=4)
    assert new.output_layer_2.bias.shape == (4,)
    assert_equal(new.bert, models["tagger"].bert)
    assert load_tagger(read["pointer"], labels=4).output_layer.bias.shape == (4,)
    assert not load_pointer(read["tagger"], new_head=True).training


FAULTS: dict[str, tuple[Change, str]] = {
    "a tensor gone": (
        lambda t: t.pop("encoder.transformer.1.self_attn.final_linear.bias"),
        r"missing encoder\.transformer\.1\.self_attn\.final_linear\.bias",
    ),
    "a layer more": (
        lambda t: t.update({"encoder.transformer.3.layer_norm_1.beta": torch.zeros(32)}),
        r"the model has no encoder\.transformer\.3\.layer_norm_1\.beta",
    ),
    "another shape": (
        lambda t: t.update({"encoder.transformer.0.layer_norm_1.beta": torch.zeros(31)}),
        r"another shape than config\.json says: encoder\.transformer\.0\.layer_norm_1\.beta",
    ),
    "unknown names": (
        lambda t: {k.replace("embedding.", "emb."): v for k, v in t.items()},
        "neither as UER nor as Hugging Face's BERT",
    ),
    "half translated": (
        lambda t: (
            {k: v for k, v in to_hf(t).items() if k.startswith("encoder")}
            | {k: v for k, v in t.items() if k.startswith("embedding")}
        ),
        "missing encoder.*and 43 more; the model has no encoder.layer.0",
    ),
    "another family": (
        lambda t: {f"roberta.{k}": v for k, v in to_hf(t).items()},
        "neither as UER nor as Hugging Face's BERT",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_file_that_does_not_match_is_refused(folder: Path, fault: str) -> None:
    change, sentence = FAULTS[fault]
    rewrite(folder, change)
    with pytest.raises(CheckpointError, match=sentence):
        load_encoder(stored(folder))


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"heads_num": None}, r"config\.json lacks heads_num"),
        ({"heads_num": "4"}, "heads_num: a number, not '4'"),
        ({"layers_num": 2.5}, "layers_num: a whole number, not 2.5"),
        ({"emb_size": 16}, "emb_size: 16 differs from hidden_size"),
        ({"heads_num": 5}, "heads: 5 do not divide"),
        ({"layers_num": 2}, r"the model has no encoder\.transformer\.2"),
        ({"vocab_size": 7}, r"another shape .* embedding\.word_embedding\.weight"),
    ],
)
def test_a_configuration_that_is_wrong_is_refused(
    folder: Path, changes: dict[str, Any], sentence: str
) -> None:
    configure(folder, **changes)
    with pytest.raises(CheckpointError, match=sentence):
        load_encoder(stored(folder))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("model_type", "roberta"),
        ("hidden_act", "gelu_new"),
        ("layer_norm_eps", 1e-5),
        ("position_embedding_type", "relative_key"),
    ],
)
def test_another_kind_of_bert_is_refused_by_name(build: Build, tmp_path: Path, key: str, value: Any) -> None:
    write(build(norm="bert"), tmp_path, "hf")
    configure(tmp_path, **{key: value})
    with pytest.raises(CheckpointError, match=f"{key}: K-BERT's encoder has"):
        stored(tmp_path)


def test_the_authors_norm_is_not_written_as_hugging_faces(build: Build, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="norm='uer' would compute something else"):
        write(build(), tmp_path, "hf")


class Evil:
    def __reduce__(self) -> Any:
        return print, ("a pickle ran",)


def test_a_pickle_that_is_more_than_tensors_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "model.safetensors").unlink()
    torch.save({"embedding.word_embedding.weight": Evil()}, folder / "pytorch_model.bin")
    with pytest.raises(CheckpointError, match="cannot be read as tensors"):
        stored(folder)
    assert capsys.readouterr().out == ""


def test_shards_are_read_and_lie_beside_their_index(build: Build, tmp_path: Path) -> None:
    encoder = build()
    write(encoder, tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    (tmp_path / "model.safetensors").unlink()
    halves = {"a.safetensors": list(tensors)[::2], "b.safetensors": list(tensors)[1::2]}
    for name, keys in halves.items():
        save_file({key: tensors[key] for key in keys}, tmp_path / name)
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {k: name for name, keys in halves.items() for k in keys}}))
    assert_equal(load_encoder(stored(tmp_path)), encoder)
    index.write_text(json.dumps({"weight_map": {"x": "../b.safetensors"}}))
    with pytest.raises(CheckpointError, match="outside of its folder"):
        stored(tmp_path)


def test_folders_that_are_no_checkpoints_are_refused(folder: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(CheckpointError, match=r"has no config\.json"):
        stored(empty)
    (folder / "model.safetensors").rename(folder / "a.bin")
    (folder / "b.bin").write_bytes(b"")
    with pytest.raises(CheckpointError, match=r"which of a\.bin, b\.bin\?"):
        stored(folder)
    (folder / "config.json").write_text("[")
    with pytest.raises(CheckpointError, match="is not JSON"):
        stored(folder)


@pytest.mark.parametrize(
    ("name", "revision", "sentence"),
    [
        ("no/such/thing", COMMIT, "neither a folder nor a name on the hub"),
        ("../x", COMMIT, "neither a folder nor a name on the hub"),
        ("owner/name", None, "pin `revision` to a commit of 40 hex digits"),
        ("owner/name", "main", "pin `revision` to a commit of 40 hex digits"),
    ],
)
def test_a_hub_name_needs_its_commit(name: str, revision: str | None, sentence: str) -> None:
    with pytest.raises(CheckpointError, match=sentence):
        stored(name, revision)


def test_a_folder_has_no_revision(folder: Path) -> None:
    with pytest.raises(CheckpointError, match="has no revision"):
        stored(folder, COMMIT)


def test_the_hub_is_asked_for_that_commit(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str]] = []

    def fetch(name: str, revision: str, allow_patterns: list[str]) -> str:
        asked.append((name, revision))
        return str(folder)

    monkeypatch.setattr("huggingface_hub.snapshot_download", fetch)
    load_encoder(stored("owner/name", COMMIT))
    assert asked == [("owner/name", COMMIT)]


def test_names_translate_there_and_back(build: Build) -> None:
    encoder = build(norm="bert", layers=12)
    encoder.embedding.segment_embedding.weight[0] = 0
    tensors = encoder.state_dict()
    back = to_uer(to_hf(tensors))
    assert back.keys() == tensors.keys()
    assert all(back[key].equal(tensors[key]) for key in tensors)
    assert not set(to_hf(tensors)) & set(tensors)


def test_the_default_encoder_loads_from_its_own_files() -> None:
    """all-MiniLM-L6-v2, and its states are those of the encoder that the other systems read with."""
    text = "What is the capital of Peru?"
    encoder = load_encoder(stored(find().weights.parent))
    minilm = MiniLM()
    ids = torch.tensor([minilm.tokens(text)[0]])
    with torch.inference_mode():
        actual = encoder(ids, torch.arange(ids.shape[1])[None], torch.ones_like(ids))
    torch.testing.assert_close(actual, minilm.encode([text]).states, atol=1e-5, rtol=0)
