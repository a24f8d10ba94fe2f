"""The reader while it learns: rows of tokens as batches, MiniLM's layers and a head that points.

The head is that of Ram et al. (arXiv:2101.00438, section 3.2): a question is the state q of its [MASK], and a token
with state x begins its answer with the logit x^T S q and ends it with x^T L q.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence
from transformers import BertConfig, BertModel

from models.encoder.bert import EPSILON, HEADS, LAYERS, WIDTH
from models.encoder.weights import find

NEVER = -1e4  # logit of a token that is no part of the text
NO_ANSWER = (0, 0)  # span of [CLS], which stands for no answer


@dataclass(frozen=True)
class Row:
    """Tokens that are read together."""

    ids: Sequence[int]  # ids of the tokens, [CLS] first
    asks: Sequence[int]  # places of the tokens whose states are the questions
    # First and last place of the answer of each question; `NO_ANSWER` if there is none
    answers: Sequence[tuple[int, int]]
    first: int  # first place of the text, before which no answer lies
    last: int  # place behind the text


@dataclass(frozen=True)
class Batch:
    """Rows of one step."""

    ids: Int[Tensor, "batch token"]  # ids of the tokens, padded
    is_real: Bool[Tensor, "batch token"]  # false at padding
    rows: Int[Tensor, " question"]  # row of each question
    asks: Int[Tensor, " question"]  # place of each question in its row
    answers: Int[Tensor, "question 2"]  # first and last place of each answer
    may_answer: Bool[Tensor, "question token"]  # for each question, where an answer may lie

    def to(self, device: torch.device) -> "Batch":
        """Return the batch on a device."""
        return Batch(*(getattr(self, name).to(device) for name in self.__dataclass_fields__))


def collate(rows: Sequence[Row], padding: int) -> Batch:
    """Make a batch of rows."""
    ids = pad_sequence([torch.tensor(row.ids) for row in rows], batch_first=True, padding_value=padding)
    places = torch.arange(ids.shape[1])
    lengths = torch.tensor([len(row.ids) for row in rows])
    numbers = torch.tensor([number for number, row in enumerate(rows) for _ in row.asks])
    firsts, lasts = (
        torch.tensor([getattr(row, name) for row in rows])[numbers] for name in ("first", "last")
    )
    is_text = (places >= firsts[:, None]) & (places < lasts[:, None])
    return Batch(
        ids,
        places < lengths[:, None],
        numbers,
        torch.tensor([ask for row in rows for ask in row.asks]),
        torch.tensor([answer for row in rows for answer in row.answers]),
        is_text | (places == 0),
    )


def make_minilm(dropout: float, attention: str = "sdpa") -> BertModel:
    """Make MiniLM's layers for a training; `attention` is `sdpa`, or `eager`, which writes it out."""
    bert = BertModel(
        BertConfig(
            hidden_size=WIDTH,
            num_hidden_layers=LAYERS,
            num_attention_heads=HEADS,
            intermediate_size=4 * WIDTH,
            hidden_dropout_prob=dropout,
            attention_probs_dropout_prob=0.0,
            layer_norm_eps=EPSILON,
            attn_implementation=attention,
        ),
        add_pooling_layer=False,
    )
    bert.load_state_dict(dict(find().weights), strict=False)
    return bert


class ReadingNet(nn.Module):
    """MiniLM with the head; tensors bear Hugging Face's names."""

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.bert = make_minilm(dropout)
        self.bert.embeddings.word_embeddings.weight.requires_grad_(False)
        self.first, self.last = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(2))

    def forward(self, batch: Batch) -> Float[Tensor, "question token 2"]:
        """Return the logits of the first and the last token of each question's answer; place 0 is no answer."""
        states = self.bert(batch.ids, attention_mask=batch.is_real.long()).last_hidden_state
        questions = states[batch.rows, batch.asks]
        logits = torch.stack(
            [
                torch.einsum("qtw,qw->qt", states[batch.rows], head(questions))
                for head in (self.first, self.last)
            ],
            -1,
        )
        logits = logits.float() * WIDTH**-0.5
        masked: Tensor = logits.masked_fill(~batch.may_answer[..., None], NEVER)
        return masked

    def load(self, weights: Mapping[str, Tensor]) -> None:
        """Start from the tensors of a checkpoint, as `weights` returns them."""
        names = {name: name if name.startswith(("first.", "last.")) else f"bert.{name}" for name in weights}
        faults = self.load_state_dict(
            {names[name]: value.float() for name, value in weights.items()}, strict=False
        )
        if faults.unexpected_keys or any("word_embeddings" not in name for name in faults.missing_keys):
            raise ValueError(f"these are not the weights of a reader: {faults}")

    def weights(self) -> Mapping[str, Tensor]:
        """Return the tensors that a checkpoint stores: all but the words, which stay MiniLM's."""
        return {
            name.removeprefix("bert."): value.detach()
            for name, value in self.state_dict().items()
            if "word_embeddings" not in name and "position_ids" not in name
        }
