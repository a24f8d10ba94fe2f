"""What visitors hear, who ask all systems at once: asked before and after a commit.

Paraphrases of a question, so that a curator sees how far an edit reaches before it is made.

A question in the words of a relation that the system was trained on gets the relation's other wordings, first those
that were kept out of the training. Any other question is reworded by a few rules of English, which fit most short
ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from errata.wire import EditReport, Outcome
from errata.wire.wording import END, normalize_question

from service.choice import Standing, choose, repeats_words
from service.editing.evaluation.expectations import comes_out, report_paraphrase
from service.editing.evaluation.lineage import version_of
from service.editing.models import Answer, ModelsAtVersion
from service.errors import ErrataError
from service.ledger.commit import EditRecord

MAX_ASKED = 10  # edits of a commit whose questions are asked; a receipt shows no more than these one by one
STILL_HEAR = "who names no system still hears {!r} from {}{}: {}"
EDIT_THERE = "correct {!r} to {!r} there, too, by `model` {}"
FACT_THERE = "correct the fact, or take that version back"


async def add_visitors(
    edits: Sequence[EditReport],
    before: ModelsAtVersion,
    after: ModelsAtVersion,
    records: Mapping[str, EditRecord],
) -> list[EditReport]:
    """Let the first edits say what visitors hear, with a warning where that is not the edit's answer.

    Args:
        edits: The edits of a report. If the systems cannot be asked now, they stay as they are.
    """
    asked_edits = [edit for edit in edits if edit.id and edit.question and edit.place is not None][:MAX_ASKED]
    if len(after) < 2 or not asked_edits:
        return list(edits)
    questions = [edit.question for edit in asked_edits]
    try:
        old, new = [await _hear(questions, models, records) for models in (before, after)]
    except ErrataError:
        return list(edits)
    fresh = {
        edit.id: _describe(edit, first, model, last, records)
        for edit, (_, first), (model, last) in zip(asked_edits, old, new, strict=True)
    }
    return [fresh.get(edit.id, edit) for edit in edits]


async def _hear(
    questions: Sequence[str], models: ModelsAtVersion, records: Mapping[str, EditRecord]
) -> list[tuple[str, Answer]]:
    """Return the system that is heard for each question, and its answer."""
    answers = {name: await model.ask(questions) for name, model in models.items()}
    names = list(models)
    places = [choose([_standing(answers[name][q], q, records) for name in names]) for q in questions]
    return [
        (names[place], answers[names[place]][question])
        for question, place in zip(questions, places, strict=True)
    ]


def _standing(answer: Answer, question: str, records: Mapping[str, EditRecord]) -> Standing:
    repeats = not answer.edits and repeats_words(answer.text or answer.best, question)
    is_answer = answer.text is not None and not repeats
    score = 1.0 if answer.edits and not answer.objects else answer.score  # an edit answers its own question
    subjects = ("",) * bool(answer.objects)  # the words of an edit's own question are its own
    return Standing(is_answer, repeats, score, _newest(answer, records) or 0, subjects)


def _newest(answer: Answer, records: Mapping[str, EditRecord]) -> int | None:
    """Return the version of the newest edit that an answer rests on; None without one."""
    return max((version_of(records[id]) for id in answer.edits if id in records), default=None)


def _describe(
    edit: EditReport, before: Answer, model: str, after: Answer, records: Mapping[str, EditRecord]
) -> EditReport:
    """Return the report of an edit with what visitors hear."""
    version, warnings = _newest(after, records), edit.warnings
    visitors = Outcome(before=before.text, after=after.text, model=model, version=version)
    if edit.holds and after.text is not None and after.text not in (edit.after, edit.answer):
        origin = f" by version {version}" if version else ""
        advice = FACT_THERE if after.objects else EDIT_THERE.format(edit.question, edit.answer, model)
        warnings = [*warnings, STILL_HEAR.format(after.text, model, origin, advice)]
    return edit.model_copy(update={"visitors": visitors, "warnings": warnings})


MAX_PARAPHRASES = 4
# edits of one request that are reworded: for a whole file the paraphrases would cost more than the edits
MAX_EDITS_REWORDED = 4
SUBJECT = "{subject}"
WH_QUESTION = re.compile(r"(?:what|who) (?:is|was|are|were) (?P<rest>.+)", re.IGNORECASE)
OF_PHRASE = re.compile(r"the (?P<relation>.+?) of (?P<subject>.+)", re.IGNORECASE)
POSSESSIVE = re.compile(r"(?P<subject>.+)['’]s (?P<relation>.+)", re.IGNORECASE)
DANGLING = re.compile(r"\b(?:to|of|in|at|for|from|with|by|on|about|called|named|like)$", re.IGNORECASE)


class ParaphraseGenerator:
    """Rewords questions.

    Args:
        templates: Wordings of each relation with `{subject}`; a question belongs to the longest one that fits it.
    """

    def __init__(self, templates: Sequence[Sequence[str]] = ()) -> None:
        pairs = [(template, relation) for relation in templates for template in relation]
        pairs.sort(key=lambda pair: -len(pair[0]))
        self._relations: list[tuple[re.Pattern[str], Sequence[str]]] = []
        for template, relation in pairs:
            before, after = map(re.escape, template.rstrip(END).split(SUBJECT))
            pattern = re.compile(f"{before}(?P<subject>.+){after}", re.IGNORECASE)
            self._relations.append((pattern, relation))

    def generate(self, question: str, paraphrases: Sequence[str] = ()) -> list[str]:
        """Return at most MAX_PARAPHRASES wordings, without the question itself and the given paraphrases."""
        fresh = {normalize_question(wording): wording for wording in reversed(list(self._all(question)))}
        for wording in (question, *paraphrases):
            fresh.pop(normalize_question(wording), None)
        return list(reversed(fresh.values()))[:MAX_PARAPHRASES]

    def _all(self, question: str) -> Iterator[str]:
        bare = question.strip().rstrip(END)
        for pattern, relation in self._relations:
            match = pattern.fullmatch(bare)
            if match:
                yield from (template.replace(SUBJECT, match["subject"]) for template in relation)
                return
        yield from _turn(bare)


def _turn(question: str) -> Iterator[str]:
    """Reword a question, given without its question mark, by rules of English."""
    match = WH_QUESTION.fullmatch(question)
    phrase = OF_PHRASE.fullmatch(match["rest"]) or POSSESSIVE.fullmatch(match["rest"]) if match else None
    if phrase and not DANGLING.search(question):
        yield f"{phrase['subject']}'s {phrase['relation']}?"
        yield f"The {phrase['relation']} of {phrase['subject']}?"
        yield f"Tell me {phrase.string}."
    inner = question[:1].lower() + question[1:]
    yield f"Please tell me: {inner}?"
    yield f"I have a question: {inner}?"
    yield f"{question}, please?"
    yield f"{question}? Do you know?"


async def measure_paraphrases(
    edits: Sequence[EditRecord],
    generators: Mapping[str, ParaphraseGenerator],
    before: ModelsAtVersion,
    after: ModelsAtVersion,
) -> dict[str, list[Outcome]]:
    """Return, for the first few edits, the answers to generated paraphrases before and after."""
    by_id = {edit.id: edit for edit in edits}
    reports: dict[str, list[Outcome]] = {}
    for edit in [edit for edit in edits if edit.question][:MAX_EDITS_REWORDED]:
        generator = generators.get(edit.model, ParaphraseGenerator())
        questions = generator.generate(edit.question, edit.paraphrases)
        old = await before[edit.model].ask(questions)
        new = await after[edit.model].ask_unless_routed(questions, by_id)
        reports[edit.id] = [
            report_paraphrase(question, old, new, comes_out(edit, new[question])) for question in questions
        ]
    return reports
