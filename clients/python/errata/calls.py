"""Everything that can be asked of the service, written once: each method describes one checked request.

`Errata` and `AsyncErrata` take their methods from here and only add the sending.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, TypeAlias, Unpack

from errata import wire
from errata.access_calls import AccessCalls
from errata.backup_calls import BackupCalls
from errata.call import Call
from errata.committing import HowToCommit, HowToEdit, checked, commit, new_key
from errata.graph_calls import GraphCalls
from errata.tag_calls import TagCalls
from errata.wire import Response

MinVersion: TypeAlias = int | Literal["written"] | None
Question: TypeAlias = str | wire.AnswerRequest | Mapping[str, object]


class Calls(GraphCalls, TagCalls, AccessCalls, BackupCalls):
    """Describes requests, and remembers what was written so that a later question can ask to see it."""

    def __init__(self, last_version: int | None = None) -> None:
        self._last_version = last_version
        self._lock = threading.Lock()

    @property
    def last_version(self) -> int | None:
        """The newest version that this client has made, or was told of."""
        return self._last_version

    def learn(self, response: Response) -> None:
        """Remember the version that a receipt names."""
        if isinstance(response, wire.EditReceipt) and response.version is not None:
            with self._lock:
                self._last_version = max(response.version, self._last_version or 0)

    def ask(
        self,
        question: str,
        *,
        model: str = "nkb",
        context: str | None = None,
        candidates: Sequence[str] | None = None,
        document: str | None = None,
        version: int | None = None,
        min_version: MinVersion = "written",
        kg: Literal["graph", "none"] = "graph",
        top_k: int = 1,
        explain: bool = False,
    ) -> Call[wire.Answer]:
        """Ask one question.

        context, candidates: what to choose the answer from. kg: "none" answers without the knowledge graph.
        version: answer from exactly this version. min_version: wait until the replica has at least this one;
        "written" is the newest that this client wrote, None is whatever the replica has.
        """
        body = checked(
            wire.AnswerRequest,
            question=question,
            model=model,
            context=context,
            candidates=None if candidates is None else list(candidates),
            document=document,
            version=version,
            kg=kg,
            min_version=self._at_least(version, min_version),
            top_k=top_k,
            explain=explain,
        )
        unheard_of = (body.min_version or 0) > (self.last_version or 0)
        return Call("POST", "/v1/answers", wire.Answer, body, may_be_unmade=unheard_of)

    def ask_many(
        self,
        questions: Iterable[Question],
        *,
        model: str = "nkb",
        version: int | None = None,
        min_version: MinVersion = "written",
    ) -> Call[wire.BatchResponse]:
        """Ask up to 256 questions at once; results come in order, and a bad question spoils only its own.

        A question given whole, as AnswerRequest or mapping, keeps its own fields before the shared ones.
        """
        shared = {"model": model} | ({} if version is None else {"version": version})
        items = [self._item(question, shared, min_version) for question in questions]
        body = checked(wire.BatchRequest, questions=items)
        return Call("POST", "/v1/answers/batch", wire.BatchResponse, body)

    def edit(
        self,
        question: str,
        answer: str,
        *,
        paraphrases: Iterable[str] = (),
        model: str = "nkb",
        **how: Unpack[HowToEdit],
    ) -> Call[wire.EditReceipt]:
        """Make `question`, and its paraphrases, have this answer from the next version on."""
        item = {"question": question, "answer": answer, "paraphrases": list(paraphrases), "model": model}
        return self.edit_many([checked(wire.EditItem, **item)], **how)

    def edit_many(self, edits: Iterable[wire.Item], **how: Unpack[HowToEdit]) -> Call[wire.EditReceipt]:
        """Make all edits, facts and definitions of relations in one commit, or none of them."""
        return commit("/admin/edits", wire.EditRequest, {"edits": list(edits), **how})

    def revert(self, version: int, **how: Unpack[HowToCommit]) -> Call[wire.EditReceipt]:
        """Take one commit back, however old, in a new commit."""
        return commit("/admin/reverts", wire.RevertRequest, {"version": version, **how})

    def rollback(self, to: int, **how: Unpack[HowToCommit]) -> Call[wire.EditReceipt]:
        """Make version `to` the current one again, in a new commit."""
        return commit("/admin/rollbacks", wire.RollbackRequest, {"to": to, **how})

    def log(self, *, limit: int = 20, before: int | None = None) -> Call[wire.VersionLog]:
        """The newest commits first; `before` continues from an older one."""
        query = {"limit": limit} | ({} if before is None else {"before": before})
        return Call("GET", "/admin/versions", wire.VersionLog, query=query)

    def show(self, version: int) -> Call[wire.VersionDetail]:
        """One commit: its edits, its report and what it wrote."""
        wanted = checked(wire.RevertRequest, version=version).version
        return Call("GET", f"/admin/versions/{wanted}", wire.VersionDetail)

    def diff(self, from_version: int, to_version: int) -> Call[wire.Diff]:
        """Which questions two versions answer differently."""
        return Call("GET", "/admin/diff", wire.Diff, query={"from": from_version, "to": to_version})

    def check(self, superseded: bool = False) -> Call[wire.CheckReport]:
        """Re-run the fact tests of every active edit. superseded: list those that a later edit answers anew, too."""
        query, key = _listing(superseded), new_key()
        return Call("POST", "/admin/checks", wire.CheckReport, query=query, idempotency_key=key, slow=True)

    def last_check(self, superseded: bool = False) -> Call[wire.CheckReport]:
        """What the fact tests said when they last ran."""
        return Call("GET", "/admin/checks", wire.CheckReport, query=_listing(superseded))

    def replicas(self) -> Call[wire.ReplicaList]:
        return Call("GET", "/admin/replicas", wire.ReplicaList)

    def models(self) -> Call[wire.ModelList]:
        return Call("GET", "/v1/models", wire.ModelList)

    def memory(self) -> Call[wire.MemoryState]:
        return Call("GET", "/v1/memory", wire.MemoryState)

    def whoami(self) -> Call[wire.Whoami]:
        """The name and the scopes of the key that this client sends."""
        return Call("GET", "/admin/keys/self", wire.Whoami)

    def _item(
        self, question: Question, shared: Mapping[str, object], min_version: MinVersion
    ) -> dict[str, object]:
        """A question with a pin of its own needs no min_version, nor does it take the one for all."""
        own = _own(question)
        item = {**shared, **own}
        if own.get("version") is not None:
            return item
        pin = item.get("version")
        least = self._at_least(pin if isinstance(pin, int) else None, min_version)
        return item if least is None else {"min_version": least, **item}

    def _at_least(self, version: int | None, min_version: MinVersion) -> int | None:
        """A pin says it all: a pinned question never waits for what was written since."""
        if min_version != "written":
            return min_version
        return self.last_version if version is None else None


def _own(question: Question) -> Mapping[str, object]:
    if isinstance(question, wire.AnswerRequest):
        return question.model_dump(exclude_unset=True)
    return question if isinstance(question, Mapping) else {"question": question}


def _listing(superseded: bool) -> dict[str, int | str]:
    return {"superseded": "true"} if superseded else {}
