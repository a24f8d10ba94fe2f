"""Questions whose order decides, and questions that only look like a fact of the pack, over HTTP."""

import json
import random
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from errata import Errata
from errata.wire import EditItem

from models.training.scope.order.frames import put_names, split_frames
from models.training.scope.training import PLAN
from tests.bench.processes import run_errata
from tests.bench.table import Row

LOOKALIKES = Path(__file__).parents[2] / "models/training/scope/lookalike.jsonl"
SYSTEMS = ("nkb", "kbert")
N_PAIRS = 60
TIMEOUT_S = 120.0


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory(prefix="errata-bench-") as name, run_errata(Path(name), 1) as server:
        key = (Path(name) / "var" / "admin.key").read_text().strip()
        with Errata(server.url, key=key, timeout_s=TIMEOUT_S) as client:
            for system in SYSTEMS:
                yield from _measure_lookalikes(client, system)
            yield from _measure_second_direction(client)


def _measure_lookalikes(client: Errata, system: str) -> Iterator[Row]:
    lines = [json.loads(line) for line in LOOKALIKES.read_text("utf-8").splitlines()]
    answers = [client.ask(line["question"], model=system).answer for line in lines]
    for is_control, name, bar in ((False, "declined", ">= 80"), (True, "controls right", ">= 90")):
        part = [
            answer == line["answer"]
            for answer, line in zip(answers, lines, strict=True)
            if (line["answer"] is not None) == is_control
        ]
        yield Row(
            f"{system}, what only looks like a fact: {name}",
            100 * sum(part) / len(part),
            bar,
            f"% of {len(part)}",
        )


def _measure_second_direction(client: Errata) -> Iterator[Row]:
    """Teach one direction of questions about two names, ask the other, teach it, and ask both word for word."""
    pairs = list(draw_directions(N_PAIRS))
    for place, (question, _) in enumerate(pairs):
        client.edit_many([EditItem(question=question, answer=f"Answer {place} 0", model="nkb")])
    answers = [client.ask(other, model="nkb").answer or "" for _, other in pairs]
    n_taken = sum(answer.startswith("Answer") for answer in answers)
    yield Row(
        "names exchanged in the same words: answered by the edit", 100 * n_taken / len(pairs), "<= 8", "%"
    )
    for place, (_, other) in enumerate(pairs):
        client.edit_many([EditItem(question=other, answer=f"Answer {place} 1", model="nkb")])
    n_lost = sum(
        client.ask(question, model="nkb").answer != f"Answer {place} {direction}"
        for place, questions in enumerate(pairs)
        for direction, question in enumerate(questions)
    )
    yield Row("edits lost when the second direction is taught", n_lost, "<= 0", f"of {2 * len(pairs)}")


def draw_directions(count: int) -> Iterator[Sequence[str]]:
    """Yield a question about two names, and the one with the names exchanged, of kinds that were not trained on."""
    frames, rng = split_frames(PLAN.seed)[2], random.Random(PLAN.seed)
    asymmetric = [frame for frame in frames.frames if not frame.is_symmetric]
    for number in range(count):
        frame = asymmetric[number % len(asymmetric)]
        wording, names = rng.choice(rng.choice(frame.wordings)), frames.draw_names(frame, rng)
        yield put_names(wording, *names), put_names(wording, *names[::-1])
