"""The reasons of an answer: mentions and rows, mentions that were dropped, the alignment, and each entity left out.

Everything is JSON and bounded by MAX_ENTRIES. specs/thu-ernie.md, section 7.
"""

from typing import Any

from models.memory import Views
from models.thu_ernie.answer import Aligner, Reading, fact_rows
from models.thu_ernie.candidates import NO_ANSWER
from models.thu_ernie.links import LinkedQuestion, without

MAX_ENTRIES = 16  # entries of each list
NO_ROW = "neither the table nor the graph gives a row of it"


def explain(aligner: Aligner, reading: Reading, views: Views) -> dict[str, Any]:
    """Explain an answer by entities."""
    row = reading.masks[0]
    exclusions = [*reading.linking.rejections, *row.rejections]
    return {
        "kind": reading.kind,
        "mentions": [
            {**mention, "token": token}
            for mention, token in zip(_describe_mentions(reading.linking), _tokens(reading), strict=True)
        ][:MAX_ENTRIES],
        "dropped": [
            {
                "entity": drop.link.entity,
                "begin": drop.link.begin,
                "end": drop.link.end,
                "reason": drop.reason,
            }
            for drop in exclusions[:MAX_ENTRIES]
        ],
        "without_row": [{"answer": text, "reason": NO_ROW} for text in reading.exclusions[:MAX_ENTRIES]],
        "alignment": _distribution(reading),
        "no_answer": round(reading.alignment.shares()[1], 4),
        "left_out": _leave_out(aligner, reading, views),
    }


def _describe_mentions(linking: LinkedQuestion) -> list[dict[str, Any]]:
    """Return the mentions of a question with their entities and where the rows come from."""
    return [
        {
            "text": linking.text[mention.link.begin : mention.link.end],
            "begin": mention.link.begin,
            "end": mention.link.end,
            "entity": mention.entity.id,
            "label": mention.entity.label,
            "score": round(mention.link.score, 4),
            "row": mention.row.source,
            "edit": mention.row.edit,
        }
        for mention in linking.subjects
    ]


def _tokens(reading: Reading) -> list[int | None]:
    """Return the place of the token that carries each mention; None where its row carries none."""
    if not reading.linking.subjects:
        return []
    return [
        next((place for place, link in sorted(row.links.items()) if link == mention.link), None)
        for row, mention in zip(reading.masks, reading.linking.subjects, strict=True)
    ]


def _distribution(reading: Reading) -> list[dict[str, Any]]:
    """Return the probability of each candidate beside the zero row's."""
    shares, _ = reading.alignment.shares()
    pairs = zip(reading.alignment.entries, shares, strict=True)
    return [
        {
            "answer": entry.candidate.answer,
            "logit": round(entry.logit - NO_ANSWER, 3),
            "share": round(share, 4),
            "rows": sorted({row.source for row in entry.candidate.rows}),
            "facts": list(fact_rows(entry.candidate)[:MAX_ENTRIES]),
        }
        for entry, share in list(pairs)[:MAX_ENTRIES]
    ]


def _leave_out(aligner: Aligner, reading: Reading, views: Views) -> list[dict[str, Any]]:
    """Answer again without each entity, and return how the answer changes."""
    entities = list(dict.fromkeys(mention.entity.id for mention in reading.linking.subjects))[:MAX_ENTRIES]
    questions = [without(reading.linking, entity) for entity in entities]
    readings = aligner.read_again(reading, questions, views)
    replies = [aligner.reply(other) for other in readings]
    before = aligner.reply(reading)
    return [
        {
            "entity": entity,
            "answer": reply.best,
            "score": round(reply.score, 4),
            "change": round(reply.score - before.score, 4),
        }
        for entity, reply in zip(entities, replies, strict=True)
    ]
