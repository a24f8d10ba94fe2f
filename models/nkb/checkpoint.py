"""Folders with a mounted T5.

A folder has Hugging Face's config.json and weights, plus the authors' bank keys. Layout
(specs/nkb.md, section 7), for each bank layer L:

    config.json             T5's keys, and kb_layer, ex_size, adaptive_nkb
    model.safetensors       T5's names, and decoder.block.L.layer.2.DenseReluDense.{wi_ex,wo_ex}.weight
                            and, with the adapter, .{ex_ada_in,ex_ada_out}.{weight,bias}

models/kit/checkpoint.py says which other formats are read.
"""

from pathlib import Path

import torch
from safetensors.torch import save_file
from transformers import T5Config, T5ForConditionalGeneration

from models.kit.checkpoint import CONFIG, WEIGHTS, CheckpointError, fill, read_config, read_tensors
from models.nkb.bank import BankConfig, mount

TIED_NAMES = ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "lm_head.weight")
OBSOLETE = "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"  # a tensor of old files


def write(t5: T5ForConditionalGeneration, folder: Path) -> None:
    """Write the model to `folder`, in fp32; equal weights give equal bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    t5.config.save_pretrained(folder)
    shared = t5.shared.weight
    state = t5.state_dict(keep_vars=True)
    distinct = {name: value for name, value in state.items() if name not in TIED_NAMES or value is not shared}
    tensors = {name: value.detach().float().cpu().contiguous() for name, value in sorted(distinct.items())}
    save_file(tensors, folder / WEIGHTS, metadata={"format": "pt"})


def load_nkb(folder: Path, bank: BankConfig | None = None) -> T5ForConditionalGeneration:
    """Load a T5 in evaluation mode, its banks filled from the checkpoint, or with a new `bank`.

    CheckpointError: a tensor is missing, is no part of the model or has another shape; the text names it.
    """
    config = read_config(folder)
    if config.get("model_type") != "t5":
        raise CheckpointError(f"{folder / CONFIG} does not describe a T5: model_type must be 't5'")
    bank_config = BankConfig.parse(config)
    if bank is not None and bank_config.layers:
        raise CheckpointError(f"{folder} holds banks in layers {bank_config.layers}: load it without `bank`")
    t5 = T5ForConditionalGeneration(T5Config.from_dict(config))
    tensors = read_tensors(folder)
    head, shared = tensors.get("lm_head.weight"), tensors.get("shared.weight")
    if head is not None and shared is not None and not torch.equal(head, shared):
        # T5 v1.1 has a separate output matrix, which transformers ties by default.
        t5.lm_head.weight = torch.nn.Parameter(t5.lm_head.weight.detach().clone())
    if bank_config.layers:
        mount(t5, bank_config)
    fill(t5, {name: value for name, value in tensors.items() if name != OBSOLETE}, folder)
    return (t5 if bank is None else mount(t5, bank)).eval()
