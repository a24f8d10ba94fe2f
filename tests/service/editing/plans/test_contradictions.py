"""Contradictions within one request: the later edit wins, as it did when each was looked for by itself."""

import asyncio
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.editing.editor import Editor
from service.editing.notes import RelationNote
from service.editing.planned_edit import PlannedEdit
from service.editing.plans import conflicts
from service.editing.plans.conflicts import TOO_MANY_REFUSED, Contradiction, find_contradictions
from service.editing.plans.fact_resolver import CurrentValues, Values
from service.ledger.commit import Triple
from tests.service.editing.requests import FRANCE, PERU, change, edits, item
from tests.service.graph.requests import triple
from tests.service.toy_graph import TOYS

OPTIONS = {"systems": TOYS}

MIXES = (Path(__file__).parent / "contradictions.jsonl").read_text(encoding="utf-8").splitlines()
PREVIEW = {"dry_run": True, "measure": False}
NEIGHBOUR_OF_PERU = "What is the neighbour of Peru?"


def refused(receipt: dict[str, Any]) -> list[list[Any]]:
    report = receipt.get("report") or receipt
    return [
        [edit["place"], edit["code"], edit.get("reason", ""), edit["detail"]]
        for edit in report.get("refused", [])
    ]


async def test_small_requests_have_the_receipts_that_they_had(editor: Editor) -> None:
    """The table was written when every contradiction had the request planned again."""
    for mix in map(json.loads, MIXES):
        receipt = await edits(editor, *mix["items"], **mix["options"])
        assert refused(receipt) == mix["refused"], mix["items"]
        report = receipt.get("report") or receipt
        answers = [
            [edit.get("place", 0), edit.get("question", ""), edit["answer"]]
            for edit in report.get("edits", [])
        ]
        assert answers == mix["edits"], mix["items"]


def plan_at(place: int, **fields: Any) -> PlannedEdit:
    return PlannedEdit(place=place, model="toy", memory="m", method="answer", **fields)


def fact_at(place: int, question: str, subject: str, relation: str, text: str, act: Any) -> PlannedEdit:
    return plan_at(
        place,
        question=question,
        answer=text,
        triple=Triple(subject, relation, text, act),
        statements={subject: ()},
    )


def relation_at(place: int, holds: Any, label: str | None) -> PlannedEdit:
    note = RelationNote("r", holds, label)
    return plan_at(place, question="", answer="", statements={"@relation/r": ()}, note=note)


PLACES = st.integers(0, 12)
WORDINGS = st.sampled_from("abcd")
CORRECTIONS = st.one_of(
    st.builds(
        lambda place, wordings, answer: plan_at(
            place, question=wordings[0], answer=answer, given_paraphrases=tuple(wordings[1:])
        ),
        PLACES,
        st.lists(WORDINGS, min_size=1, max_size=3, unique=True),
        st.sampled_from("xyz"),
    ),
    st.builds(relation_at, PLACES, st.sampled_from(["one", "many", None]), st.sampled_from(["l", "k", None])),
)
FACTS = st.builds(
    fact_at,
    PLACES,
    st.sampled_from(["", "q"]),
    st.sampled_from(["s", "t"]),
    st.sampled_from(["r", "p"]),
    st.sampled_from("xy"),
    st.sampled_from(["set", "add", "remove"]),
)


def one_by_one(planned_edits: Sequence[PlannedEdit]) -> list[Contradiction]:
    """Look for the first contradiction from the start again after each that is found."""
    contradictions: list[Contradiction] = []
    while True:
        losers = {contradiction.earlier for contradiction in contradictions}
        remaining = [edit for edit in planned_edits if edit.place not in losers]
        shared = conflicts._shared_wordings(remaining)
        first = next(
            (
                Contradiction(first.place, edit.place, wording)
                for first, edit, wording in shared
                if conflicts._contradicts(first, edit)
            ),
            None,
        )
        if first is None:
            return contradictions
        contradictions.append(first)


