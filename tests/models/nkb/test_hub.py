"""Any T5 is edited with its own tokenizer; a fault of a folder is described in words."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from models.contract import check_contract, check_reply
from models.kit.checkpoint import CheckpointError
from models.memory import AnswerChange
from models.nkb.bank import BankConfig
from models.nkb.hub import HubSystem, load
from models.nkb.memory import BankMemory, BankOptions
from models.system import Ask, Bundle
from tests.models.nkb.small_t5 import corrections, in_ledger_order, write_small_t5

CPU, FLOAT = torch.device("cpu"), torch.float32
N_EDITS = 100


@pytest.fixture(scope="module", params=[None, BankConfig((1, 2), 16, True)], ids=["plain", "authors"])
def bundle(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    folder = write_small_t5(tmp_path_factory.mktemp("t5") / "small", request.param)
    return load(CPU, FLOAT, str(folder))


def answers(bundle: Bundle, image: object, questions: list[str]) -> list[str | None]:
    (memory,) = bundle.memories
    assert isinstance(memory, BankMemory)
    view = {memory.name: memory.view(image)}  # type: ignore[arg-type]
    return [
        reply.answer for reply in bundle.system.answer([Ask(q) for q in questions], [view] * len(questions))
    ]


def test_a_hundred_edits_are_answered_and_taken_back(bundle: Bundle) -> None:
    (memory,) = bundle.memories
    pairs = corrections(N_EDITS)
    changes = [AnswerChange(f"e{n}", question, answer) for n, (question, answer) in enumerate(pairs)]
    materials = in_ledger_order(memory.build(changes, BankOptions()))  # type: ignore[arg-type]
    questions = [question for question, _ in pairs]
    before = answers(bundle, memory.base, questions)
    after = answers(bundle, memory.fold(materials), questions)
    assert sum(a == answer for a, (_, answer) in zip(after, pairs, strict=True)) >= 0.99 * N_EDITS
    assert answers(bundle, memory.fold(()), questions) == before


def test_it_keeps_the_contract_under_its_own_names(bundle: Bundle) -> None:
    check_reply(check_contract(bundle, "flan"))
    assert bundle.system.name == "small"
    assert [memory.name for memory in bundle.memories] == ["nkb/bank/small"]


def test_a_row_has_the_same_bits_whatever_was_edited_before(bundle: Bundle) -> None:
    assert isinstance(bundle.system, HubSystem)
    folder = bundle.system.reader.folder
    fresh = load(CPU, FLOAT, str(folder))
    change = AnswerChange("e", *corrections(3)[2])
    blocks = [b.memories[0].build([change], BankOptions())[0].block for b in (bundle, fresh)]  # type: ignore[union-attr]
    assert blocks[0].digest == blocks[1].digest
    assert bundle.memories[0].base == fresh.memories[0].base


def without_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()


def damaged_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").write_text("{}")


def another_architecture(folder: Path) -> None:
    change_config(folder, model_type="bert")


def change_config(folder: Path, **fields: object) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | fields))


def no_end_token(folder: Path) -> None:
    change_config(folder, eos_token_id=None)


def start_token_beyond_the_vocabulary(folder: Path) -> None:
    change_config(folder, decoder_start_token_id=99_999)


def layers_in_words(folder: Path) -> None:
    change_config(folder, num_layers="two")


def no_heads(folder: Path) -> None:
    change_config(folder, num_heads=0)


def damaged_index(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors.index.json").write_text('{"weight_map": [')


def half_of_the_weights(folder: Path) -> None:
    data = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(data[: len(data) // 2])


def fewer_pieces_than_the_tokenizer(folder: Path) -> None:
    write_small_t5(folder / "other")
    change_config(folder, vocab_size=100)


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (without_tokenizer, "has no tokenizer.json, the vocabulary of the T5: save it there"),
        (damaged_tokenizer, "tokenizer.json cannot be read as a tokenizer"),
        (another_architecture, "does not describe a T5: model_type must be 't5'"),
        (no_end_token, "has no usable eos_token_id: it must be a token from 0 to 511, not None"),
        (start_token_beyond_the_vocabulary, "has no usable decoder_start_token_id"),
        (layers_in_words, "is not a whole T5: Validation error for field 'num_layers'"),
        (no_heads, "is not a whole T5"),
        (damaged_index, "index.json does not say which tensor lies in which file"),
        (half_of_the_weights, "cannot be read as tensors"),
        (fewer_pieces_than_the_tokenizer, "in another shape than its settings say"),
    ],
)
def test_what_is_wrong_with_a_folder_is_told(
    tmp_path: Path, damage: Callable[[Path], None], words: str
) -> None:
    folder = write_small_t5(tmp_path / "small")
    damage(folder)
    with pytest.raises(CheckpointError, match=words):
        load(CPU, FLOAT, str(folder))


def test_a_folder_that_is_the_present_one_has_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(write_small_t5(tmp_path / "small"))
    assert [memory.name for memory in load(CPU, FLOAT, ".").memories] == ["nkb/bank/small"]


@pytest.mark.parametrize(
    ("path", "revision", "words"),
    [
        ("", None, "no T5 is named: give a folder or a name on the hub"),
        ("google/flan-t5-small", None, "pin `revision` to a commit of 40 hex digits"),
        ("google/flan-t5-small", "main", "pin `revision` to a commit of 40 hex digits"),
        ("/there/is/no/folder", None, "is neither a folder nor a name on the hub"),
    ],
)
def test_a_name_without_a_commit_is_told(path: str, revision: str | None, words: str) -> None:
    with pytest.raises(CheckpointError, match=words):
        load(CPU, FLOAT, path, revision)
