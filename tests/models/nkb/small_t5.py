"""A small T5, and ledgers in an order."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import T5Config, T5ForConditionalGeneration

from models.memory import AnswerChange, Material, Views
from models.nkb.bank import BankConfig
from models.nkb.checkpoint import write
from models.nkb.memory import BANK, BankMemory, BankOptions
from models.packs.pack import Pack
from tests.models.nkb.conftest import mount_full


def write_small_t5(folder: Path, bank: BankConfig | None = None) -> Path:
    """Write a T5 with its tokenizer to a folder.

    Args:
        folder: The folder, which need not be there.
        bank: Bank that it has already, as the authors' checkpoints do.
    """
    torch.manual_seed(5)
    t5 = T5ForConditionalGeneration(
        T5Config(
            vocab_size=512, d_model=64, d_kv=16, d_ff=96, num_heads=4, num_layers=2, num_decoder_layers=3,
            decoder_start_token_id=0, feed_forward_proj="gated-gelu",
        )
    ).eval()  # fmt: skip
    write(t5 if bank is None else mount_full(t5, bank), folder)
    write_tokenizer(folder / "tokenizer.json")
    return folder


def write_tokenizer(path: Path) -> None:
    """Train a byte-level vocabulary on the questions of the pack."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=500,
        special_tokens=["<pad>", "</s>", "<unk>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    texts = [f"{item.relation.question(item.subject.label)} {item.answer}" for item in Pack.load().items()]
    tokenizer.train_from_iterator(texts[:500], trainer)
    tokenizer.save(str(path))


def corrections(count: int) -> list[tuple[str, str]]:
    """Return questions about different subjects, each with the answer of another one."""
    items = {item.subject.id: item for item in Pack.load().items()}
    subjects = list(items.values())[::7][:count]
    answers = [item.answer for item in subjects[1:]] + [subjects[0].answer]
    return [
        (item.relation.question(item.subject.label), answer)
        for item, answer in zip(subjects, answers, strict=True)
    ]


def in_ledger_order(materials: Sequence[Material]) -> list[Material]:
    return [replace(m, block=replace(m.block, order=place)) for place, m in enumerate(materials, 1)]


def options(method: str) -> BankOptions:
    return BankOptions.model_validate({"method": method})


def build(memory: BankMemory, changes: Sequence[AnswerChange], method: str = "gated") -> list[Material]:
    """Build changes, none of which may be refused."""
    results = memory.build(changes, options(method))
    materials = [result for result in results if isinstance(result, Material)]
    assert len(materials) == len(changes), "a change is refused"
    return in_ledger_order(materials)


def read(memory: BankMemory, materials: Sequence[Material] = ()) -> Views:
    return {BANK: memory.view(memory.fold(materials))}
