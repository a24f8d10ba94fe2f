"""Paraphrases of a question, so that a curator sees how far an edit reaches before it is made.

A question in the words of a relation that the system was trained on gets the relation's other wordings, first those
that were kept out of the training. Any other question is reworded by a few rules of English, which fit most short
ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from errata.wire import Outcome
from errata.wire.wording import END, normalize_question

from service.editing.evaluation.expectations import report_paraphrase, returns_expected
from service.editing.models import ModelsAtVersion
from service.ledger.commit import EditRecord

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
            self._relations.append((re.compile(f"{before}(?P<subject>.+){after}", re.IGNORECASE), relation))

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


def reword_edits(
    edits: Sequence[EditRecord], generators: Mapping[str, ParaphraseGenerator]
) -> list[tuple[EditRecord, list[str]]]:
    """Return the first few edits that have a question, with generated paraphrases of it."""
    first_edits = [edit for edit in edits if edit.question][:MAX_EDITS_REWORDED]
    return [
        (edit, generators.get(edit.model, ParaphraseGenerator()).generate(edit.question, edit.paraphrases))
        for edit in first_edits
    ]


async def measure_paraphrases(
    edits: Sequence[EditRecord],
    generators: Mapping[str, ParaphraseGenerator],
    before: ModelsAtVersion,
    after: ModelsAtVersion,
) -> dict[str, list[Outcome]]:
    """Return, for the first few edits, the answers to generated paraphrases before and after."""
    by_id = {edit.id: edit for edit in edits}
    reports: dict[str, list[Outcome]] = {}
    for edit, questions in reword_edits(edits, generators):
        old = await before[edit.model].ask(questions)
        await after[edit.model].differing_since(before[edit.model], questions)  # keeps the other answers
        new = await after[edit.model].ask_unless_routed(questions, by_id)
        reports[edit.id] = [
            report_paraphrase(question, old, new, returns_expected(edit, new[question]))
            for question in questions
        ]
    return reports
