"""Calls that ask questions, by default at a version that includes all writes of this client."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, TypeAlias

from errata import wire
from errata.request import Call, build, to_query
from errata.wire import Response

MinVersion: TypeAlias = int | Literal["written"] | None
Question: TypeAlias = str | wire.AnswerRequest | Mapping[str, object]


class AnswerCalls:
    """The part of `Calls` that asks; it knows the newest written version, which every receipt may raise."""

    def __init__(self, last_version: int | None = None) -> None:
        self._last_version = last_version
        self._lock = threading.Lock()

    @property
    def last_version(self) -> int | None:
        """The newest version that this client has made or learned."""
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
        model: str | None = None,
        context: str | Sequence[str] | None = None,
        candidates: Sequence[str] | None = None,
        document: str | None = None,
        version: int | None = None,
        min_version: MinVersion = "written",
        kg: Literal["graph", "none"] = "graph",
        top_k: int = 1,
        explain: bool = False,
        sampling: wire.Sampling | None = None,
    ) -> Call[wire.Answer]:
        """Ask one question.

        Args:
            model: The model; "auto" for the surest of all; None for the service's choice.
            context: A text to take the answer from, or several; the answer's `place` says where it stands.
            candidates: The answers to choose from.
            document: Id of the document that the question is about.
            version: Answer from exactly this version.
            min_version: Wait until the replica has at least this version; "written" is the newest that this client
                wrote, None is any.
            kg: "none" answers without the knowledge graph.
            top_k: Number of answers.
            explain: Add an explanation.
            sampling: The way the text is drawn, for models that write freely.
        """
        body = build(
            wire.AnswerRequest,
            question=question,
            model=model,
            context=[context] if isinstance(context, str) else context and list(context),
            candidates=None if candidates is None else list(candidates),
            document=document,
            version=version,
            kg=kg,
            min_version=self._min_version(version, min_version),
            top_k=top_k,
            explain=explain,
            sampling=sampling,
        )
        may_never_exist = (body.min_version or 0) > (self.last_version or 0)
        return Call("POST", "/v1/answers", wire.Answer, body, may_never_exist=may_never_exist)

    def why(
        self,
        question: str,
        *,
        model: str | None = None,
        version: int | None = None,
        min_version: MinVersion = "written",
    ) -> Call[wire.WhyReport]:
        """Ask a question and tell why it is answered so: the edits and facts, who made them, and the answer without.

        Args:
            model: which system answers, as for `ask`.
            version: as for `ask`.
            min_version: as for `ask`.
        """
        minimum = self._min_version(version, min_version)
        query = to_query(question=question, model=model, version=version, min_version=minimum)
        return Call("GET", "/admin/why", wire.WhyReport, query=query)

    def ask_many(
        self,
        questions: Iterable[Question],
        *,
        model: str | None = None,
        version: int | None = None,
        min_version: MinVersion = "written",
    ) -> Call[wire.BatchResponse]:
        """Ask up to 256 questions at once; results come in order, and a bad question spoils only its own.

        A question given whole, as AnswerRequest or mapping, keeps its own fields before the shared ones.
        """
        shared = {
            name: value for name, value in (("model", model), ("version", version)) if value is not None
        }
        items = [self._item(question, shared, min_version) for question in questions]
        return Call(
            "POST", "/v1/answers/batch", wire.BatchResponse, build(wire.BatchRequest, questions=items)
        )

    def _item(
        self, question: Question, shared: Mapping[str, object], min_version: MinVersion
    ) -> dict[str, object]:
        """Build an item; one with a version needs no min_version, and does not take the shared one."""
        if isinstance(question, wire.AnswerRequest):
            fields: Mapping[str, object] = question.model_dump(exclude_unset=True)
        else:
            fields = question if isinstance(question, Mapping) else {"question": question}
        item = {**shared, **fields}
        if fields.get("version") is not None:
            return item
        pin = item.get("version")
        minimum = self._min_version(pin if isinstance(pin, int) else None, min_version)
        return item if minimum is None else {"min_version": minimum, **item}

    def _min_version(self, version: int | None, min_version: MinVersion) -> int | None:
        """Resolve `min_version`; a question that is pinned to `version` never waits for later writes."""
        if min_version != "written":
            return min_version
        return self.last_version if version is None else None
