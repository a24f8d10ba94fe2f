"""The knowledge graph of the tiny service: one entity, one relation that can be asked for, an import that counts."""

from __future__ import annotations

from typing import Any

from errata import wire

PHRASING = {"capital": "What is the capital of {}?"}
PERU_ID = "wd:Q419"


def as_correction(item: Any) -> wire.EditItem:
    """Return a fact as question and answer for systems that learn from those; "" as the question if there is none."""
    if isinstance(item, wire.EditItem):
        return item
    phrasing = PHRASING.get(getattr(item, "relation", ""), "")
    question = phrasing.format(item.subject) if phrasing else ""
    return wire.EditItem.model_construct(
        question=question, answer=getattr(item, "object", ""), paraphrases=[], model="nkb"
    )


def peru() -> wire.EntityState:
    lima = {"relation": "capital", "label": "capital", "object": "Lima", "object_id": "wd:Q2868"}
    facts = [{**lima, "object": "Cusco", "object_id": "wd:Q5582862", "edit": "e3", "added_in": 3}]
    return wire.EntityState.model_validate(
        {
            "id": PERU_ID,
            "label": "Peru",
            "aliases": ["Republic of Peru"],
            "description": "country in South America",
            "degree": 1,
            "version": 3,
            "facts": facts,
            "removed_facts": [{**lima, "removed_in": 3}],
        }
    )


def explain(request: wire.AnswerRequest, edits: list[str]) -> dict[str, Any]:
    """Explain an answer as each system does, in its own terms."""
    if request.model != "kbert":
        return {"rests_on": edits}
    texts = ["[CLS]", *request.question.lower().replace("?", " ?").split(), "[SEP]"]
    tokens = [{"text": text, "position": place, "word": 0, "branch": 0} for place, text in enumerate(texts)]
    at = request.question.find("Peru")
    fact = {"relation": "capital", "object": "Lima"}
    branch = {**fact, "text": "capital Lima", "rank": 0.93, "score": 0.88, "positions": [7, 8], "edit": ""}
    tree = {"text": "Peru", "start": at, "end": at + 4, "entity": PERU_ID, "label": "Peru", "facts": [branch]}
    return {
        "tokens": tokens,
        "tree": [tree],
        "ambiguous": [],
        "left_out": [],
        "rests_on": [{"entity": PERU_ID, **fact}],
        "without": [{**fact, "answer": None, "score": 0.1}],
    }


def fact_report(fact: wire.FactItem, before: dict[str, str], id: str) -> wire.EditReport:
    question = as_correction(fact).question
    notes = {
        "subject": fact.subject,
        "relation": fact.relation,
        "object": fact.object,
        "act": fact.act or "set",
    }
    warnings = [] if question else [f"no question for the relation {fact.relation!r} is known"]
    return wire.EditReport(
        id=id,
        model="kbert",
        memory="graph/triples",
        question=question,
        answer=fact.object,
        method="triple",
        before=before.get(question),
        after=fact.object,
        holds=True,
        notes=notes,
        warnings=warnings,
    )


def count_triples(body: bytes) -> wire.ImportCounts:
    """Count one triple for each line of three columns."""
    lines = body.decode().splitlines()
    good = [line for line in lines if line.count("\t") == 2]
    rejected_lines = [
        wire.RejectedLine(line=number, code="columns", reason=f"three columns are needed, not {line!r}")
        for number, line in enumerate(lines, start=1)
        if line not in good
    ]
    return wire.ImportCounts(
        format="tsv",
        lines=len(lines),
        triples=len(good),
        entities=1,
        new_entities=1,
        rejected=len(rejected_lines),
        rejected_by={"columns": len(rejected_lines)} if rejected_lines else {},
        rejected_lines=rejected_lines,
        seconds=0.5,
    )
