"""PaddleNLP's folder of a tiny model, written as PaddlePaddle writes it."""

import json
import pickle
from pathlib import Path
from typing import Any

from numpy.typing import NDArray
from torch import Tensor

from models.ernie_doc.model import ErnieDoc
from models.ernie_doc.paddle import LINEAR, PADDLE_CONFIG, PADDLE_WEIGHTS, PREFIX, STRUCTURE

Arrays = dict[str, Any]


def paddle_arrays(model: ErnieDoc) -> Arrays:
    def array(name: str, value: Tensor) -> NDArray[Any]:
        return (value.T if name.endswith(LINEAR) else value).contiguous().numpy()

    arrays = {name: array(name, value) for name, value in model.state_dict().items()}
    return {name if name.startswith("linear.") else PREFIX + name: value for name, value in arrays.items()}


def paddle_config(model: ErnieDoc) -> dict[str, Any]:
    config = model.config
    body = {
        "init_class": "ErnieDocModel",
        "vocab_size": config.vocab,
        "hidden_size": config.width,
        "num_hidden_layers": config.layers,
        "num_attention_heads": config.heads,
        "max_position_embeddings": config.segment,
        "memory_len": config.memory,
        "task_type_vocab_size": config.task_types,
        "hidden_dropout_prob": 0.0,
        "attention_dropout_prob": 0.0,
        "relu_dropout": 0.0,
        "hidden_act": "gelu",
        "epsilon": 1e-12,
        "cls_token_idx": 0 if config.pools_first else -1,
    }
    head = {"init_class": "ErnieDocForQuestionAnswering"}
    if config.classes:
        head = {"init_class": "ErnieDocForSequenceClassification", "num_classes": config.classes}
    return {"init_args": [body], "dropout": 0.1, **head}


def write_paddle(model: ErnieDoc, folder: Path, extra: Arrays | None = None, protocol: int = 4) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / PADDLE_CONFIG).write_text(json.dumps(paddle_config(model)))
    content = paddle_arrays(model) | {STRUCTURE: {"linear.bias": "linear_0.b_0"}} | (extra or {})
    (folder / PADDLE_WEIGHTS).write_bytes(pickle.dumps(content, protocol=protocol))
    return folder
