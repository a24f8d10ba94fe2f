"""`nkb` as the service sees it: questions and views in, replies out; corrections in, rows out.

Dai et al., Neural Knowledge Bank (arXiv:2208.00399). What an edit writes is decided by models/editors; how the
active edits make an image is the fold in models/nkb/fold.py.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from models.confidence import UNSURE, sigmoid
from models.memory import Image
from models.nkb.answers import Decoded, features, share_remainder
from models.nkb.edit import METHODS, fold, materials
from models.nkb.interpret import explain
from models.nkb.overlay import Overlay, same_rows, value_rows
from models.nkb.reader import DEFAULT, ReadCache, Reader
from models.nkb.surgery import rests_on
from models.scope.gates import NO_EDIT, GateMatch, Gates, match_gates
from models.scope.locality import ACCEPTABLE, Locality
from models.scope.probe_index import ProbeIndex
from models.scope.question_cache import QuestionCache
from models.scope.slot_table import SlotTable
from models.system import Alternative, Ask, Capacity, Correction, Material, Reply

LITTLE = 1.0  # point of margin from which on a curator is warned
MAX_TOKENS = 48  # of an answer the base gives; an edit's own answer may be longer


@dataclass(frozen=True, eq=False)
class NkbView:
    """One version of the bank: gates of gated edits, and value rows that surgery moved."""

    gates: Gates
    values: Mapping[int, tuple[Tensor, Tensor]]
    operated: Mapping[tuple[int, int], tuple[str, ...]]


class NkbSystem:
    """The default checkpoint and its editable bank."""

    name = "nkb"
    memory = "nkb/bank"
    methods = METHODS
    reads: frozenset[str] = frozenset()

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self._slots = SlotTable(reader.scope, reader.subjects)
        self._reads = ReadCache(reader)
        self._recent = QuestionCache(
            reader.scope, lambda questions: self._reads.read(questions).question_keys
        )

    @staticmethod
    def load(folder: Path = DEFAULT) -> "NkbSystem":
        """As `Reader.load`; CheckpointError, too, when what an editor needs beside the checkpoint is not its own."""
        reader = Reader.load(folder)
        ProbeIndex.load(folder, reader.digest)
        return NkbSystem(reader)

    @cached_property
    def base(self) -> Image:
        return Image(self.reader.digest)

    def view(self, image: Image) -> NkbView:
        blocks = image.ordered
        gates = self._slots.gates([block for block in blocks if block.kind == "gated"])
        return NkbView(gates, *value_rows([block for block in blocks if block.kind == "value"]))

    @torch.inference_mode()
    def answer(self, asks: Sequence[Ask], views: Sequence[NkbView]) -> list[Reply]:
        if not asks:
            return []
        read = self.reader.read([ask.question for ask in asks])
        self._reads.keep([ask.question for ask in asks], read)
        gates = match_gates(self.reader.scope, read.question_keys, [view.gates for view in views])
        reads = [_bank_read(view, gate) for view, gate in zip(views, gates, strict=True)]
        answers = self.reader.decoder.generate(
            read.states,
            read.mask,
            overlays=reads,
            max_tokens=[MAX_TOKENS if one.steps is None else len(one.steps) for one in reads],
            top_first=[1 if gate else ask.top_k for ask, gate in zip(asks, gates, strict=True)],
        )
        moved = {row: view.operated for row, view in enumerate(views) if view.operated and not gates[row]}
        operated = rests_on(self.reader, read, dict(enumerate(answers)), moved, MAX_TOKENS)
        replies = [
            self._reply(
                decoded, gate, operated.get(row, ()), float(read.familiarity[row]), read.truncated[row]
            )
            for row, (decoded, gate) in enumerate(zip(answers, gates, strict=True))
        ]
        return [
            replace(
                reply,
                explanation=explain(self.reader, read, row, reads[row], gates[row], answers[row].tokens),
            )
            if ask.explain
            else reply
            for row, (ask, reply) in enumerate(zip(asks, replies, strict=True))
        ]

    def _reply(
        self, decoded: Decoded, gate: GateMatch | None, operated: tuple[str, ...], familiar: float, cut: bool
    ) -> Reply:
        """familiar: of the subject; one whose answer was operated on counts as known, though never taught.

        An answer that a gate gives has no alternatives: it is said or it is not.
        """
        best, near = self.reader.say(decoded.tokens), 1.0 if operated else familiar
        score = self._score(decoded, near) if gate is None else sigmoid(gate.logit)
        sure = decoded.finished and (gate is not None or score >= self.reader.confidence.threshold)
        return Reply(
            best if sure else None,
            score,
            best,
            None if sure else UNSURE,
            operated if gate is None else (gate.edit,),
            self._alternatives(decoded.alternatives, 1 - score),
            cut,
        )

    def _alternatives(self, others: Sequence[Decoded], left: float) -> tuple[Alternative, ...]:
        """The likeliest first. left: of certainty, after the answer."""
        scores = share_remainder(left, [sum(one.logprobs) for one in others])
        told = [Alternative(self.reader.say(d.tokens), s) for d, s in zip(others, scores, strict=True)]
        return tuple(sorted(told, key=lambda one: -one.score))

    def _score(self, decoded: Decoded, familiar: float) -> float:
        return self.reader.confidence.score(features(decoded.logprobs, familiar))

    @torch.inference_mode()
    def unmoved(
        self, before: tuple[Sequence[Ask], NkbView], after: tuple[Sequence[Ask], NkbView]
    ) -> list[bool]:
        """An answer follows from the question, the gate that it opens and the value rows."""
        questions, views = [ask.question for ask in before[0]], (before[1], after[1])
        if not questions:
            return []
        if not same_rows(views[0].values, views[1].values):
            return [False] * len(questions)
        old, new = self._recent.match(questions, views[0].gates, views[1].gates)
        return [_owner(one) == _owner(other) for one, other in zip(old, new, strict=True)]

    @torch.inference_mode()
    def touched(self, before: NkbView, after: NkbView) -> list[str] | None:
        """Of the pack's questions; None after surgery, which may move any, and between tables that share no rows."""
        comparable = before.gates.generation == after.gates.generation
        if not comparable or not same_rows(before.values, after.values):
            return None
        return self._watched.near(self.reader.scope, after.gates.changed_since(before.gates))

    @cached_property
    def _watched(self) -> ProbeIndex:
        return ProbeIndex.load(self.reader.folder, self.reader.digest)

    @torch.inference_mode()
    def speakers(self, view: NkbView) -> dict[str, tuple[str | None, ...]]:
        """A gate that opens says its edit's answer whatever else the memory holds, so the gates tell."""

        def name(edit: int) -> str:
            return view.gates.edits[edit].key.removeprefix("edit/")

        moved: dict[str, tuple[str | None, ...]] = {
            edit: () for edits in view.operated.values() for edit in edits
        }
        odd = {
            name(edit): tuple(None if one == NO_EDIT else name(one) for one in who)
            for edit, who in view.gates.misrouted().items()
        }
        return moved | odd

    @torch.inference_mode()
    def speaking(self, asks: Sequence[Ask], view: NkbView) -> list[str | None]:
        (found,) = self._recent.match([ask.question for ask in asks], view.gates)
        return [None if one is None else one.edit for one in found]

    def edit(self, corrections: Sequence[Correction], method: str) -> list[Material]:
        return materials(self.reader, self._reads.read, corrections, method)

    def fold(self, active: Sequence[Material]) -> Image:
        return fold(self.base, self.reader.decoder, active)

    def capacity(self, image: Image) -> Capacity:
        gated = [block for block in image.blocks.values() if block.kind == "gated"]
        used = sum(block.rows["steps"] for block in gated)
        moved = len(image.blocks) - len(gated)
        margin = None if self._measured is None else round(self._measured.margin(len(gated)), 2)
        return Capacity(used + moved, None, margin=margin, warnings=tuple(self._worn(len(gated), margin)))

    def _worn(self, edits: int, margin: float | None) -> Iterator[str]:
        if self._measured is None or margin is None:
            return
        if margin < LITTLE:
            left = 100 - ACCEPTABLE - margin
            yield (
                f"with {edits:,} edits about {left:.1f} in 100 near questions were answered by an edit that is not "
                "about them: take back what is not needed, or train the facts in"
            )
        if edits > self._measured.max_edits:
            yield (
                f"{edits:,} edits are active: how well they keep apart was measured up to "
                f"{self._measured.max_edits:,}; watch how many hold (errata check)"
            )

    @cached_property
    def _measured(self) -> Locality | None:
        return Locality.load(self.reader.folder, self.reader.digest)

    def describe(self) -> Mapping[str, Any]:
        config = self.reader.t5.config
        return {
            "checkpoint": self.reader.digest,
            "engine": "torch",
            "encoder": "sentence-transformers/all-MiniLM-L6-v2",
            "decoder_layers": config.num_decoder_layers,
            "d_model": config.d_model,
            "vocabulary": config.vocab_size,
            "bank_layers": list(self.reader.bank.layers),
            "trained_bank_slots": self.reader.bank.size,
            "methods": list(self.methods),
            "unsure_below": self.reader.confidence.threshold,
        }


def _bank_read(view: NkbView, gate: GateMatch | None) -> Overlay:
    return Overlay(view.values, None if gate is None else gate.block.tensors["steps"])


def _owner(gate: GateMatch | None) -> tuple[str, str] | None:
    return None if gate is None else (gate.block.key, gate.block.digest)
