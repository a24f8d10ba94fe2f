"""The same question in other words, so that a curator sees how far an edit reaches before it is made.

Where a question is worded as the pack words a relation, the relation's other wordings are taken, those that no model
was trained on first. Any other is turned by a few rules of English, which fit most short questions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from errata.wire.wording import END
from errata.wire.wording import normalize_question as plain

from models.packs.pack import Pack, Relation
from service.measuring.probes import PACKS

MOST = 4
SUBJECT = "{subject}"
ASKED = re.compile(r"(?:what|who) (?:is|was|are|were) (?P<rest>.+)", re.IGNORECASE)
OF = re.compile(r"the (?P<asked>.+?) of (?P<subject>.+)", re.IGNORECASE)
OWN = re.compile(r"(?P<subject>.+)['’]s (?P<asked>.+)", re.IGNORECASE)
DANGLING = re.compile(r"\b(?:to|of|in|at|for|from|with|by|on|about|called|named|like)$", re.IGNORECASE)


class Rewording:
    """relations: whose wordings are known; the longest template that fits a question is taken for its own."""

    def __init__(self, relations: Iterable[Relation] = ()) -> None:
        known = [(template, one) for one in relations for template in (*one.held, *one.phrasings)]
        known.sort(key=lambda pair: -len(pair[0]))
        self._known = [(_pattern(template), one) for template, one in known]

    @staticmethod
    def of_model(name: str) -> Rewording:
        """In the words of the pack that the model was taught. PackError when it is damaged."""
        folder = PACKS.get(name)
        return Rewording(Pack.load(folder).relations.values() if folder else ())

    def of(self, question: str, given: Sequence[str] = ()) -> list[str]:
        """At most MOST, none of them the question itself or one of the paraphrases given with it."""
        fresh = {plain(wording): wording for wording in reversed(list(self._all(question)))}
        for wording in (question, *given):
            fresh.pop(plain(wording), None)
        return list(reversed(fresh.values()))[:MOST]

    def _all(self, question: str) -> Iterator[str]:
        asked = question.strip().rstrip(END)
        for pattern, relation in self._known:
            found = pattern.fullmatch(asked)
            if found:
                templates = (*relation.held, *relation.phrasings)
                yield from (template.replace(SUBJECT, found["subject"]) for template in templates)
                return
        yield from _turned(asked)


def _pattern(template: str) -> re.Pattern[str]:
    before, after = template.rstrip(END).split(SUBJECT)
    return re.compile(f"{re.escape(before)}(?P<subject>.+){re.escape(after)}", re.IGNORECASE)


def _turned(asked: str) -> Iterator[str]:
    """asked: without its question mark."""
    found = ASKED.fullmatch(asked)
    named = OF.fullmatch(found["rest"]) or OWN.fullmatch(found["rest"]) if found else None
    if named and not DANGLING.search(asked):
        yield f"{named['subject']}'s {named['asked']}?"
        yield f"The {named['asked']} of {named['subject']}?"
        yield f"Tell me {named.string}."
    inner = asked[:1].lower() + asked[1:]
    yield f"Please tell me: {inner}?"
    yield f"I have a question: {inner}?"
    yield f"{asked}, please?"
    yield f"{asked}? Do you know?"
