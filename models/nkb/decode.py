"""Greedy decoding: a mounted T5 decoder with fused weights, a cache, and rows that leave early.

A step runs on the engine (`models/nkb/step.py`); where that does not run, and for several tokens at once, by torch.
Raffel et al., T5 (arXiv:1910.10683): RMS norms without mean or bias, attention scores that are not scaled,
one relative position bias for all layers. The answers equal those of transformers' `generate` on the same model.
Threads may share a decoder: weights never change, and each call has its own cache.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from models.kit import engine
from models.kit.decoded import Answers, DecodedAnswer
from models.nkb.fused import Layer, cross_keys_values, fuse
from models.nkb.overlay import Overlay, find_changes, find_gates
from models.nkb.positions import position_bias
from models.nkb.skeleton import T5
from models.nkb.step import ACTIVATIONS, Run, Step

__all__ = ["DecodedAnswer", "Decoder", "Overlay", "Position", "Run"]

PADDED = -1e30  # score added to a padded state; finite, so that a row of padding only is not NaN


@dataclass(frozen=True)
class Position:
    """The last feed-forward block at each position of one pass, in float32."""

    unit: Float[Tensor, "batch token d"]  # input of the block before its norm's weight
    active: Float[Tensor, "batch token d_ff"]  # weights of the block's own slots
    bank: Float[Tensor, "batch token acting"]  # weights of the bank's slots
    h: Float[Tensor, "batch token d"]  # residual that the block adds to


class Decoder:
    """A decoder, built once from a plain or mounted model on its device; later changes of the model do not reach it.

    Args:
        dtype: Type of the matrices and of the attention, float32 or bfloat16. The residual, the norms, the bank's
            values and the output matrix are float32.
    """

    def __init__(self, t5: T5, dtype: torch.dtype = torch.float32) -> None:
        config = t5.config
        self.d_model, self.heads, self.d_kv = config.d_model, config.num_heads, config.d_kv
        self.epsilon = config.layer_norm_epsilon
        self.start = config.decoder_start_token_id
        ends = config.eos_token_id
        self.ends = frozenset([] if ends is None else [ends] if isinstance(ends, int) else ends)
        scale = config.d_model**-0.5 if config.scale_decoder_outputs else 1.0
        with torch.no_grad():
            self.embedding = t5.decoder.embed_tokens.weight.detach().float().clone()
            self.layers: list[Layer] = [fuse(t5, index, dtype) for index in range(len(t5.decoder.block))]
            self._cross = cross_keys_values(t5).to(dtype)
            head = t5.lm_head.weight.detach().float() * t5.decoder.final_layer_norm.weight.detach().float()
            self.head_weight = head * scale  # the output matrix, with the final norm's weight and T5's scale
            self._position_bias = position_bias(t5).to(dtype)
            self._step = self._make_step(config.dense_act_fn, dtype)

    @property
    def engine(self) -> str:
        """What computes a step, for people."""
        kind = str(self._position_bias.dtype).removeprefix("torch.")
        return f"torch, {kind}, {self.embedding.device}" if self._step is None else f"onnxruntime, {kind}"

    def _make_step(self, activation: str, dtype: torch.dtype) -> Step | None:
        """Return the step on the engine, or None where torch computes it."""
        if not engine.runs(self.embedding.device, dtype) or activation not in ACTIVATIONS:
            return None
        return Step(
            self.layers,
            self.embedding,
            self._cross,
            self.head_weight,
            self._position_bias,
            self.d_kv,
            self.epsilon,
            activation,
        )

    @torch.inference_mode()
    def generate(
        self,
        states: Float[Tensor, "batch state d"],
        mask: Bool[Tensor, "batch state"] | Int[Tensor, "batch state"],
        *,
        overlays: Sequence[Overlay | None] | None = None,
        max_tokens: int | Sequence[int],
        top_first: int | Sequence[int] = 1,
    ) -> list[DecodedAnswer]:
        """Answer each row greedily, in one batch.

        Args:
            mask: True at real states.
            overlays: Rows that each question reads instead of the base's; one forward pass serves them all.
            max_tokens: Limit of an answer, with the end token; one number for all rows or one for each.
            top_first: Number of best first tokens that are each answered from; one number for all rows or one for each.
        """
        limits, branches = _expand(max_tokens, len(states)), _expand(top_first, len(states))
        self._check(states, overlays, limits, branches)
        run = self.begin(states, mask, overlays)
        tokens = torch.full((len(states), 1), self.start, device=states.device)
        scores, tokens = self._best(run, tokens, max(branches))
        if max(branches) > 1:  # a question's rows stand together, best first token first
            counts = torch.tensor(branches, device=tokens.device)
            run.select(torch.arange(len(counts), device=tokens.device).repeat_interleave(counts))
            is_branch = torch.arange(tokens.shape[1], device=tokens.device) < counts[:, None]
            scores, tokens = scores[is_branch][:, None], tokens[is_branch][:, None]
        answers = Answers(
            [limit for limit, count in zip(limits, branches, strict=True) for _ in range(count)], self.ends
        )
        answers.add(tokens.flatten().tolist(), scores.flatten().tolist())
        for _ in range(max(limits) - 1):
            places = answers.leave()
            if places is not None:
                rows = torch.tensor(places, dtype=torch.long, device=tokens.device)
                tokens = tokens[rows]
                if not places:
                    break
                run.select(rows)
            scores, tokens = self._best(run, tokens, 1)
            answers.add(tokens.flatten().tolist(), scores.flatten().tolist())
        return answers.group(branches)

    def begin(
        self, states: Float[Tensor, "batch state d"], mask: Tensor, overlays: Sequence[Overlay | None] | None
    ) -> Run:
        """Read the encoder's states, and return a run with an empty cache."""
        batch, length, _ = states.shape
        if self._step is None:
            encoder_kv = [
                part.view(batch, length, self.heads, self.d_kv).transpose(1, 2)
                for part in F.linear(states.to(self._cross.dtype), self._cross).chunk(
                    2 * len(self.layers), -1
                )
            ]
        else:
            encoder_kv = self._step.read(states)
        empty = encoder_kv[0][:, :, :0]
        bias = empty.new_zeros(batch, length).masked_fill_(mask == 0, PADDED)[:, None, None, :]
        changes, gates = find_changes(overlays or (), self.layers), find_gates(overlays or (), states)
        return Run([empty] * len(encoder_kv), encoder_kv, bias, changes, gates)

    def forward(
        self, run: Run, tokens: Int[Tensor, "batch token"], keep: list[Position] | None = None
    ) -> Float[Tensor, "batch token d"]:
        """Return the input of the final norm for the next tokens, whose keys and values join the cache."""
        end = run.length + tokens.shape[1]
        bias = self._position_bias[:, :, run.length : end, :end]
        x = F.embedding(tokens, self.embedding)
        for index, layer in enumerate(self.layers):
            x = self._attend(layer, x, run, index, bias)
            x = self._attend_states(layer, x, run, index)
            x = self._feed(layer, x, run, index, keep, end - tokens.shape[1])
        return x

    def head(self, x: Float[Tensor, "*position d"]) -> Float[Tensor, "*position token"]:
        """Return the logits of an input of the final norm, differentiable in x."""
        return F.linear(self.unit(x), self.head_weight)

    def unit(self, x: Float[Tensor, "*position d"]) -> Float[Tensor, "*position d"]:
        """Apply the RMS norm without its weight, which is multiplied into the matrix that reads it."""
        return F.rms_norm(x, (self.d_model,), None, self.epsilon)

    def _attend(self, layer: Layer, x: Tensor, run: Run, index: int, bias: Tensor) -> Tensor:
        batch, n_new, _ = x.shape
        qkv = layer.qkv(self.unit(x)).view(batch, n_new, 3, self.heads, self.d_kv).permute(2, 0, 3, 1, 4)
        key, value = (torch.cat([run.cache[2 * index + place], qkv[1 + place]], 2) for place in range(2))
        run.cache[2 * index : 2 * index + 2] = key, value
        context = F.scaled_dot_product_attention(qkv[0], key, value, attn_mask=bias, scale=1.0)
        return layer.out.add(context.transpose(1, 2).reshape(batch, n_new, -1), x)

    def _attend_states(self, layer: Layer, x: Tensor, run: Run, index: int) -> Tensor:
        batch, n_new, _ = x.shape
        query = layer.query(self.unit(x)).view(batch, n_new, self.heads, self.d_kv).transpose(1, 2)
        key, value = run.encoder_kv[2 * index : 2 * index + 2]
        context = F.scaled_dot_product_attention(query, key, value, attn_mask=run.bias, scale=1.0)
        return layer.cross_out.add(context.transpose(1, 2).reshape(batch, n_new, -1), x)

    def _feed(
        self, layer: Layer, x: Tensor, run: Run, index: int, keep: list[Position] | None, start: int
    ) -> Tensor:
        block, unit = layer.feed_forward, self.unit(x)
        active = block.activate(unit)
        bank = active[..., block.d_ff :].float()
        is_last = index == len(self.layers) - 1
        if keep is not None and is_last:
            keep.append(Position(unit, active[..., : block.d_ff].float(), bank, x))
        gates = run.gates if is_last and run.gates is not None and run.gates.reach(start) else None
        if gates is not None:
            gates.shut(bank, start)
        out = block.add_output(active, bank, x)
        if index in run.changes:
            out = out + run.changes[index].effect(bank)
        if gates is not None:
            gates.add(out, start)
        return out

    def _best(
        self, run: Run, tokens: Int[Tensor, "batch 1"], count: int
    ) -> tuple[Float[Tensor, "batch count"], Int[Tensor, "batch count"]]:
        """Return log probabilities and ids of the best next tokens, best first."""
        if self._step is not None:
            return self._step(run, tokens, count)
        best = F.log_softmax(self.head(self.forward(run, tokens)[:, 0]), -1).topk(count, -1)
        return best.values, best.indices

    def _check(
        self,
        states: Tensor,
        overlays: Sequence[Overlay | None] | None,
        limits: list[int],
        branches: list[int],
    ) -> None:
        if not len(states):
            raise ValueError("a batch has at least one question")
        if states.shape[-1] != self.d_model:
            raise ValueError(f"encoder states are {states.shape[-1]} wide, the decoder reads {self.d_model}")
        if overlays is not None and len(overlays) != len(states):
            raise ValueError(
                f"{len(overlays)} overlays for a batch of {len(states)}: one for each row, or None"
            )
        longest, n_tokens = self._position_bias.shape[-1], len(self.embedding)
        for name, numbers, limit in (
            ("max_tokens", limits, longest),
            ("top_first", branches, n_tokens),
        ):
            if len(numbers) != len(states):
                raise ValueError(f"{name}: {len(numbers)} numbers for a batch of {len(states)}")
            if not 1 <= min(numbers) <= max(numbers) <= limit:
                raise ValueError(f"{name}: 1 to {limit}, not {min(numbers)} to {max(numbers)}")


def _expand(value: int | Sequence[int], count: int) -> list[int]:
    return [value] * count if isinstance(value, int) else list(value)
