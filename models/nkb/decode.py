"""Greedy decoding for serving: a mounted T5 decoder with fused weights, a cache, and rows that leave early.

Raffel et al., T5 (arXiv:1910.10683): RMS norms without mean or bias, attention scores that are not scaled,
one relative position bias for all layers. Equal to transformers' `generate` on the same model. Thread-safe:
weights never change, and each call has a cache of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor
from transformers import T5ForConditionalGeneration

from models.matrix import Matrix
from models.nkb.answers import Answers, Decoded
from models.nkb.fused import FeedForward, Layer, cross_keys_values, fuse
from models.nkb.position import position_bias
from models.nkb.reads import BankRead, find_changes, find_gates
from models.nkb.run import Run

__all__ = ["BankRead", "Decoded", "Decoder", "Position"]

PADDED = -1e30  # added to the score of a padded state; finite, so that a row of padding only is not NaN


@dataclass(frozen=True)
class Position:
    """The last feed-forward block, as it stood at each position of one pass.

    unit: the block's input before its norm's weight. active: weights of its own slots, then the bank's.
    h: the residual it adds to.
    """

    unit: Float[Tensor, "batch token d"]
    active: Float[Tensor, "batch token wide"]
    h: Float[Tensor, "batch token d"]


class Decoder:
    """Built once from a model, plain or mounted; later changes of the model do not reach it."""

    def __init__(self, t5: T5ForConditionalGeneration, dtype: torch.dtype = torch.float32) -> None:
        config = t5.config
        self.d_model, self.heads, self.d_kv = config.d_model, config.num_heads, config.d_kv
        self.epsilon = config.layer_norm_epsilon
        self.start = config.decoder_start_token_id
        self.ends = _ids(config.eos_token_id)
        with torch.no_grad():
            self.embedding = t5.decoder.embed_tokens.weight.detach().float().clone()
            self.layers: list[Layer] = [fuse(t5, index) for index in range(len(t5.decoder.block))]
            self._cross = cross_keys_values(t5)
            self._head = Matrix(_scaled_head(t5))
            self._bias = position_bias(t5)

    @torch.inference_mode()
    def generate(
        self,
        states: Float[Tensor, "batch state d"],
        mask: Bool[Tensor, "batch state"] | Int[Tensor, "batch state"],
        *,
        reads: Sequence[BankRead | None] | None = None,
        max_tokens: int | Sequence[int],
        top_first: int | Sequence[int] = 1,
    ) -> list[Decoded]:
        """The greedy answer of each row.

        max_tokens: most tokens of an answer, with the end token; one number for all rows or one for each.

        reads: what each row reads instead of the base; one forward pass serves them all.
        top_first: also answer greedily from each of the best so many first tokens, in the same batch; one number
            for all rows or one for each.
        """
        limits, branches = _each(max_tokens, len(states)), _each(top_first, len(states))
        self._check(states, reads, limits, branches)
        run = self.begin(states, mask, reads, max(limits))
        tokens = torch.full((len(states), 1), self.start, device=states.device)
        scores, tokens = self._best(self.forward(run, tokens), max(branches))
        scores, tokens = self._branch(run, scores, tokens, branches)
        answers = Answers(
            [n for n, count in zip(limits, branches, strict=True) for _ in range(count)], self.ends
        )
        answers.add(tokens.flatten().tolist(), scores.flatten().tolist())
        for _ in range(max(limits) - 1):
            tokens = self._leave(run, answers, tokens)
            if not len(tokens):
                break
            scores, tokens = self._best(self.forward(run, tokens), 1)
            answers.add(tokens.flatten().tolist(), scores.flatten().tolist())
        return answers.decoded(branches)

    def begin(
        self,
        states: Float[Tensor, "batch state d"],
        mask: Tensor,
        reads: Sequence[BankRead | None] | None,
        capacity: int,
    ) -> Run:
        """A run with an empty cache of `capacity` tokens. The encoder's states are read here."""
        batch, length, _ = states.shape
        shape = (batch, length, len(self.layers), 2, self.heads, self.d_kv)
        crossed = self._cross(states).view(shape).permute(2, 3, 0, 4, 1, 5).contiguous()
        cache = states.new_empty(len(self.layers), 2, batch, self.heads, capacity, self.d_kv)
        unseen = states.new_zeros(batch, length).masked_fill_(mask == 0, PADDED)[:, None, None, :]
        reads = reads or ()
        return Run(cache, crossed, unseen, find_changes(reads, self.layers), find_gates(reads, states))

    def forward(
        self, run: Run, tokens: Int[Tensor, "batch token"], keep: list[Position] | None = None
    ) -> Float[Tensor, "batch token d"]:
        """Input of the final norm for the next tokens, whose keys and values join the cache.

        keep: filled with the last feed-forward block's inner state, for those who read the bank.
        """
        end = run.length + tokens.shape[1]
        bias = self._bias[:, :, run.length : end, :end]
        x = F.embedding(tokens, self.embedding)
        for index, layer in enumerate(self.layers):
            x = self._attend(layer, x, run, index, bias)
            x = self._consult(layer, x, run, index)
            x = self._feed(layer.feed_forward, x, run, index, keep)
        run.length = end
        return x

    def head(self, x: Float[Tensor, "*position d"]) -> Float[Tensor, "*position token"]:
        """Logits of what enters the final norm. Differentiable in x."""
        return F.linear(self.unit(x), self.head_weight)

    @property
    def head_weight(self) -> Float[Tensor, "token d"]:
        """Output matrix with the final norm's weight and T5's scale multiplied in."""
        return self._head.weight

    def unit(self, x: Float[Tensor, "*position d"]) -> Float[Tensor, "*position d"]:
        """The RMS norm without its weight, which is multiplied into the matrix that reads it."""
        return F.rms_norm(x, (self.d_model,), None, self.epsilon)

    def _attend(self, layer: Layer, x: Tensor, run: Run, index: int, bias: Tensor) -> Tensor:
        batch, n_new, _ = x.shape
        qkv = layer.qkv(self.unit(x)).view(batch, n_new, 3, self.heads, self.d_kv).permute(2, 0, 3, 1, 4)
        end = run.length + n_new
        cache = run.cache[index]
        cache[:, :, :, run.length : end] = qkv[1:]
        key, value = cache[0, :, :, :end], cache[1, :, :, :end]
        seen = F.scaled_dot_product_attention(qkv[0], key, value, attn_mask=bias, scale=1.0)
        return layer.out.add(seen.transpose(1, 2).reshape(batch, n_new, -1), x)

    def _consult(self, layer: Layer, x: Tensor, run: Run, index: int) -> Tensor:
        batch, n_new, _ = x.shape
        query = layer.query(self.unit(x)).view(batch, n_new, self.heads, self.d_kv).transpose(1, 2)
        key, value = run.crossed[index]
        seen = F.scaled_dot_product_attention(query, key, value, attn_mask=run.unseen, scale=1.0)
        return layer.cross_out.add(seen.transpose(1, 2).reshape(batch, n_new, -1), x)

    def _feed(
        self, block: FeedForward, x: Tensor, run: Run, index: int, keep: list[Position] | None
    ) -> Tensor:
        unit = self.unit(x)
        active = block.activate(unit)
        is_last = index == len(self.layers) - 1
        if keep is not None and is_last:
            keep.append(Position(unit, active, x))
        gates = run.gates if is_last and run.gates is not None and run.gates.reach(run.length) else None
        bank = active[..., block.d_ff :]
        if gates is not None:
            gates.shut(bank, run.length)
        out = block.down.add(active, x)
        if index in run.changes:
            out = out + run.changes[index].effect(bank)
        if gates is not None:
            gates.add(out, run.length)
        return out

    def _best(self, x: Float[Tensor, "batch 1 d"], count: int) -> tuple[Tensor, Tensor]:
        """Log probabilities and ids of the best next tokens, best first: [batch count] each."""
        logprobs = F.log_softmax(self._head(self.unit(x[:, 0])), -1)
        if count == 1:
            best, ids = logprobs.max(-1, keepdim=True)
        else:
            best, ids = logprobs.topk(count, -1)
        return best, ids

    def _branch(
        self, run: Run, scores: Tensor, tokens: Tensor, branches: Sequence[int]
    ) -> tuple[Float[Tensor, "row 1"], Int[Tensor, "row 1"]]:
        """Go on with one row for each first token wanted; a question's rows stand together, best first."""
        if max(branches) > 1:
            counts = torch.tensor(branches, device=tokens.device)
            run.select(torch.arange(len(counts), device=tokens.device).repeat_interleave(counts))
            wanted = torch.arange(tokens.shape[1], device=tokens.device) < counts[:, None]
            scores, tokens = scores[wanted][:, None], tokens[wanted][:, None]
        return scores, tokens

    def _leave(self, run: Run, answers: Answers, tokens: Tensor) -> Tensor:
        """Tokens of the rows to go on with: none when all have finished."""
        places = answers.leave()
        if places is None:
            return tokens
        rows = torch.tensor(places, dtype=torch.long, device=tokens.device)
        if places:
            run.select(rows)
        return tokens[rows]

    def _check(
        self, states: Tensor, reads: Sequence[BankRead | None] | None, limits: list[int], branches: list[int]
    ) -> None:
        if not len(states):
            raise ValueError("a batch has at least one question")
        if states.shape[-1] != self.d_model:
            raise ValueError(f"encoder states are {states.shape[-1]} wide, the decoder reads {self.d_model}")
        if reads is not None and len(reads) != len(states):
            raise ValueError(f"{len(reads)} reads for a batch of {len(states)}: one for each row, or None")
        wanted = (("max_tokens", limits, self._bias.shape[-1]), ("top_first", branches, len(self.embedding)))
        for name, numbers, most in wanted:
            if len(numbers) != len(states):
                raise ValueError(f"{name}: {len(numbers)} numbers for a batch of {len(states)}")
            if not 1 <= min(numbers) <= max(numbers) <= most:
                raise ValueError(f"{name}: 1 to {most}, not {min(numbers)} to {max(numbers)}")


def _scaled_head(t5: T5ForConditionalGeneration) -> Tensor:
    scale = t5.config.d_model**-0.5 if t5.config.scale_decoder_outputs else 1.0
    head: Tensor = t5.lm_head.weight.detach().float() * t5.decoder.final_layer_norm.weight.detach().float()
    return head * scale


def _each(wanted: int | Sequence[int], count: int) -> list[int]:
    return [wanted] * count if isinstance(wanted, int) else list(wanted)


def _ids(ends: int | list[int] | None) -> frozenset[int]:
    return frozenset() if ends is None else frozenset([ends] if isinstance(ends, int) else ends)
