"""The same weights under plain transformers: BertModel, then T5's own generate. The peer of the in-process figure."""

from collections.abc import Sequence

import torch
from transformers import (
    BertConfig,
    BertModel,
    PreTrainedTokenizerFast,
    T5Config,
    T5ForConditionalGeneration,
)
from transformers.modeling_outputs import BaseModelOutput

from models.encoder.weights import find
from models.kit.checkpoint import fill, read_config, read_tensors
from models.nkb.backbone import build
from models.nkb.bank import mount
from models.nkb.reader import Reader
from models.nkb.system import MAX_TOKENS


def load_t5(reader: Reader) -> T5ForConditionalGeneration:
    """Load the reader's checkpoint into the library's own class."""
    t5 = mount(build(T5Config.from_dict(read_config(reader.folder))), reader.bank)
    fill(t5, read_tensors(reader.folder), reader.folder)
    return t5.to(reader.device).eval()  # type: ignore[no-any-return]


class PlainTransformers:
    """Answer questions with the library alone."""

    def __init__(self, reader: Reader) -> None:
        files = find()
        config = BertConfig(
            hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536
        )
        self.bert = BertModel(config, add_pooling_layer=False).eval()
        weights = {k: v for k, v in files.weights.items() if not k.startswith("pooler")}
        weights.pop("embeddings.position_ids", None)
        self.bert.load_state_dict(weights)
        self.bert.to(reader.encoder.device)
        self.tokenizer = PreTrainedTokenizerFast(tokenizer_object=files.tokenizer(), pad_token="[PAD]")
        self.t5, self.answers = load_t5(reader), reader.tokenizer

    @torch.inference_mode()
    def answer(self, questions: Sequence[str]) -> list[str]:
        tokens = self.tokenizer(list(questions), padding=True, return_tensors="pt").to(self.bert.device)
        states = self.t5.encoder(self.bert(**tokens).last_hidden_state)
        answers = self.t5.generate(
            encoder_outputs=BaseModelOutput(last_hidden_state=states),
            attention_mask=tokens["attention_mask"],
            max_new_tokens=MAX_TOKENS,
            do_sample=False,
        )
        return [self.answers.decode(row).strip() for row in answers.tolist()]
