"""Whether a memory gives the wanted answers: asked before rows are made for them, and after."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from errata.wire import EditReport, ParaphraseReport

from service.errors import EditRefused
from service.measuring.reading import Reading
from service.measuring.wanted import Wanted, comes_out

KNOWN = "the model gives this answer already: nothing was written for it"
TWICE = "the same correction stands earlier in this request: nothing was written for it"
DOES_NOT_HOLD = "does_not_hold"


async def ask(readings: Mapping[str, Reading], wanted: Sequence[Wanted]) -> None:
    questions: dict[str, list[str]] = defaultdict(list)
    for one in wanted:
        questions[one.model] += (*one.wordings, *one.reworded)
    for model, some in questions.items():
        await readings[model].ask(some)


def all_come_out(one: Wanted, readings: Mapping[str, Reading]) -> bool:
    """In all its wordings, which have been asked."""
    known = readings[one.model].known
    return all(comes_out(one, known[w].answer, known[w].objects) for w in one.wordings)


def holds(one: Wanted, readings: Mapping[str, Reading]) -> bool:
    """Its own question, which has been asked; the graph alone says what its edits say."""
    said = readings[one.model].known[one.question]
    return one.notes.get("only") == "graph" or comes_out(one, said.answer, said.objects)


def failure(one: Wanted, after: Mapping[str, Reading]) -> EditRefused:
    said = after[one.model].known[one.question].answer
    detail = f"after this edit {one.question!r} would be answered {said!r}, not {one.answer!r}"
    return EditRefused(detail, reason=DOES_NOT_HOLD)


def idle_report(one: Wanted, before: Reading) -> EditReport:
    """After the commit it comes out in all wordings: else the draft does not stand."""
    known = before.known
    now = known[one.question].answer if one.question else one.answer
    after = one.answer if one.told is None else now
    others = [
        ParaphraseReport(question=q, before=known[q].answer, after=after, follows=True)
        for q in one.paraphrases
    ]
    return EditReport(
        id="",
        place=one.place,
        model=one.model,
        memory=one.memory,
        question=one.question,
        answer=one.answer,
        method=one.method,
        before=now,
        after=after,
        holds=True,
        paraphrases=others,
        notes={name: value for name, value in one.notes.items() if name != "warnings"},
        warnings=[one.idle or (TWICE if one.repeated else KNOWN), *one.notes.get("warnings", ())],
    )
