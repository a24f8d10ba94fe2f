"""Folders in the authors' layout are read back as they were written, and faults are named."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import T5ForConditionalGeneration

from models.kit.checkpoint import CheckpointError, locate
from models.nkb.bank import BankConfig, bank_of
from models.nkb.checkpoint import load_nkb, write

Build = Callable[..., T5ForConditionalGeneration]
KEY = "decoder.block.2.layer.2.DenseReluDense.wi_ex.weight"
COMMIT = "0" * 40


def rewrite(folder: Path, change: Callable[[dict[str, Tensor]], Any]) -> None:
    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def assert_equal(actual: T5ForConditionalGeneration, expected: T5ForConditionalGeneration) -> None:
    actual_state, expected_state = actual.state_dict(), expected.state_dict()
    assert actual_state.keys() == expected_state.keys()
    assert all(actual_state[key].equal(expected_state[key]) for key in expected_state)


@pytest.fixture
def folder(build: Build, tmp_path: Path) -> Path:
    write(build((1, 2), adaptive=True), tmp_path)
    return tmp_path


def test_a_written_model_is_read_back_bit_for_bit(build: Build, kind: dict[str, Any], tmp_path: Path) -> None:
    t5 = build((1, 2), **kind)
    write(t5, tmp_path)
    model = load_nkb(tmp_path)
    assert_equal(model, t5)
    assert not model.training
    assert BankConfig.parse(vars(model.config)) == BankConfig((1, 2), 48, kind["adaptive"])


def test_equal_models_are_written_as_equal_bytes(build: Build, tmp_path: Path) -> None:
    for name in ("a", "b"):
        write(build(), tmp_path / name)
    first, second = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("a", "b"))
    assert first == second


def test_an_output_matrix_of_its_own_survives(build: Build, tmp_path: Path) -> None:
    t5 = build((2,), tie_word_embeddings=False)
    t5.lm_head.weight = torch.nn.Parameter(torch.randn(120, 32))
    write(t5, tmp_path)
    assert_equal(load_nkb(tmp_path), t5)


def test_without_the_bank_keys_transformers_reads_it_as_a_plain_t5(folder: Path) -> None:
    rewrite(folder, lambda tensors: [tensors.pop(k) for k in list(tensors) if "_ex" in k or "ex_ada" in k])
    plain, report = T5ForConditionalGeneration.from_pretrained(folder, output_loading_info=True)
    assert not any(report[kind] for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    assert bank_of(plain, 2) is None


def test_a_plain_t5_takes_a_new_bank_only_when_asked(build: Build, tmp_path: Path) -> None:
    plain = build(())
    plain.save_pretrained(tmp_path)
    assert bank_of(load_nkb(tmp_path), 2) is None
    bank = bank_of(load_nkb(tmp_path, bank=BankConfig((2,), 16, False)), 2)
    assert bank is not None
    assert bank.values.eq(0).all()


@pytest.mark.parametrize("seed", [None, 9])
def test_pickled_weights_are_read_as_tensors_unless_there_are_safetensors(
    build: Build, tmp_path: Path, seed: int | None
) -> None:
    write(build(), tmp_path)
    pickled_t5 = build() if seed is None else build(seed=seed)
    torch.save(pickled_t5.state_dict(), tmp_path / "pytorch_model.bin")
    if seed is None:
        (tmp_path / "model.safetensors").unlink()
    assert_equal(load_nkb(tmp_path), build())


def test_a_pickle_that_runs_code_is_refused(folder: Path, tmp_path: Path) -> None:
    (folder / "model.safetensors").unlink()
    trap = tmp_path / "sprung"
    torch.save({"shared.weight": Trap(trap)}, folder / "pytorch_model.bin")
    with pytest.raises(CheckpointError, match=r"pytorch_model\.bin cannot be read as tensors"):
        load_nkb(folder)
    assert not trap.exists()


class Trap:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


def test_weights_in_shards_are_read(folder: Path, build: Build) -> None:
    tensors = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    names = {key: f"model-0000{i % 2 + 1}-of-00002.safetensors" for i, key in enumerate(tensors)}
    for shard in set(names.values()):
        save_file({key: value for key, value in tensors.items() if names[key] == shard}, folder / shard)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": names}))
    assert_equal(load_nkb(folder), build((1, 2), adaptive=True))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda tensors: tensors.pop(KEY), f"lacks {KEY}"),
        (lambda tensors: tensors.update({"decoder.odd": torch.zeros(2)}), "has no place for decoder.odd"),
        (lambda tensors: tensors.update({KEY: torch.zeros(47, 32)}), f"in another shape .*{KEY}"),
        (lambda tensors: tensors.pop("shared.weight"), "lacks shared.weight"),
    ],
)
def test_weights_that_do_not_fit_are_named(folder: Path, change: Any, message: str) -> None:
    rewrite(folder, change)
    with pytest.raises(CheckpointError, match=message):
        load_nkb(folder)


def test_bank_keys_that_the_configuration_does_not_name_are_refused(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"kb_layer": "2"}))
    with pytest.raises(CheckpointError, match=r"has no place for decoder\.block\.1.*ex_ada_in"):
        load_nkb(folder)


def test_a_new_bank_over_a_stored_one_is_refused(folder: Path) -> None:
    with pytest.raises(CheckpointError, match="holds banks in layers"):
        load_nkb(folder, bank=BankConfig((2,), 48, False))


def test_cut_off_weights_are_refused_by_file(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(CheckpointError, match=r"model\.safetensors cannot be read"):
        load_nkb(folder)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not JSON"),
        ("[]", "is not a JSON object"),
        ('{"model_type": "bert"}', "does not describe a T5"),
    ],
)
def test_a_configuration_of_something_else_is_refused(folder: Path, text: str, message: str) -> None:
    (folder / "config.json").write_text(text)
    with pytest.raises(CheckpointError, match=message):
        load_nkb(folder)


@pytest.mark.parametrize("missing", ["config.json", "model.safetensors"])
def test_a_folder_without_its_files_is_refused_by_name(folder: Path, missing: str) -> None:
    (folder / missing).unlink()
    with pytest.raises(CheckpointError, match=missing.replace(".", r"\.")):
        load_nkb(folder)


@pytest.mark.parametrize(
    ("name", "revision", "message"),
    [
        *(
            ("google-t5/t5-base", revision, "pin `revision`")
            for revision in (None, "main", "v1.0", "abc123", COMMIT.upper().replace("0", "A"))
        ),
        *(
            (name, COMMIT, "neither a folder nor a name on the hub")
            for name in ("/no/such/folder", "../t5", "a/b/c", "")
        ),
        ("FOLDER", COMMIT, "has no revision"),
    ],
)
def test_a_name_that_names_no_fixed_checkpoint_is_refused(
    folder: Path, name: str, revision: str | None, message: str
) -> None:
    with pytest.raises(CheckpointError, match=message):
        locate(folder if name == "FOLDER" else name, revision)
