"""The bank computes what the authors' code computes: logits, activations, answers and edits, on two engines.

Tolerance 1e-4: the golden numbers are fp32, and a float64 recomputation of them differs by up to 1.6e-5.
"""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor
from transformers import DynamicCache, EncoderDecoderCache, T5ForConditionalGeneration

from models.nkb.bank import Bank, bank_of
from models.nkb.checkpoint import load_nkb
from models.nkb.decode import Decoder
from models.nkb.interpret import value_tokens
from models.nkb.overlay import Overlay
from models.nkb.surgery import choose_slot
from models.nkb.trace import trace

CLOSE: dict[str, Any] = {"atol": 1e-4, "rtol": 0}


@dataclass(frozen=True)
class Case:
    t5: T5ForConditionalGeneration
    decoder: Decoder
    io: dict[str, Tensor]
    meta: dict[str, Any]

    def states(self, ids: Tensor, mask: Tensor) -> Tensor:
        states: Tensor = self.t5.encoder(input_ids=ids, attention_mask=mask).last_hidden_state
        return states

    @property
    def max_length(self) -> int:
        return int(self.meta["greedy"]["max_length"])

    def bank(self, layer: int) -> Bank:
        bank = bank_of(self.t5, layer)
        assert bank is not None
        return bank


@pytest.fixture(scope="module")
def case(golden_case: Path, tmp_path_factory: pytest.TempPathFactory) -> Case:
    folder = tmp_path_factory.mktemp(golden_case.name)
    shutil.copy(f"{golden_case}.config.json", folder / "config.json")
    shutil.copy(f"{golden_case}.weights.safetensors", folder / "model.safetensors")
    t5 = load_nkb(folder)
    meta = json.loads(Path(f"{golden_case}.meta.json").read_text())
    return Case(t5, Decoder(t5), load_file(f"{golden_case}.io.safetensors"), meta)


def engine_logits(
    case: Case, ids: Tensor, mask: Tensor, inputs: Tensor, read: Overlay | None = None
) -> Tensor:
    run = case.decoder.begin(case.states(ids, mask), mask, [read] * len(ids))
    return case.decoder.head(case.decoder.forward(run, inputs))


def model_logits(case: Case, ids: Tensor, mask: Tensor, inputs: Tensor) -> Tensor:
    logits: Tensor = case.t5(input_ids=ids, attention_mask=mask, decoder_input_ids=inputs).logits
    return logits


def model_answers(case: Case, ids: Tensor, mask: Tensor) -> Tensor:
    cache = EncoderDecoderCache(
        DynamicCache(), DynamicCache()
    )  # its default has as many layers as the encoder
    answers: Tensor = case.t5.generate(
        input_ids=ids, attention_mask=mask, max_length=case.max_length, do_sample=False, cache=cache
    )
    return answers


def engine_answers(case: Case, ids: Tensor, mask: Tensor, read: Overlay | None = None) -> list[list[int]]:
    """Return rows as the authors write them: start, answer, end."""
    answers = case.decoder.generate(
        case.states(ids, mask), mask, overlays=[read] * len(ids), max_tokens=case.max_length - 1
    )
    return [[0, *answer.tokens, *([1] if answer.finished else [])] for answer in answers]


def strip_padding(rows: Tensor) -> list[list[int]]:
    """Return rows cut after their end token."""
    return [row[: row.index(1) + 1] if 1 in row else row for row in rows.tolist()]


@contextmanager
def columns_kept(bank: Bank) -> Iterator[None]:
    """Put the bank's values back afterwards, bit for bit."""
    before = bank.wo_ex.weight.clone()
    try:
        yield
    finally:
        bank.wo_ex.weight.copy_(before)


def test_the_encoder_leaves_the_authors_states(case: Case) -> None:
    io, real = case.io, case.io["attention_mask"].bool()
    actual = case.states(io["input_ids"], io["attention_mask"])
    torch.testing.assert_close(actual[real], io["encoder_last_hidden_state"][real], **CLOSE)


@pytest.mark.parametrize("logits_of", [model_logits, engine_logits], ids=["transformers", "decoder"])
@pytest.mark.parametrize("key", ["logits", "logits_no_attention_mask"])
def test_teacher_forced_logits_are_the_authors(case: Case, logits_of: Any, key: str) -> None:
    io = case.io
    mask = io["attention_mask"] if key == "logits" else torch.ones_like(io["attention_mask"])
    actual = logits_of(case, io["input_ids"], mask, io["decoder_input_ids"])
    torch.testing.assert_close(actual, io[key], **CLOSE)


@pytest.mark.parametrize("logits_of", [model_logits, engine_logits], ids=["transformers", "decoder"])
def test_first_step_logits_are_the_authors(case: Case, logits_of: Any) -> None:
    io = case.io
    actual = logits_of(case, io["input_ids"], io["attention_mask"], io["decoder_input_ids"][:, :1])
    torch.testing.assert_close(actual[:, 0], io["first_step_logits"], **CLOSE)


def test_every_bank_fires_as_the_authors_does(case: Case) -> None:
    io, activations = case.io, {}
    hooks = [
        case.bank(layer).wi_ex.register_forward_hook(
            lambda _, __, out, at=layer: activations.update({at: out.relu()})
        )
        for layer in case.meta["bank_layers"]
    ]
    model_logits(case, io["input_ids"], io["attention_mask"], io["decoder_input_ids"])
    for hook in hooks:
        hook.remove()
    assert sorted(activations) == case.meta["bank_layers"]
    for layer, actual in activations.items():
        torch.testing.assert_close(actual, io[f"bank_act.layer{layer}"], **CLOSE)
        torch.testing.assert_close(actual[:, 0], io[f"first_step_bank_act.layer{layer}"], **CLOSE)


