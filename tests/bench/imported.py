"""Questions about imported facts of relations that nothing was trained on: the fact, beside the fact, at a time.

The questions (`imported/`) are by a writer who saw no other file of this project; K-BERT is asked with the mentions
that a question has, by the facts that hold on its day.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from models.encoder.minilm import MiniLM
from models.graph.knowledge import Entity, Fact, Mention
from models.kbert.answer import Answerer
from models.kbert.checkpoint import load
from models.kit.days import find_day
from models.reading.checkpoint import load as load_reader
from models.scope.judge import Judge
from models.steps import finish
from models.system import Ask, Reply
from tests.bench.table import Row

FOLDER = Path(__file__).parent / "imported"
OPENS = 0.5  # probability from which the judge lets an edit answer


def rows() -> Iterator[Row]:
    answerer, facts = Answerer(load(), load_reader()), {row["id"]: row for row in _read("facts")}
    entities = _gather(facts.values())
    direct, beside = _read("asked"), _read("beside")
    replies = _ask(answerer, entities, [(row["question"], facts[row["fact"]]["subject"]) for row in direct])
    pairs = zip(direct, replies, strict=True)
    right = [reply.answer == facts[row["fact"]]["object"] for row, reply in pairs]
    yield Row(
        "imported facts of 20 relations, in five wordings: right", _share(right), ">= 90", f"{len(right)}"
    )
    replies = _ask(answerer, entities, [(row["question"], facts[row["fact"]]["subject"]) for row in beside])
    declined = defaultdict[str, list[bool]](list)
    for row, reply in zip(beside, replies, strict=True):
        for kind in ("all", row["kind"]):
            declined[kind].append(reply.answer is None)
    for kind, marks in declined.items():
        yield Row(f"beside an imported fact, {kind}: declined", _share(marks), ">= 85", f"{len(marks)}")
    yield from _ask_dated(answerer)
    yield from _judge_function_words()


def _ask_dated(answerer: Answerer) -> Iterator[Row]:
    right = []
    for row in _read("dated"):
        facts = [
            Fact(row["relation"], row["relation"], part["object"], begin=part["from"], end=part.get("to", ""))
            for part in row["series"]
        ]
        entity = Entity(row["subject"], row["subject"], facts=tuple(facts), has_periods=True)
        texts = [(question["question"], row["subject"]) for question in row["questions"]]
        replies = _ask(answerer, {row["subject"]: entity}, texts)
        pairs = zip(row["questions"], replies, strict=True)
        right += [reply.answer == question["right"] for question, reply in pairs]
    yield Row(
        "dated facts, at the time that a question names: right", _share(right), ">= 90", f"{len(right)}"
    )


def _judge_function_words() -> Iterator[Row]:
    encoder, pairs = MiniLM(), _read("function_words")
    judge = Judge.load(encoder)
    edits, questions = (judge.encode([row[side] for row in pairs]) for side in ("taught", "asked"))
    log_odds = judge(
        list(zip(questions.tokens, edits.tokens, strict=True)), (questions.vectors * edits.vectors).sum(-1)
    )
    opens = ((log_odds.sigmoid() >= OPENS) & (questions.literals == edits.literals)).tolist()
    marks = defaultdict[str, list[bool]](list)
    for row, is_open in zip(pairs, opens, strict=True):
        for kind in (row["same"], row["kind"]):
            marks[kind].append(is_open)
    yield Row("function words of the same meaning: follow", _share(marks.pop(True)))
    yield Row(
        "another possessive, modal, condition, quantifier or unit: taken", _share(marks.pop(False)), "<= 5"
    )
    for kind, part in marks.items():
        yield Row(f"function words, {kind}: taken", _share(part), note=f"{len(part)}")


def _gather(facts: Any) -> dict[str, Entity]:
    by_subject = defaultdict[str, list[Fact]](list)
    for row in facts:
        by_subject[row["subject"]].append(Fact(row["relation"], row["relation"], row["object"]))
    return {subject: Entity(subject, subject, facts=tuple(of)) for subject, of in by_subject.items()}


def _ask(answerer: Answerer, entities: Mapping[str, Entity], texts: Sequence[tuple[str, str]]) -> list[Reply]:
    """Ask questions that name a subject each."""
    asks, today = [], date.today().isoformat()
    for text, subject in texts:
        place = re.search(re.escape(subject), text, re.IGNORECASE)
        mentions = ()
        if place is not None:
            day = find_day(f"{text[: place.start()]} {text[place.end() :]}") or today
            mentions = (Mention(place.start(), place.end(), (entities[subject].at(day),)),)
        asks.append(Ask(text, mentions=mentions))
    return finish(answerer.reply(asks, finish(answerer.read(asks))))


def _read(name: str) -> list[Any]:
    return [json.loads(line) for line in (FOLDER / f"{name}.jsonl").read_text("utf-8").splitlines()]


def _share(marks: Sequence[bool]) -> float:
    return 100 * sum(marks) / len(marks)
