"""Whether `auto` picks well: questions of all kinds over HTTP, to it and to each system alone.

No weight was trained on the wordings: they are the third writer's, facts of relations that the Backpack's scale is not
fitted on. A question is answered rightly if the answer is the expected one to the letter, or is rightly withheld.
"""

import random
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from models.confidence import calibration_error
from models.encoder.minilm import MiniLM
from models.packs.pack import WORLD, Pack
from models.relational.question import TextReader
from models.training.backpack.plan import DEFAULT as BACKPACK_PLAN
from models.training.backpack.texts import Texts
from models.training.phrasings import read_phrasings
from models.training.relational.plan import DEFAULT as RELATIONAL_PLAN
from models.training.relational.prepare import prepare
from tests.bench.processes import run_errata
from tests.bench.table import Row

SYSTEMS = ("nkb", "kbert", "relational", "backpack")
AUTO = "auto"
N_FACTS, N_PATHS, N_OTHERS = 240, 120, 60  # questions: one fact; two facts; each of the other kinds
N_CANDIDATES, N_STATEMENTS = 5, 3
N_TIMED = 40
BATCH = 64
TIMEOUT_S = 120.0
SEED = 23


@dataclass(frozen=True)
class Question:
    """A question of one kind.

    Attributes:
        kind: Its group.
        text: The question.
        expected: Its right answer; "" where it has to be withheld.
        fields: Further fields of the request.
    """

    kind: str
    text: str
    expected: str
    fields: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Reply:
    """What one model said to a question; a refusal, as of an input that it does not read, says nothing."""

    question: Question
    answer: str | None
    best: str
    score: float

    @property
    def is_right(self) -> bool:
        return (self.answer or "") == self.question.expected

    @property
    def is_best_right(self) -> bool:
        return (self.answer or self.best) == self.question.expected != ""


def rows() -> Iterator[Row]:
    questions = draw_questions(N_FACTS, N_PATHS, N_OTHERS)
    words = [word for name in SYSTEMS for word in ("--system", name)]
    with (
        tempfile.TemporaryDirectory(prefix="errata-bench-") as name,
        run_errata(Path(name), 1, *words) as server,
        httpx.Client(base_url=server.url, timeout=TIMEOUT_S) as http,
    ):
        replies = {model: put(http, model, questions) for model in (*SYSTEMS, AUTO)}
        yield from compare(replies)
        yield _compare_time(http, questions)


def draw_questions(n_facts: int, n_paths: int, n_others: int) -> list[Question]:
    """Draw the questions, always the same: facts, paths of two facts, candidates, contexts, unknown names."""
    pack = Pack.load()
    texts = Texts(pack, BACKPACK_PLAN.texts, SEED)
    return [
        *(Question("one fact", q.text, q.answer) for q in texts.questions("test", n_facts)),
        *_draw_paths(n_paths),
        *_draw_choices(pack, texts, n_others),
        *_draw_contexts(pack, n_others),
        *(Question("unknown name", q.text, "") for q in texts.strangers("test", n_others)),
    ]


def _draw_paths(count: int) -> Iterator[Question]:
    source = prepare(RELATIONAL_PLAN, WORLD, TextReader(MiniLM()), lambda _: None).pack
    rng = random.Random(SEED)
    for _ in range(count):
        example = source.draw(2, False, rng)
        yield Question("two facts", example.ask.question, example.expected)


def _draw_choices(pack: Pack, texts: Texts, count: int) -> Iterator[Question]:
    """Draw facts with candidates: the right one among other values of its relation."""
    rng = random.Random(SEED)
    relation_of = {item.answer: item.relation.id for item in pack.items()}
    for question in texts.questions("test", 4 * count)[-count:]:
        wrong_answers = [
            value
            for value, id in relation_of.items()
            if id == relation_of[question.answer] and value != question.answer
        ]
        candidates = [question.answer, *rng.sample(wrong_answers, min(N_CANDIDATES - 1, len(wrong_answers)))]
        rng.shuffle(candidates)
        yield Question("candidates", question.text, question.answer, {"candidates": candidates})


