"""A T5 from a folder beside `nkb`, over HTTP: the same hundred edits of both, each own question and its paraphrases.

The T5 is small, with random weights and a vocabulary of its own. Edits are facts of the pack, in phrasings that no
weight and no threshold has read, and QAEdit's real questions, where the editing sets lie beside the repository.
"""

import random
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from errata import Errata
from errata.wire import Answer, EditItem

from models.packs.pack import Pack
from tests.bench.editing_methods.draw import Answers, EditRequest, draw_request, split_facts
from tests.bench.editing_methods.sets import OTHER_QUESTIONS, SETS, read_set
from tests.bench.processes import run_errata
from tests.bench.table import Row
from tests.models.nkb.small_t5 import write_small_t5

N_EDITS, SEED = 100, 23
NKB, T5 = "nkb", "flan"
BATCH = 256  # questions of one request
TIMEOUT_S = 300.0
RELIABILITY_BAR = ">= 99"


@dataclass(frozen=True)
class Shares:
    """What one system makes of the edits, in per cent.

    Attributes:
        reliability: Own questions with the answer of their edit; a refused edit has none.
        paraphrases: The same of the paraphrases.
        wrongly_answered: Other questions that an edit answers.
    """

    reliability: float
    paraphrases: float
    wrongly_answered: float


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory(prefix="errata-bench-") as name:
        folder = Path(name)
        t5 = write_small_t5(folder / "small")
        systems = ("--system", NKB, "--system", f"{T5}=models.nkb.hub:load?path={t5}")
        with run_errata(folder, 1, *systems) as server:
            key = (folder / "var" / "admin.key").read_text().strip()
            with Errata(server.url, key=key, timeout_s=TIMEOUT_S) as client:
                yield from _compare(client, "facts of the pack", *_draw_facts())
                if SETS.is_dir():
                    stream = read_set("QAEdit", N_EDITS, SEED)
                    yield from _compare(client, "QAEdit", stream.requests, stream.bystanders[OTHER_QUESTIONS])


def _draw_facts() -> tuple[list[EditRequest], list[str]]:
    """Return edits of facts of the pack, and questions about other facts."""
    pack, rng = Pack.load(), random.Random(SEED)
    items = rng.sample(split_facts(pack, SEED).test, 2 * N_EDITS)
    answers = Answers(list(pack.items()))
    requests = [
        draw_request(item, str(place), answers, item.answer, rng)
        for place, item in enumerate(items[:N_EDITS])
    ]
    return requests, [item.relation.question(item.subject.label) for item in items[N_EDITS:]]


def _compare(
    client: Errata, name: str, requests: Sequence[EditRequest], other_questions: Sequence[str]
) -> Iterator[Row]:
    shares: Mapping[str, Shares] = {
        model: _measure(client, model, requests, other_questions) for model in (T5, NKB)
    }
    t5, nkb = shares[T5], shares[NKB]
    n_paraphrases = sum(len(request.paraphrases) for request in requests)
    yield Row(
        f"T5 of a folder, {name}: own questions",
        t5.reliability,
        RELIABILITY_BAR,
        f"% of {len(requests)} edits; nkb {nkb.reliability:.1f}",
    )
    yield Row(
        f"T5 of a folder, {name}: paraphrases",
        t5.paraphrases,
        f">= {nkb.paraphrases:.1f}",
        f"% of {n_paraphrases}; the bar is nkb's share",
    )
    yield Row(
        f"T5 of a folder, {name}: others answered by an edit",
        t5.wrongly_answered,
        f"<= {nkb.wrongly_answered:.1f}",
        f"% of {len(other_questions)} other questions; the bar is nkb's share",
    )


def _measure(
    client: Errata, model: str, requests: Sequence[EditRequest], other_questions: Sequence[str]
) -> Shares:
    """Make the edits in one commit, ask the system, and take the commit back."""
    edits = [EditItem(question=r.question, answer=r.answer, model=model) for r in requests]
    client.edit_many(edits, skip_refused=True)
    paraphrases = [(text, request.answer) for request in requests for text in request.paraphrases]
    shares = Shares(
        _count_right(client, model, [(request.question, request.answer) for request in requests]),
        _count_right(client, model, paraphrases),
        100 * sum(bool(reply.edits) for reply in _ask(client, model, other_questions)) / len(other_questions),
    )
    client.rollback(0)
    return shares


def _count_right(client: Errata, model: str, expected: Sequence[tuple[str, str]]) -> float:
    """Return how many of the questions have the expected answer, in per cent."""
    replies = _ask(client, model, [question for question, _ in expected])
    pairs = zip(replies, expected, strict=True)
    return 100 * sum(reply.answer == answer for reply, (_, answer) in pairs) / len(expected)


def _ask(client: Errata, model: str, questions: Sequence[str]) -> list[Answer]:
    replies: list[Answer] = []
    for start in range(0, len(questions), BATCH):
        results = client.ask_many(questions[start : start + BATCH], model=model).results
        for result in results:
            assert result.answer is not None, result.problem
            replies.append(result.answer)
    return replies
