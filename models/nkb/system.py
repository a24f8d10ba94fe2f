"""`nkb`: T5 with a Neural Knowledge Bank as a system that answers, compares versions, and routes questions to edits.

Dai et al., Neural Knowledge Bank (arXiv:2208.00399). Its memory is models/nkb/memory.py.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from models.memory import Views
from models.nkb.answers import DecodedAnswer, features, share_remainder
from models.nkb.interpret import explain
from models.nkb.memory import BANK, BankMemory, BankOptions, BankView
from models.nkb.overlay import Overlay, same_rows
from models.nkb.reader import DEFAULT, ReadCache, Reader
from models.nkb.surgery import rests_on
from models.packs.probes import pack_probes
from models.scope.change import Change
from models.scope.probe_index import ProbeIndex
from models.scope.router import Router
from models.scope.scope import Match
from models.system import (
    UNSURE,
    Alternative,
    Ask,
    Bundle,
    Input,
    Probes,
    Reply,
    Side,
)

MAX_TOKENS = 48  # tokens of an answer of the base; an edit's answer may be longer


class NkbSystem(Router):
    """A checkpoint with its editable bank.

    Args:
        reader: The checkpoint.
        reads: Recent questions as it read them.
        name: Name of the system.
        memory: Name of the memory with its bank.
    """

    inputs: frozenset[Input] = frozenset()

    def __init__(
        self, reader: Reader, reads: ReadCache | None = None, name: str = "nkb", memory: str = BANK
    ) -> None:
        self.reader, self.name, self._bank = reader, name, memory
        self.memories = (memory,)
        self._reads = reads or ReadCache(reader)
        super().__init__(reader.scope, self._reads.readings, memory)

    @property
    def probes(self) -> Probes:
        return pack_probes()

    @torch.inference_mode()
    def answer(self, asks: Sequence[Ask], views: Sequence[Views]) -> list[Reply]:
        if not asks:
            return []
        questions = [ask.question for ask in asks]
        banks: list[BankView] = [view[self._bank] for view in views]
        read = self.reader.read(questions)
        self._reads.keep(questions, read)
        matches = self.reader.scope.match(read.readings, [bank.active_edits for bank in banks])
        gates = [match if match and self.reader.scope.opens(match) else None for match in matches]
        reads = [
            Overlay(bank.values, None if gate is None else self._steps(gate))
            for bank, gate in zip(banks, gates, strict=True)
        ]
        answers = self.reader.decoder.generate(
            read.states,
            read.mask,
            overlays=reads,
            max_tokens=[MAX_TOKENS if row.steps is None else len(row.steps) for row in reads],
            top_first=[1 if gate else ask.top_k for ask, gate in zip(asks, gates, strict=True)],
        )
        edits_by_row = {
            row: bank.surgery_edits for row, bank in enumerate(banks) if bank.surgery_edits and not gates[row]
        }
        surgery_edits = rests_on(self.reader, read, dict(enumerate(answers)), edits_by_row, MAX_TOKENS)
        replies = [
            self._reply(
                decoded_answer,
                matches[row],
                surgery_edits.get(row, ()),
                float(read.familiarity[row]),
                read.truncated[row],
            )
            for row, decoded_answer in enumerate(answers)
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
        self,
        decoded_answer: DecodedAnswer,
        match: Match | None,
        surgery_edits: tuple[str, ...],
        familiarity: float,
        cut: bool,
    ) -> Reply:
        """Make the reply; an answer that surgery changed counts as familiar, though it was never trained.

        An answer of a gate has no alternatives: its further tokens are the edit's, whatever the first is.
        """
        best = self.reader.say(decoded_answer.tokens)
        confidence = self.reader.confidence
        gate = match if match is not None and self.reader.scope.opens(match) else None
        if gate is None:
            score = confidence.score(features(decoded_answer.logprobs, 1.0 if surgery_edits else familiarity))
        else:
            score = gate.probability
        sure = decoded_answer.finished and (gate is not None or score >= confidence.threshold)
        runners_up = decoded_answer.alternatives
        shares = share_remainder(1 - score, [sum(answer.logprobs) for answer in runners_up])
        alternatives = [
            Alternative(self.reader.say(answer.tokens), share)
            for answer, share in zip(runners_up, shares, strict=True)
        ]
        return Reply(
            best if sure else None,
            score,
            best,
            None if sure else UNSURE,
            surgery_edits if gate is None else (gate.edit,),
            tuple(sorted(alternatives, key=lambda alternative: -alternative.score)),
            cut,
            nearby_edit=match.nearby_edit if match is not None and gate is None else None,
            wording="" if gate is None else gate.wording,
        )

    @torch.inference_mode()
    def may_differ(self, before: Side, after: Side) -> list[bool]:
        """Compare the gates that questions open, and the value rows, from which alone an answer follows."""
        questions = [ask.question for ask in before.asks]
        old_bank, new_bank = before.views[self._bank], after.views[self._bank]
        if not questions:
            return []
        if not same_rows(old_bank.values, new_bank.values):
            return [True] * len(questions)
        return self.find_rerouted(questions, old_bank.active_edits, new_bank.active_edits)

    @torch.inference_mode()
    def may_reach(self, before: Views, after: Views) -> list[str] | None:
        """Return the trained questions near an edit; None after surgery, or if the tables share no rows."""
        old_bank, new_bank = before[self._bank], after[self._bank]
        comparable = old_bank.active_edits.generation == new_bank.active_edits.generation
        if not comparable or not same_rows(old_bank.values, new_bank.values):
            return None
        scope = self.reader.scope
        changed = Change.between(old_bank.active_edits, new_bank.active_edits).wordings
        return self.probe_index.near(changed, scope.min_cosine)

    @cached_property
    def probe_index(self) -> ProbeIndex:
        return ProbeIndex.load(self.reader.folder, self.reader.digest, self.reader.t5.device)

    @torch.inference_mode()
    def find_misrouted(self, views: Views) -> dict[str, tuple[str | None, ...]]:
        """Find misrouted edits by their routes: a routed edit answers with its own tokens, whatever the bank holds."""
        bank: BankView = views[self._bank]
        silent_surgery: dict[str, tuple[str | None, ...]] = {
            edit: () for edits in bank.surgery_edits.values() for edit in edits
        }
        return silent_surgery | super().find_misrouted(views)

    def _steps(self, match: Match) -> torch.Tensor:
        """Return the rows that spell the edit's answer."""
        rows = match.block.tensors
        return self.reader.pushes.values(rows["tokens"], rows["strengths"])

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
            "methods": list(BankOptions.methods()),
            "unsure_below": self.reader.confidence.threshold,
            "scope": self.reader.scope.describe(),
        }


def load(device: torch.device, dtype: torch.dtype, folder: Path = DEFAULT) -> Bundle:
    """Load the checkpoint in `folder`.

    Raises:
        CheckpointError: A file is missing or damaged, or files that the editor needs belong to another checkpoint.
    """
    reader = Reader.load(folder, device=device, dtype=dtype)
    ProbeIndex.load(folder, reader.digest)
    reads = ReadCache(reader)
    return Bundle(NkbSystem(reader, reads), (BankMemory(reader, reads),))