@given(st.one_of(st.lists(CORRECTIONS, max_size=14), st.lists(FACTS, max_size=14)))
def test_all_contradictions_are_those_that_are_found_one_by_one(planned_edits: list[PlannedEdit]) -> None:
    assert list(find_contradictions(planned_edits)) == one_by_one(planned_edits)


def contradicting(kind: str, count: int) -> list[dict[str, Any]]:
    """Return a request of which one edit, or one for each pair, is taken."""
    if kind == "one question":
        return [item(PERU, f"Town {n}") for n in range(count)]
    if kind == "one fact":
        return [triple("Peru", "capital", f"Town {n}", act="set", only="graph") for n in range(count)]
    if kind == "pairs":
        return [item(f"Question {n // 2}", f"Answer {n % 2}") for n in range(count)]
    return [
        *(triple("Peru", "shares_border_with", f"Town {n}", act="add") for n in range(count - 1)),
        item(NEIGHBOUR_OF_PERU, "Nobody"),
    ]


KINDS = ["one question", "one fact", "pairs", "facts against an answer"]


@pytest.mark.parametrize("kind", KINDS)
async def test_very_many_contradictions_take_seconds_and_other_edits_go_on(editor: Editor, kind: str) -> None:
    """`python -m tests.service.editing.plans.measure` does the same with 20,000 edits."""
    items = contradicting(kind, 2_000)
    await change(editor, FRANCE, "Lyon")
    start = time.perf_counter()
    preview = asyncio.create_task(edits(editor, *items, **PREVIEW))
    n_commits = 0
    while not preview.done():
        n_commits += (await change(editor, FRANCE, f"Town {n_commits}"))["status"] == 201
    n_taken = 1_000 if kind == "pairs" else 1
    assert len(refused(preview.result())) == 2_000 - n_taken
    assert n_commits > 0
    assert time.perf_counter() - start < 20


@pytest.mark.parametrize("kind", KINDS)
async def test_a_commit_of_contradictions_takes_the_later_ones(editor: Editor, kind: str) -> None:
    receipt = await edits(editor, *contradicting(kind, 400), skip_refused=True)
    assert receipt["status"] == 201
    n_taken = 200 if kind == "pairs" else 1
    assert len(refused(receipt)) == 400 - n_taken


@pytest.mark.parametrize("kind", ["one fact", "facts against an answer"])
async def test_four_times_as_many_facts_are_four_times_the_work(editor: Editor, kind: str) -> None:
    async def count_calls(n_items: int) -> int:
        n_calls = 0

        def count(*_: object) -> None:
            nonlocal n_calls
            n_calls += 1

        items = contradicting(kind, n_items)
        sys.setprofile(count)
        try:
            receipt = await edits(editor, *items, **PREVIEW)
        finally:
            sys.setprofile(None)
        assert len(refused(receipt)) == n_items - 1
        return n_calls

    await count_calls(10)  # what is imported and cached by the first request
    assert await count_calls(2_000) < 5 * await count_calls(500)


@given(
    st.lists(st.sampled_from("aAbB"), max_size=3),
    st.lists(st.tuples(st.booleans(), st.sampled_from("aAbBcdefg"))),
)
def test_values_that_change_one_by_one_are_those_of_a_plain_list(
    start: list[str], changes: list[tuple[bool, str]]
) -> None:
    values, plain = CurrentValues(start), list(dict.fromkeys(start))
    for adds, text in changes:
        same = next((value for value in plain if value.casefold() == text.casefold()), None)
        assert values.find(text) == same
        if adds:
            values.add(text)
            plain += [text] * (text not in plain)
        elif same is not None:
            values.discard(same)
            plain.remove(same)
        assert values.describe() == Values(len(plain), tuple(plain), tuple(sorted(plain)))


async def test_of_very_many_that_are_refused_and_contradict_one_another_all_are_named(editor: Editor) -> None:
    items = [item(PERU, "Cusco"), *(item(PERU, "x" * 201 + str(n)) for n in range(500))]
    receipt = await edits(editor, *items, **PREVIEW)
    details = {place: detail for place, _, _, detail in refused(receipt)}
    assert sorted(details) == list(range(501))
    assert details[0] == TOO_MANY_REFUSED
    assert "more than 200 characters" in details[500]