def test_the_trace_reads_the_last_bank_as_the_authors_does(case: Case) -> None:
    io, last = case.io, len(case.decoder.layers) - 1
    if last not in case.meta["bank_layers"]:
        assert case.decoder.layers[last].feed_forward.slots is None
        return
    inputs = io["decoder_input_ids"]
    targets = torch.cat([inputs[:, 1:], torch.ones_like(inputs[:, :1])], 1)
    read = trace(
        case.decoder, case.states(io["input_ids"], io["attention_mask"]), io["attention_mask"], targets
    )
    torch.testing.assert_close(read.a, io[f"bank_act.layer{last}"], **CLOSE)
    torch.testing.assert_close(case.decoder.head(read.s + read.ex), io["logits"], **CLOSE)


def test_greedy_answers_are_the_authors(case: Case) -> None:
    io = case.io
    expected = strip_padding(io["generated_ids"])
    assert strip_padding(model_answers(case, io["input_ids"], io["attention_mask"])) == expected
    assert engine_answers(case, io["input_ids"], io["attention_mask"]) == expected


def test_surgery_changes_the_column_and_the_answers_as_the_authors_does(case: Case) -> None:
    prefixes = [f"edit{edit['index']}." for edit in case.meta["edits"]]
    assert {key.split(".")[0] + "." for key in case.io if key.startswith("edit")} == set(prefixes)
    for edit, prefix in zip(case.meta["edits"], prefixes, strict=True):
        check_edit(case, edit, prefix)


def check_edit(case: Case, edit: dict[str, Any], prefix: str) -> None:
    io, layer, slot = case.io, edit["layer"], edit["slot"]
    bank, ids = case.bank(layer), case.io[prefix + "question_ids"]
    if edit["slot_selection"] == "argmax_first_step":
        assert choose_slot(io[prefix + "first_step_bank_act"][0]) == slot
    embedding = case.t5.shared.weight
    direction = embedding[edit["new_token"]] - embedding[edit["old_token"]]
    torch.testing.assert_close(bank.values[slot], io[prefix + "wo_ex_column_before"], **CLOSE)
    row = bank.values[slot] + edit["lambda"] * direction
    torch.testing.assert_close(row, io[prefix + "wo_ex_column_after"], **CLOSE)
    read = Overlay({layer: (torch.tensor([slot]), row[None])})
    check_answers(case, edit, "before", None)
    with columns_kept(bank):
        bank.wo_ex.weight[:, slot] = row
        check_logits(case, prefix, ids, read)
        check_answers(case, edit, "after", read)
        torch.testing.assert_close(bank.values[slot], row, atol=0, rtol=0)
    check_logits_before(case, prefix, ids)


def check_logits(case: Case, prefix: str, ids: Tensor, read: Overlay) -> None:
    io, start, mask = case.io, torch.zeros(1, 1, dtype=torch.long), torch.ones_like(ids)
    first, all_steps = io[prefix + "first_step_logits_after"], io[prefix + "logits_after"]
    questions = io["input_ids"], io["attention_mask"], io["decoder_input_ids"]
    torch.testing.assert_close(model_logits(case, ids, mask, start)[:, 0], first, **CLOSE)
    torch.testing.assert_close(engine_logits(case, ids, mask, start, read)[:, 0], first, **CLOSE)
    torch.testing.assert_close(model_logits(case, *questions), all_steps, **CLOSE)
    torch.testing.assert_close(engine_logits(case, *questions, read), all_steps, **CLOSE)


def check_logits_before(case: Case, prefix: str, ids: Tensor) -> None:
    start, expected = torch.zeros(1, 1, dtype=torch.long), case.io[prefix + "first_step_logits_before"]
    torch.testing.assert_close(model_logits(case, ids, torch.ones_like(ids), start)[:, 0], expected, **CLOSE)
    torch.testing.assert_close(engine_logits(case, ids, torch.ones_like(ids), start)[:, 0], expected, **CLOSE)


def check_answers(case: Case, edit: dict[str, Any], when: str, read: Overlay | None) -> None:
    ids = case.io[f"edit{edit['index']}.question_ids"]
    expected = strip_padding(torch.tensor([edit[f"generated_{when}"]]))
    assert strip_padding(model_answers(case, ids, torch.ones_like(ids))) == expected
    assert engine_answers(case, ids, torch.ones_like(ids), read) == expected
    if when == "after":
        assert expected[0][1] == edit["first_token_after"]
        assert edit["success"] == (expected[0][1] == edit["new_token"])


def test_values_raise_the_words_the_authors_list(case: Case) -> None:
    prefix = "value_vocab_top10_ids."
    for key in (key for key in case.io if key.startswith(prefix)):
        layer = int(key.removeprefix(prefix + "layer"))
        probabilities, ids = value_tokens(case.bank(layer).values, case.t5.shared.weight, 10)
        assert ids.equal(case.io[key])
        torch.testing.assert_close(probabilities, case.io[f"value_vocab_top10_probs.layer{layer}"], **CLOSE)
