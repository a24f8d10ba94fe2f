"""Calls that ask questions, by default at a version that includes all writes of this client."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Literal, TypeAlias

from errata import wire
from errata.calls.method import Builder, Method
from errata.request import Call, build

MinVersion: TypeAlias = int | Literal["written"] | None
Question: TypeAlias = str | wire.AnswerRequest | Mapping[str, object]


class AskCalls(Builder):
    """The part of `Calls` that asks."""

    @Method
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
        as_of: date | str | None = None,
        kg: Literal["graph", "none"] = "graph",
        top_k: int = 1,
        explain: bool = False,
        sampling: wire.Sampling | None = None,
    ) -> Call[wire.Answer]:
        """Ask one question; `wire.AnswerRequest` describes the options.

        Args:
            min_version: Wait until the replica has at least this version; "written" is the newest that this client
                wrote, None is any.
        """
        body = build(
            wire.AnswerRequest,
            question=question,
            model=model,
            context=[context] if isinstance(context, str) else context and list(context),
            candidates=None if candidates is None else list(candidates),
            document=document,
            version=version,
            as_of=as_of,
            kg=kg,
            min_version=_resolve(min_version, version, self.last_version),
            top_k=top_k,
            explain=explain,
            sampling=sampling,
        )
        may_never_exist = (body.min_version or 0) > (self.last_version or 0)
        return Call("POST", "/v1/answers", wire.Answer, body, may_never_exist=may_never_exist)

    @Method
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
        items = [_build_item(question, shared, min_version, self.last_version) for question in questions]
        body = build(wire.BatchRequest, questions=items)
        return Call("POST", "/v1/answers/batch", wire.BatchResponse, body)

    @Method
    def why(
        self,
        question: str,
        *,
        model: str | None = None,
        version: int | None = None,
        min_version: MinVersion = "written",
        as_of: date | str | None = None,
    ) -> Call[wire.WhyReport]:
        """Ask a question and tell why it is answered so: the edits and facts, who made them, and the answer without.

        The options are those of `ask`.
        """
        minimum = _resolve(min_version, version, self.last_version)
        query = {"question": question, "model": model, "version": version, "min_version": minimum}
        return Call("GET", "/admin/why", wire.WhyReport, query={**query, "as_of": as_of and str(as_of)})

    @Method
    def scope(
        self, question: str, *, model: str | None = None, version: int | None = None
    ) -> Call[wire.ScopeReport]:
        """List the edits that a question resembles most, and why each does or does not answer it, at any version."""
        query = {"question": question, "model": model, "version": version}
        return Call("GET", "/admin/scope", wire.ScopeReport, query=query)

    @Method
    def senses(
        self,
        word: str,
        *,
        sense: int | None = None,
        top_k: int = 8,
        exact: bool = False,
        first_piece: bool = False,
        model: str | None = None,
        version: int | None = None,
    ) -> Call[wire.WordSenses]:
        """Show a word by its senses: the words that each favours, its strength, and the edits that changed it.

        `wire.SensesQuery` describes the options.
        """
        query = build(
            wire.SensesQuery,
            word=word,
            sense=sense,
            top_k=top_k,
            exact=exact,
            first_piece=first_piece,
            model=model,
            version=version,
        )
        return Call("GET", "/v1/senses", wire.WordSenses, query=query)


def _build_item(
    question: Question, shared: Mapping[str, object], min_version: MinVersion, last_version: int | None
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
    minimum = _resolve(min_version, pin if isinstance(pin, int) else None, last_version)
    return item if minimum is None else {"min_version": minimum, **item}


def _resolve(min_version: MinVersion, version: int | None, last_version: int | None) -> int | None:
    """Resolve `min_version`; a question that is pinned to `version` never waits for later writes."""
    if min_version != "written":
        return min_version
    return last_version if version is None else None
