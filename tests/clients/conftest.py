"""The state of a tiny service to test clients against: a dictionary for a model, a list for a ledger.

Its HTTP side is in python/errata/conftest.py. It is something to answer at the far end of the transport; the
real service is tested with this client elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest
from errata import wire
from fastapi import Request
from fastapi.responses import Response

from tests.clients.tiny_graph import as_correction, count_triples, explain, fact_report, peru

PERU, PERU_TOO = "What is the capital of Peru?", "Peru's capital city?"
BASE = {PERU: "Lima", PERU_TOO: "Lima", "What is the capital of Chile?": "Santiago"}
NO_COSTS = wire.EditTimings(editor_ms=31.2, report_ms=120.4, commit_ms=2.1, replicas_ms=8.0)


@dataclass
class Tiny:
    """commits[n] made version n + 1. active[v]: the commits whose edits version v rests on.

    trouble: answers to give to the next requests instead of doing anything. seen: every request, in order.
    unspeakable: an answer that it refuses to learn.
    """

    commits: list[dict[str, Any]] = field(default_factory=list)
    active: list[frozenset[int]] = field(default_factory=lambda: [frozenset()])
    receipts: dict[str, wire.EditReceipt] = field(default_factory=dict)
    trouble: list[Response] = field(default_factory=list)
    requests: list[tuple[Request, bytes]] = field(default_factory=list)
    broken: list[dict[str, Any]] = field(default_factory=list)
    replica_lags: bool = False
    entities: list[wire.EntityState] = field(default_factory=lambda: [peru()])
    told_of_import: list[dict[str, Any]] | None = None
    unspeakable: str = ""

    @property
    def head(self) -> int:
        return len(self.commits)

    def state(self, version: int) -> dict[str, str]:
        answers = dict(BASE)
        for number in sorted(self.active[version]):
            for edit in map(as_correction, self.commits[number - 1]["edits"]):
                answers |= dict.fromkeys([edit.question, *edit.paraphrases], edit.answer)
        return answers

    def commit(
        self, kind: str, active: frozenset[int], body: Any, edits: Any = (), target: Any = None
    ) -> None:
        self.commits.append({"kind": kind, "message": body.message, "edits": edits, "target": target})
        self.active.append(active)

    def answer(self, request: wire.AnswerRequest) -> wire.Answer:
        version = self.head if request.version is None else request.version
        answer = self.state(version).get(request.question)
        edits = ["e1"] if answer not in (None, BASE.get(request.question)) else []
        return wire.Answer(
            answer=answer,
            reason=None if answer else "unsure",
            reason_text=None if answer else "The model is not sure enough to answer.",
            score=0.97 if answer else 0.21,
            best=answer or "Nobody",
            alternatives=[wire.Alternative(answer="Cusco", score=0.02)] * (request.top_k - 1),
            model=request.model or "nkb",
            version=version,
            edits=edits,
            facts=[],
            timings=wire.Timings(queue_ms=1, graph_ms=0, model_ms=12, total_ms=14),
            replica="nkb#1",
            explanation=explain(request, edits) if request.explain else None,
        )

    def report(self, edits: list[Any], version: int) -> wire.Report:
        before = self.state(version)
        on_graph = [
            fact_report(edit, before, f"e{version + 1}.g")
            for edit in edits
            if isinstance(edit, wire.FactItem)
        ]
        reports = on_graph + [
            wire.EditReport(
                id=f"e{version + 1}",
                model=edit.model or "nkb",
                question=edit.question,
                answer=edit.answer,
                method="gated",
                before=before.get(edit.question),
                after=edit.answer,
                holds=True,
                paraphrases=[
                    wire.Outcome(question=q, before=before.get(q), after=edit.answer, follows=True)
                    for q in edit.paraphrases
                ],
            )
            for edit in map(as_correction, edits)
            if edit.question
        ]
        room = wire.Capacity(slots_used=3 * len(edits), slots_reserved=4096)
        return wire.Report(
            edits=reports, probes=12_722, side_effects=[], broken_tests=[], capacity=room, timings=NO_COSTS
        )

    def importing(self, body: bytes, dry_run: bool) -> list[dict[str, Any]]:
        """Yield the lines of the response: a triple for each line of the file, unless the test sets others."""
        if self.told_of_import is not None:
            return self.told_of_import
        counts = count_triples(body)
        if not dry_run:
            self.commits.append({"kind": "edit", "message": "", "edits": (), "target": None})
            self.active.append(self.active[-1] | {self.head})
        receipt = self.receipt("edit", self.report([], self.head)).model_dump(mode="json")
        version = None if dry_run else self.head
        document = {**receipt, "version": version, "counts": counts.model_dump(mode="json")}
        reading = {"phase": "reading", "done": len(body), "total": len(body), "lines": counts.lines}
        return [
            {"progress": reading},
            {"progress": {"phase": "committing", "done": 0}},
            {"receipt": document},
        ]

    def replicas(self) -> list[wire.ReplicaState]:
        late = self.head - 1 if self.replica_lags else self.head
        return [_replica("nkb#1", self.head, 0), _replica("nkb#2", late, self.head - late)]

    def refused(self, edits: list[Any]) -> list[wire.RefusedEdit]:
        return [
            wire.RefusedEdit(
                place=place, code="edit_refused", reason="unspeakable", detail=f"edits.{place} cannot be said"
            )
            for place, edit in enumerate(edits)
            if self.unspeakable and as_correction(edit).answer == self.unspeakable
        ]

    def is_known(self, edit: Any) -> bool:
        """Return whether an edit is known, or is refused because it cannot be made."""
        correction = as_correction(edit)
        is_edited = (
            self.state(self.head).get(correction.question)
            == correction.answer
            != BASE.get(correction.question)
        )
        return (is_edited and self.head > 0) or bool(self.refused([edit]))

    def edit(self, body: wire.EditRequest) -> wire.EditReceipt:
        refused = self.refused(body.edits)
        left_out = {refusal.place for refusal in refused}
        edits = [edit for place, edit in enumerate(body.edits) if place not in left_out]
        report = self.report(edits if body.measure else [], self.head)
        places = [place for place in range(len(body.edits)) if place not in left_out]
        edits_with_places = (
            [edit.model_copy(update={"place": p}) for edit, p in zip(report.edits, places, strict=True)]
            if len(report.edits) == len(places)
            else report.edits
        )
        report = report.model_copy(update={"refused": refused, "edits": edits_with_places})
        body = body.model_copy(update={"edits": edits})
        if body.dry_run:
            return wire.EditReceipt(version=None, kind="edit", report=report, replicas=[], all_applied=False)
        self.commit("edit", self.active[-1] | {self.head + 1}, body, body.edits)
        return self.receipt("edit", report)

    def undo(self, kind: Any, active: frozenset[int], body: Any, target: int) -> wire.EditReceipt:
        self.commit(kind, active, body, target=target)
        plain = self.report([], self.head)
        return self.receipt(kind, plain.model_copy(update={"edits": self.report_switched_edits()}))

    def report_switched_edits(self) -> list[wire.EditReport]:
        """Report the edits that the last commit took back or restored, in ledger order."""
        numbers = sorted(self.active[-1] ^ self.active[-2])
        return [
            self.report_switched_edit(number, edit)
            for number in numbers
            for edit in map(as_correction, self.commits[number - 1]["edits"])
        ]

    def report_switched_edit(self, number: int, edit: wire.EditItem) -> wire.EditReport:
        before, after = self.state(self.head - 1), self.state(self.head)

        def as_wanted(question: str) -> bool:
            return number not in self.active[-1] or after.get(question) == edit.answer

        return wire.EditReport(
            id=f"e{number}",
            question=edit.question,
            answer=edit.answer,
            method="gated",
            before=before.get(edit.question),
            after=after.get(edit.question),
            holds=as_wanted(edit.question),
            paraphrases=[
                wire.Outcome(question=q, before=before.get(q), after=after.get(q), follows=as_wanted(q))
                for q in edit.paraphrases
            ],
        )

    def receipt(self, kind: Any, report: wire.Report) -> wire.EditReceipt:
        return wire.EditReceipt(
            version=self.head,
            kind=kind,
            report=report,
            replicas=self.replicas(),
            all_applied=not self.replica_lags,
        )

    def check(self) -> wire.CheckReport:
        broken = [wire.Outcome.model_validate(test) for test in self.broken]
        total = len(self.active[-1])
        return wire.CheckReport(
            version=self.head, total=total, holding=total - len(broken), broken=broken, superseded=0
        )

    def diff(self, older: int, newer: int) -> wire.Diff:
        before, after = self.state(older), self.state(newer)
        changes = [
            wire.Outcome(
                question=q, before=before.get(q), after=after[q], edit=f"e{newer}", change="replaced"
            )
            for q in after
            if before.get(q) != after[q]
        ]
        differ = {"nkb/bank": self.active[older] != self.active[newer]}
        return wire.Diff(from_version=older, to_version=newer, changes=changes, checksums_differ=differ)

    def summary(self, version: int) -> wire.VersionSummary:
        commit = self.commits[version - 1]
        heads = [
            wire.EditHead(question=edit.question, notes={}) for edit in map(as_correction, commit["edits"])
        ]
        first = heads[0] if heads else None
        return wire.VersionSummary(
            **_head(version, commit), edits=len(heads), first=first, checksums=checksums(version)
        )

    def detail(self, version: int) -> wire.VersionDetail:
        commit = self.commits[version - 1]
        edits = [
            wire.EditState(
                id=f"e{version}",
                question=edit.question,
                answer=edit.answer,
                paraphrases=edit.paraphrases,
                tests=[wire.KeptTest(question=test.question, answer=test.answer) for test in edit.tests],
                method="gated",
                active=version in self.active[-1],
            )
            for edit in map(as_correction, commit["edits"])
        ]
        sums = checksums(version)
        return wire.VersionDetail(
            **_head(version, commit),
            edits=edits,
            checksums=sums,
            writes={"nkb/bank": wire.WriteSummary(puts=1, removes=0, checksum=sums["nkb/bank"])},
            report=self.report(commit["edits"], version - 1).model_dump(mode="json"),
        )

    def edit_detail(self, version: int) -> wire.EditDetail:
        head = _head(version, self.commits[version - 1])
        return wire.EditDetail(**head, edit=self.detail(version).edits[0])

    def why(self, question: str, model: str | None, version: int | None) -> wire.WhyReport:
        """Return the newest edit with the question as the reason, if there is one."""
        answer = self.answer(wire.AnswerRequest(question=question, model=model, version=version))
        candidate = next(iter(reversed(self.scope(question, version).candidates)), None)
        if not answer.edits or candidate is None:
            return wire.WhyReport(answer=answer, causes=[], facts=[])
        match = {"owner": candidate.owner, "wording": question, "probability": candidate.probability}
        cause = wire.Cause(**dict(self.edit_detail(candidate.version)), **match)
        without = wire.Remainder(answer=BASE.get(question), edits=[])
        return wire.WhyReport(answer=answer, causes=[cause], facts=[], without=without)

    def scope(self, question: str, at: int | None = None) -> wire.ScopeReport:
        """Edits answer their own questions word for word, and nothing else."""
        last = self.head if at is None else at
        candidates = [
            wire.ScopeCandidate(
                **{"edit": f"e{version}", "owner": f"e{version}", "question": edit.question},
                **{"answer": edit.answer, "cosine": 1.0, "probability": 0.995, "verdict": "answers"},
                **{"version": version, "author": "curator", "message": commit["message"]},
            )
            for version, commit in enumerate(self.commits[:last], 1)
            for edit in map(as_correction, commit.get("edits", ()))
            if edit.question == question
        ]
        answering = candidates[-1].edit if candidates else None
        return wire.ScopeReport(version=last, model="nkb", edit=answering, candidates=candidates)


def checksums(version: int) -> dict[str, str]:
    return {"nkb/bank": "sha256:" + f"{version:02x}" * 32}


def _replica(name: str, version: int, lag: int) -> wire.ReplicaState:
    return wire.ReplicaState(
        replica=name,
        model="nkb",
        version=version,
        checksums=checksums(version),
        lag=lag,
        healthy=True,
        seen_s_ago=0.4,
    )


def _head(version: int, commit: dict[str, Any]) -> dict[str, Any]:
    head = {name: commit[name] for name in ("kind", "message", "target")}
    return {"version": version, "author": "curator", "time": datetime(2026, 11, 21, 9, tzinfo=UTC), **head}


@pytest.fixture
def tiny() -> Tiny:
    return Tiny()
