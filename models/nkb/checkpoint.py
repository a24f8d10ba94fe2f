"""Folders with a mounted T5: Hugging Face's config.json and weights, plus the authors' bank keys.

Layout (specs/nkb.md, section 7), for each bank layer L:

    config.json             T5's keys, and kb_layer, ex_size, adaptive_nkb
    model.safetensors       T5's names, and decoder.block.L.layer.2.DenseReluDense.{wi_ex,wo_ex}.weight
                            and, with the adapter, .{ex_ada_in,ex_ada_out}.{weight,bias}

Also read: safetensors in shards, and pytorch_model.bin (whole or in shards), tensors only.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import T5Config, T5ForConditionalGeneration

from models.nkb.bank import Init
from models.nkb.config import BankConfig
from models.nkb.mount import mount

CONFIG, WEIGHTS, PICKLED = "config.json", "model.safetensors", "pytorch_model.bin"
TIED = ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "lm_head.weight")
UNUSED = "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"  # in old files


class CheckpointError(ValueError):
    """A folder that is not a whole checkpoint. The sentence names the file or the keys."""


def write(t5: T5ForConditionalGeneration, folder: Path) -> None:
    """Leave the model in `folder`, in fp32; equal weights give equal bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    t5.config.save_pretrained(folder)
    shared = t5.shared.weight
    state = t5.state_dict(keep_vars=True)
    kept = {name: value for name, value in state.items() if name not in TIED or value is not shared}
    tensors = {name: value.detach().float().cpu().contiguous() for name, value in sorted(kept.items())}
    save_file(tensors, folder / WEIGHTS, metadata={"format": "pt"})


def read(folder: Path, bank: BankConfig | None, init: Init) -> T5ForConditionalGeneration:
    """The model in `folder`, in evaluation mode. `bank`: mount this new one on a folder that holds none."""
    config, stored = read_config(folder)
    if bank is not None and stored.layers:
        raise CheckpointError(f"{folder} holds banks in layers {stored.layers}: load it without `bank`")
    t5 = T5ForConditionalGeneration(config)
    tensors = read_tensors(folder)
    _untie_if_different(t5, tensors)
    if stored.layers:
        mount(t5, stored, "authors")
    _fill(t5, tensors, folder)
    return (t5 if bank is None else mount(t5, bank, init)).eval()


def read_config(folder: Path) -> tuple[T5Config, BankConfig]:
    path = folder / CONFIG
    if not path.is_file():
        raise CheckpointError(f"{folder} has no {CONFIG}: not a checkpoint folder")
    try:
        raw = json.loads(path.read_text())
    except json.JSONDecodeError as cause:
        raise CheckpointError(f"{path} is not JSON: {cause}") from cause
    if not isinstance(raw, dict) or raw.get("model_type") != "t5":
        raise CheckpointError(f"{path} does not describe a T5: model_type must be 't5'")
    return T5Config.from_dict(raw), BankConfig.parse(raw)


def read_tensors(folder: Path) -> dict[str, Tensor]:
    """All weights of a folder by name; safetensors if there are any, else tensors-only unpickling."""
    readers: list[tuple[str, Callable[[Path], dict[str, Tensor]]]] = [(WEIGHTS, _safe), (PICKLED, _unpickle)]
    for name, reader in readers:
        files = list(_files(folder, name))
        if files:
            return {key: value for file in files for key, value in reader(file).items()}
    raise CheckpointError(f"{folder} has neither {WEIGHTS} nor {PICKLED}, whole or in shards")


def _files(folder: Path, name: str) -> Iterator[Path]:
    index = folder / f"{name}.index.json"
    if (folder / name).is_file():
        yield folder / name
    elif index.is_file():
        yield from (
            folder / shard for shard in sorted(set(json.loads(index.read_text())["weight_map"].values()))
        )


def _safe(path: Path) -> dict[str, Tensor]:
    return _read_file(path, load_file)


def _unpickle(path: Path) -> dict[str, Tensor]:
    return _read_file(path, lambda file: torch.load(file, map_location="cpu", weights_only=True))


def _read_file(path: Path, reader: Callable[[Path], Any]) -> dict[str, Tensor]:
    try:
        tensors = reader(path)
    except Exception as cause:
        raise CheckpointError(f"{path} cannot be read as tensors ({cause}); fetch it again") from cause
    if not isinstance(tensors, dict) or not all(isinstance(value, Tensor) for value in tensors.values()):
        raise CheckpointError(f"{path} is not a mapping of names to tensors")
    return tensors


def _untie_if_different(t5: T5ForConditionalGeneration, tensors: dict[str, Tensor]) -> None:
    """T5 v1.1 has an output matrix of its own; transformers ties it unless told otherwise."""
    head, shared = tensors.get("lm_head.weight"), tensors.get("shared.weight")
    if head is not None and shared is not None and not torch.equal(head, shared):
        t5.lm_head.weight = torch.nn.Parameter(t5.lm_head.weight.detach().clone())


def _fill(t5: T5ForConditionalGeneration, tensors: dict[str, Tensor], folder: Path) -> None:
    expected = t5.state_dict(keep_vars=True)
    shared = t5.shared.weight
    implied = {name for name in TIED if name in expected and expected[name] is shared}
    missing = sorted(set(expected) - set(tensors) - implied)
    extra = sorted(set(tensors) - set(expected) - {UNUSED})
    odd = sorted(k for k in set(tensors) & set(expected) if tensors[k].shape != expected[k].shape)
    if missing or extra or odd:
        raise CheckpointError(f"{folder}: " + "; ".join(_complaints(missing, extra, odd)))
    t5.load_state_dict({k: v for k, v in tensors.items() if k in expected}, strict=False)


def _complaints(missing: list[str], extra: list[str], odd: list[str]) -> Iterator[str]:
    if missing:
        hint = " (pass `bank` to mount a new one)" if any("_ex" in key for key in missing) else ""
        yield f"missing {_some(missing)}{hint}"
    if extra:
        yield f"not part of the model: {_some(extra)}"
    if odd:
        yield f"of another shape than config.json says: {_some(odd)}"


def _some(keys: list[str], most: int = 5) -> str:
    rest = f" and {len(keys) - most} more" if len(keys) > most else ""
    return ", ".join(keys[:most]) + rest
