"""`nkb`: T5 with a Neural Knowledge Bank as a system that answers, compares versions, and routes questions to edits.

Dai et al., Neural Knowledge Bank (arXiv:2208.00399). Its memory is models/nkb/memory.py.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from math import exp
from pathlib import Path
from typing import Any

import torch

from models.kit.decoded import DecodedAnswer, features
from models.kit.replies import decline, reply, share_rest
from models.memory import Views
from models.nkb.interpret import explain
from models.nkb.memory import BANK, BankMemory, BankOptions, BankView
from models.nkb.overlay import Overlay, same_rows
from models.nkb.reader import DEFAULT, ReadCache, Reader
from models.nkb.surgery import rests_on
from models.packs.pack import PackProbes
from models.scope.active import Match
from models.scope.change import Change
from models.scope.literals import digest_wordings
from models.scope.probe_index import ProbeIndex
from models.scope.router import Router
from models.system import (
    NO_EDIT,
    UNSURE,
    Ask,
    Bundle,
    Input,
    Reply,
    Side,
)

MAX_TOKENS = 48  # tokens of an answer of the base; an edit's answer may be longer


class NkbSystem(Router, PackProbes):
    """A checkpoint with its editable bank."""

    inputs: frozenset[Input] = frozenset()

    def __init__(
        self, reader: Reader, reads: ReadCache | None = None, name: str = "nkb", memory: str = BANK
    ) -> None:
        self.reader, self.name, self._bank = reader, name, memory
        self.memories = (memory,)
        self._reads = reads or ReadCache(reader)
        super().__init__(reader.scope, self._reads.readings, memory)

    @torch.inference_mode()
    def answer(self, asks: Sequence[Ask], views: Sequence[Views]) -> list[Reply]:
        """Answer questions; those that an edit was taught word for word are not even read, except to be explained."""
        banks: list[BankView] = [view[self._bank] for view in views]
        scope, wordings = self.reader.scope, digest_wordings([ask.question for ask in asks]).tolist()
        gates = [
            match if match and scope.opens(match) and not ask.explain else None
            for ask, wording, bank in zip(asks, wordings, banks, strict=True)
            for match in scope.match_exactly([wording], bank.active_edits)
        ]
        rest = [place for place, gate in enumerate(gates) if gate is None]
        replies = iter(self._answer_rest([asks[place] for place in rest], [banks[place] for place in rest]))
        return [
            next(replies) if gate is None else self._reply_with_edit(gate, self.reader.cuts(ask.question))
            for ask, gate in zip(asks, gates, strict=True)
        ]

    def _answer_rest(self, asks: Sequence[Ask], banks: Sequence[BankView]) -> list[Reply]:
        """Answer questions of other wordings; those that only an edit may answer are read by the scope alone."""
        items = list(zip(asks, banks, strict=True))
        parts = [[item for item in items if item[0].edits_only is only] for only in (False, True)]
        columns = [([ask for ask, _ in part], [bank for _, bank in part]) for part in parts]
        replies, edit_replies = iter(self._read_and_check(*columns[0])), iter(self._find_edits(*columns[1]))
        return [next(edit_replies if ask.edits_only else replies) for ask in asks]

    def _find_edits(self, asks: Sequence[Ask], banks: Sequence[BankView]) -> list[Reply]:
        """Reply by the edits that answer, and else decline with the edit that is near; the T5 is not asked."""
        if not asks:
            return []
        scope = self.reader.scope
        encoded, readings, _ = self.reader.read_for_scope([ask.question for ask in asks])
        matches = scope.match(readings, [bank.active_edits for bank in banks])
        return [
            self._reply_with_edit(match, cut)
            if match is not None and scope.opens(match)
            else decline(NO_EDIT, truncated=cut, nearby_edit=None if match is None else match.nearby_edit)
            for match, cut in zip(matches, encoded.truncated, strict=True)
        ]

    def _read_and_check(self, asks: Sequence[Ask], banks: Sequence[BankView]) -> list[Reply]:
        replies, check = self._read_and_answer(asks, banks), self.reader.own_questions
        return check.check([ask.question for ask in asks], replies) if check else replies

    def _read_and_answer(self, asks: Sequence[Ask], banks: Sequence[BankView]) -> list[Reply]:
        if not asks:
            return []
        questions = [ask.question for ask in asks]
        read = self.reader.read(questions)
        self._reads.keep(questions, read)
        matches = self.reader.scope.match(read.readings, [bank.active_edits for bank in banks])
        gates = {
            row: match
            for row, match in enumerate(matches)
            if match is not None and self.reader.scope.opens(match)
        }
        rows = [row for row in range(len(asks)) if row not in gates]
        answers: dict[int, DecodedAnswer] = {}
        if rows:
            decoded_answers = self.reader.decoder.generate(
                read.states[rows],
                read.mask[rows],
                overlays=[self._overlay(banks[row]) for row in rows],
                max_tokens=MAX_TOKENS,
                top_first=[asks[row].top_k for row in rows],
            )
            answers = dict(zip(rows, decoded_answers, strict=True))
        edits_by_row = {row: banks[row].surgery_edits for row in answers if banks[row].surgery_edits}
        surgery_edits = rests_on(self.reader, read, answers, edits_by_row, MAX_TOKENS)
        replies = [
            self._reply_with_edit(gates[row], read.truncated[row])
            if row in gates
            else self._reply(
                answers[row],
                matches[row],
                surgery_edits.get(row, ()),
                float(read.familiarity[row]),
                read.truncated[row],
            )
            for row in range(len(asks))
        ]
        for row, ask in enumerate(asks):
            if ask.explain:
                overlay = self._overlay(banks[row], gates.get(row))
                source = gates.get(row) or answers[row]
                replies[row] = replace(
                    replies[row], explanation=explain(self.reader, read, row, overlay, source)
                )
        return replies

    def _reply_with_edit(self, gate: Match, cut: bool) -> Reply:
        """Make the reply of an edit from its own tokens, which its rows spell whatever the bank holds.

        It has no alternatives: further tokens are the edit's, whatever the first one is.
        """
        answer = self.reader.say(gate.block.tensors["tokens"].tolist()[:-1])
        return reply(answer, gate.probability, None, (gate.edit,), truncated=cut, wording=gate.wording)

    def _reply(
        self,
        decoded_answer: DecodedAnswer,
        match: Match | None,
        surgery_edits: tuple[str, ...],
        familiarity: float,
        cut: bool,
    ) -> Reply:
        """Make the reply; an answer that surgery changed counts as familiar, though it was never trained."""
        best = self.reader.say(decoded_answer.tokens)
        confidence = self.reader.confidence
        score = confidence.score(features(decoded_answer.logprobs, 1.0 if surgery_edits else familiarity))
        sure = decoded_answer.finished and score >= confidence.threshold
        runners_up = decoded_answer.alternatives
        texts = [self.reader.say(answer.tokens) for answer in runners_up]
        shares = share_rest(score, [exp(sum(answer.logprobs)) for answer in runners_up])
        alternatives = sorted(zip(texts, shares, strict=True), key=lambda pair: -pair[1])
        return reply(
            best,
            score,
            None if sure else UNSURE,
            surgery_edits,
            alternatives,
            truncated=cut,
            nearby_edit=None if match is None else match.nearby_edit,
        )

    def may_differ(self, before: Side, after: Side) -> list[bool]:
        """Compare two versions as `may_differ_in_steps` does."""
        return self.may_differ_in_steps(before.asks, [before.views, after.views])[0]

    @torch.inference_mode()
    def may_differ_in_steps(self, asks: Sequence[Ask], versions: Sequence[Views]) -> list[list[bool]]:
        """Compare the gates that questions open, and the value rows, from which alone an answer follows."""
        banks: list[BankView] = [views[self._bank] for views in versions]
        is_same = [same_rows(old.values, new.values) for old, new in pairwise(banks)]
        if not asks or not any(is_same):
            return [[True] * len(asks) for _ in is_same]
        questions, views = [ask.question for ask in asks], [bank.active_edits for bank in banks]
        steps = zip(self.find_rerouted(questions, *views), is_same, strict=True)
        return [differs if same else [True] * len(asks) for differs, same in steps]

    @torch.inference_mode()
    def find_affected(self, before: Views, after: Views) -> list[str] | None:
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
        return ProbeIndex.load(self.reader.folder, self.reader.digest, self.reader.device)

    @torch.inference_mode()
    def find_misrouted(self, views: Views) -> dict[str, tuple[str | None, ...]]:
        """Find misrouted edits by their routes: a routed edit answers with its own tokens, whatever the bank holds."""
        bank: BankView = views[self._bank]
        silent_surgery: dict[str, tuple[str | None, ...]] = {
            edit: () for edits in bank.surgery_edits.values() for edit in edits
        }
        return silent_surgery | super().find_misrouted(views)

    def _overlay(self, bank: BankView, gate: Match | None = None) -> Overlay:
        """Return what a question reads; an edit's rows spell its answer."""
        if gate is None:
            return Overlay(bank.values)
        rows = gate.block.tensors
        return Overlay(bank.values, self.reader.pushes.values(rows["tokens"], rows["strengths"]))

    def describe(self) -> Mapping[str, Any]:
        config = self.reader.config
        return {
            "checkpoint": self.reader.digest,
            "engine": {"encoder": self.reader.encoder.engine, "decoder": self.reader.decoder.engine},
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

    CheckpointError: a file is missing or damaged, or files that the editor needs belong to another checkpoint.
    """
    reader = Reader.load(folder, device=device, dtype=dtype)
    ProbeIndex.load(folder, reader.digest)
    reads = ReadCache(reader)
    return Bundle(NkbSystem(reader, reads), (BankMemory(reader, reads),))