def _draw_contexts(pack: Pack, count: int) -> Iterator[Question]:
    """Draw questions about names that the pack does not hold, with a text that states their values."""
    rng = random.Random(SEED)
    phrasings, items = read_phrasings((3,)), list(pack.items())
    strangers = [stranger for stranger in pack.strangers if stranger.split == "test"]
    for stranger in rng.sample(strangers, min(count, len(strangers))):
        relation = pack.relations[stranger.relation_id]
        same = [name for name in strangers if name.relation_id == relation.id and name != stranger]
        subjects = [stranger, *rng.sample(same, min(N_STATEMENTS - 1, len(same)))]
        values = rng.sample(
            sorted({i.answer for i in items if i.relation.id == relation.id and "," not in i.answer}),
            len(subjects),
        )
        statements = [
            rng.choice(relation.statements).replace("{subject}", subject.subject).replace("{object}", value)
            for subject, value in zip(subjects, values, strict=True)
        ]
        rng.shuffle(statements)
        text = rng.choice(phrasings[relation.id].questions).replace("{subject}", stranger.subject)
        yield Question("context", text, values[0], {"context": " ".join(statements)})


def put(http: httpx.Client, model: str, questions: Sequence[Question]) -> list[Reply]:
    """Ask all questions, many at once; replies come in the order of the questions."""
    results: list[dict[str, Any]] = []
    for start in range(0, len(questions), BATCH):
        part = questions[start : start + BATCH]
        items = [{"question": q.text, "model": model, **q.fields} for q in part]
        response = http.post("/v1/answers/batch", json={"questions": items}).raise_for_status()
        results += response.json()["results"]
    return [
        Reply(question, None, "", 0.0)
        if (body := result["answer"]) is None
        else Reply(question, body["answer"], body["best"], body["score"])
        for question, result in zip(questions, results, strict=True)
    ]


def compare(replies: Mapping[str, Sequence[Reply]]) -> Iterator[Row]:
    """Compare what `auto` said with what each system said.

    Args:
        replies: By model, all to the same questions in the same order; one of the models is `auto`.
    """
    systems = [model for model in replies if model != AUTO]
    shares = {model: share_right(replies[model]) for model in replies}
    best = max(systems, key=lambda model: shares[model])
    note = "; ".join(f"{model} {share:.1f} %" for model, share in shares.items())
    yield Row(f"auto: right, of the best single system ({best})", shares[AUTO] / shares[best], ">= 1", note)
    for kind in dict.fromkeys(reply.question.kind for reply in replies[AUTO]):
        by_model = {
            model: share_right([reply for reply in replies[model] if reply.question.kind == kind])
            for model in replies
        }
        best = max(systems, key=lambda model: by_model[model])
        yield Row(
            f"auto: right, {kind}", by_model[AUTO], "", f"%; the best alone, {best}: {by_model[best]:.1f}"
        )
    statements = [reply for reply in replies[AUTO] if reply.answer or reply.best]
    error = calibration_error(
        [reply.score for reply in statements], [reply.is_best_right for reply in statements]
    )
    yield Row(
        "auto: calibration error", error, "<= 5", f"points, of {len(statements)} answers and best guesses"
    )


def share_right(replies: Sequence[Reply]) -> float:
    return 100 * sum(reply.is_right for reply in replies) / max(1, len(replies))


def _compare_time(http: httpx.Client, questions: Sequence[Question]) -> Row:
    """Measure `auto` against the slowest system of each question, one at a time."""
    rng, ratios, seconds = random.Random(SEED), list[float](), list[float]()
    for question in rng.sample(list(questions), N_TIMED):
        models = [*SYSTEMS, AUTO]
        rng.shuffle(models)
        taken_s = {model: _time(http, model, question) for model in models}
        seconds.append(taken_s.pop(AUTO))
        ratios.append(seconds[-1] / max(taken_s.values()))
    note = f"median of {N_TIMED} questions, one caller; {1e3 * statistics.median(seconds):.0f} ms"
    return Row(
        "auto: time of a question, of the slowest system's alone", statistics.median(ratios), "<= 1.5", note
    )


def _time(http: httpx.Client, model: str, question: Question) -> float:
    start = time.perf_counter()
    http.post("/v1/answers", json={"question": question.text, "model": model, **question.fields})
    return time.perf_counter() - start
