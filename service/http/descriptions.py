"""Descriptions of fields and parameters in /docs, and an example of each body.

The docstring of a wire type lists the fields whose meaning is particular to it. Others have one meaning under one name,
which stands here; `Type.field` is for a short type whose docstring lists none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from inspect import cleandoc
from types import MappingProxyType
from typing import Any

ATTRIBUTES = "\n\nAttributes:\n"
ATTRIBUTE = re.compile(r"^ {4}(\w+): (.+(?:\n {8}.+)*)", re.MULTILINE)

FIELDS: Mapping[str, str] = MappingProxyType(
    {
        # questions and answers
        "question": "The question, in words.",
        "questions": "Questions, each as /v1/answers takes it.",
        "model": "The model that answers, or is corrected: an `id` of /v1/models.",
        "context": "A text in which the answer may stand, for models that read one.",
        "candidates": "Answers to choose from, for models that sort them.",
        "kg": "`none`: answer without the graph, by models that read it.",
        "version": "A version of the ledger: each commit makes the next one, and 0 is the base.",
        "min_version": "Wait until the replica has at least this version; 503 `version_ahead` if that takes too long.",
        "top_k": "Number of answers: the best and its alternatives.",
        "explain": "Give an `explanation`; costs several times an answer.",
        "stream": "Send the answer piece by piece as server-sent events.",
        "AnswerToken.top": "The likeliest tokens in this place.",
        **{f"{name}.token": "The token to the letter." for name in ("TokenLogprob", "TopLogprob")},
        "bytes": "The token's text in UTF-8.",
        "top_logprobs": "The likeliest tokens in this place; in a request, their number.",
        "logprob": "Its log-probability, whatever the temperature.",
        "TokenChance.text": "The token to the letter.",
        "answer": "The answer, in words; null where the model gives none.",
        "reason": "The reason, as a code or in words.",
        "reason_text": "The reason in a sentence.",
        "score": "Probability that the answer is right, from 0 to 1.",
        "best": "The answer that the model is surest of, even where it is not sure enough to give it.",
        "facts": "Triples of the graph.",
        "ScopeReport.edit": "The id of the edit that answers; null where the base does.",
        "EditDetail.edit": "The edit.",
        # why
        "Remainder.edits": "Ids of the edits that the answer without the causes rests on.",
        "timings": "Durations of the parts, in milliseconds.",
        "replica": "The replica that answered.",
        "results": "One for each question, in order.",
        "problem": "The problem document of a question that got no answer.",
        # edits
        "edit": "The id of an edit; empty for what the base says.",
        "VersionDetail.edits": "The edits of the commit.",
        "VersionSummary.edits": "Number of edits of the commit.",
        "MemoryState.edits": "Counts of edits by state.",
        "paraphrases": "Other wordings of the question, which the edit answers, too.",
        "counterexamples": "Questions that resemble it and ask for something else: the edit never answers them.",
        "EditState.tests": "The tests that came with it.",
        "RelationList.relations": "The relations, by their labels.",
        "subject": "The entity of the fact, by its id or a name.",
        "relation": "The relation, by its name in the graph.",
        "object": "The value: a name, a number or a text.",
        "ChatCompletion.object": "Always `chat.completion`.",
        "ModelList.object": "Always `list`.",
        "define": "The relation that is defined.",
        "holds": "`one` or `many` values for one subject.",
        "label": "Its usual name.",
        "message": "A note that the log keeps, such as the reason.",
        "ChatProblem.message": "The mistake, in a sentence.",
        "ChatChoice.message": "The answer.",
        "expected_version": "Refuse with 409 `stale_version` unless this is the newest version.",
        "method": "The way in which the memory writes an edit: one of `methods` of /v1/models.",
        "wait": "`all`: answer when every replica has the commit. `none`: as soon as it is in the ledger.",
        "wait_report": "Answer when the whole report is measured, which goes on after the commit (`report_state`).",
        "dry_run": "Report what it would do, and change nothing.",
        "strict": "Refuse with 409 `breaks_tests` what breaks a test of an earlier edit or changes another answer.",
        "to": "The version to return to.",
        "kind": "The kind of commit.",
        "report": "The effect of the commit, measured before it was made.",
        "replicas": "The replicas and the version that each has.",
        "counts": "Numbers of lines and triples.",
        # reports
        "before": "The answer before; null for none.",
        "Link.before": "The path that shows the answer before.",
        "ParaphraseReport.before": "The answer to this wording before.",
        "after": "The answer after; null for none.",
        "Link.after": "The path that shows the answer after; null for a dry run.",
        "follows": "True if this wording is answered as the edit says.",
        "superseded_tests": "Fact tests of earlier edits that a later one answers anew.",
        "warnings": "Remarks for a curator, in sentences.",
        "notes": "Further properties of the edit.",
        "memory": "The memory that it is written to.",
        "link": "Paths that show both answers.",
        "expected": "The answer that the edit gave.",
        "actual": "The answer that is given now.",
        "by": "The name of the edit or the person that did it.",
        # versions
        "versions": "Commits, the newest first.",
        "head": "The newest version there is.",
        "author": "The name of the key that made it.",
        "time": "Its time, in UTC.",
        "first": "The first of the edits.",
        "id": "Its id, which never changes.",
        "active": "True until the edit is taken back.",
        "checksum": "Checksum of the memory: equal where every row is.",
        "checksums": "Checksum of each memory, by its name: equal where every row is.",
        "writes": "The writes of the commit to each memory.",
        "puts": "Blocks of rows that were written.",
        "removes": "Blocks of rows that were removed.",
        "total": "The number of all.",
        "name": "Its name.",
        "tags": "Names of versions.",
        "keys": "The keys that were issued.",
        # documents
        "text": "The text itself.",
        "DocumentRequest.text": "The whole text, plain or Markdown, of up to a million characters.",
        "DocumentRequest.title": "Its title.",
        # senses
        "word": "A word to the letter, with the space before it where it has one.",
        "token": "The id of the word in the model's vocabulary.",
        "senses": "The senses of the word.",
        "logit": "The logit that a sense of weight one adds to the word.",
        "media_type": "`text/plain` or `text/markdown`.",
        "characters": "Number of characters of the text.",
        "digest": "SHA-256 of the text in UTF-8: equal where every character is.",
        "documents": "Documents without their texts, by id.",
        "DocumentList.total": "Number of documents.",
        # the graph
        "entity": "The id of the subject.",
        "entities": "Entities, the best first.",
        "aliases": "Other names.",
        "description": "A few words about it.",
        "degree": "Number of triples of which it is the subject.",
        "facts_left_out": "Number of further facts.",
        "removed_facts": "Each time that a fact was removed; it may be said again since.",
        "removed_in": "The version that took it away.",
        "format": "The form of the file.",
        "lines": "Lines of the file.",
        "line": "The line of the file, from 1.",
        "triples": "Triples that were taken.",
        # models, replicas, keys, the audit
        "data": "The models.",
        "created": "Time at which it was made.",
        "scopes": "What the key may do: ask, read, edit, admin.",
        "key": "The secret, which is shown in this response only.",
        "entries": "Calls, the newest first.",
        "next": "The `before` of the next page; null on the last.",
        # problems
        "ChatProblem.type": "The kind of the problem.",
        "title": "The kind of the problem, in words.",
        "status": "The status of HTTP.",
        "code": "The kind of the problem, for programs.",
        "detail": "The mistake and its remedy, in a sentence.",
        "pointer": "A JSON pointer to the field in the body (RFC 6901).",
        "parameter": "The parameter that is wrong.",
        # OpenAI's chat completions
        "messages": "The chat; the last message of a user is the question.",
        "errata": "Fields that OpenAI lacks, such as the version.",
        "ChatChoice.index": "Always 0: there is one answer.",
    }
)
AS_OPENAI = (
    "As in OpenAI's API; service/http/README.md says which fields are kept to, and which change nothing here."
)

PARAMETERS: Mapping[str, str] = MappingProxyType(
    {
        "id": "The id of a model, an entity or a document.",
        "q": "The beginning of a name.",
        "word": "A word, with a space before it where such a word is known.",
        "sense": "Only this sense, by its number from 0.",
        "exact": "Take the word as it is written.",
        "first_piece": "Show the first piece of a word that has several.",
        "limit": "Largest number of items in the list.",
        "before": "Continue from an older page: its `next`, or its oldest version.",
        "after": "Only documents behind this id.",
        "title": "Title of the document.",
        "due": "List only edits whose day has come.",
        "superseded": "List the tests that a later edit answers anew, too.",
        "format": "The form of the file; left out, its content tells.",
        "language": "Language of the labels that are taken from a file with several.",
        "source": "Name of the file, for the log.",
        "subject": "Heading of the column with the names, of a table with a row for each thing.",
        "sheet": "Name of the sheet of an Excel workbook; left out, the only one with cells.",
        "column": "A column that is not called as its relation is, as HEADING=RELATION; HEADING= leaves it out.",
        "where": "Conditions that the things fulfil, each as RELATION=VALUE.",
        "keep_corrections": "Leave out the triples that go against what a person edited.",
        "from": "A version.",
        "to": "Another version.",
        "name": "Its name: of a key, of a caller, or of a version.",
        "path": "Beginning of the path.",
        "refused": "Only calls that were refused, or only those that were not.",
        "since": "Only calls from then on.",
        "until": "Only calls until then.",
        "with_keys": "Restore the keys, too.",
    }
)
"""Parameters that no field explains"""

PERU = "What is the capital of Peru?"
EXAMPLES: Mapping[str, dict[str, Any]] = MappingProxyType(
    {
        "AnswerRequest": {"question": PERU},
        "BatchRequest": {"questions": [{"question": PERU}, {"question": "Who wrote Emma?", "top_k": 3}]},
        "ChatRequest": {"model": "nkb", "messages": [{"role": "user", "content": PERU}]},
        "ResponseRequest": {"model": "nkb", "input": PERU},
        "EditRequest": {
            "edits": [
                {"question": PERU, "answer": "Cusco", "paraphrases": ["Peru's capital?"]},
                {"subject": "Peru", "relation": "capital", "object": "Cusco"},
            ],
            "message": "The capital has moved",
            "dry_run": True,
        },
        "DocumentRequest": {"text": "The mill was built in 1820.", "title": "The mill", "dry_run": True},
        "RevertRequest": {"version": 1, "dry_run": True},
        "ProposalRequest": {"edits": [{"question": PERU, "answer": "Lima"}]},
        "ApprovalRequest": {},
        "RejectionRequest": {"reason": "it was right"},
        "RollbackRequest": {"to": 0, "dry_run": True},
        "TagRequest": {"version": 0},
        "ReviewRequest": {"on": "2099-06-01"},
        "KeyRequest": {"name": "ada", "scopes": ["ask", "edit"], "expires_in_s": 2_592_000},
        "RotateRequest": {"keep_old_s": 3_600},
    }
)
"""Bodies that can be sent as they are, where the version exists"""


def describe_fields(kind: type) -> Mapping[str, str]:
    """Return the fields that the docstrings of a type and of its bases list."""
    lists = [cleandoc(base.__doc__ or "").partition(ATTRIBUTES)[2] for base in reversed(kind.__mro__)]
    return {name: " ".join(text.split()) for items in lists for name, text in ATTRIBUTE.findall(items)}


def describe_by_name(kind: str, field: str) -> str | None:
    """Return the meaning of a field by the names of its type and its own; None for an unknown one."""
    default = AS_OPENAI if kind.startswith(("Chat", "Stream", "Response")) else None
    return FIELDS.get(f"{kind}.{field}", FIELDS.get(field, default))
