"""Answers over two facts: from a large graph in Redis against a small one, and over HTTP against K-BERT.

Both graphs are made of blocks of facts: a person who was born in a city, and the city in its country. A question names
a person, so two of its facts lead to the answer.
"""

import asyncio
import random
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch

from models.graph.memory import GRAPH
from models.graph.view import GraphView
from models.memory import Views
from models.relational.system import RelationalSystem, load
from models.system import Ask, Reply
from service.graph.lookup import Lookup
from service.ledger.embedded.server import EmbeddedValkey
from tests.bench.graph import WORDS, fill, make_subject, open_lookup
from tests.bench.overhttp import measure_load
from tests.bench.processes import run_errata
from tests.bench.table import Row

SMALL, LARGE = 10_000, 1_000_000  # triples
FACTS_EACH = 10  # of a block
QUESTIONS = 200  # of each graph
QUESTION = "In which country is the place where {subject} was born?"
COUNTRIES = 150
LEAST_RIGHT = 0.8  # least share of answers; with fewer, the times would not be times of answers
ROUNDS, CALLERS = 5, 32
SERVICES = ("kbert", "relational")

Triple = tuple[str, str, str]


def rows() -> Iterator[Row]:
    yield asyncio.run(compare_graphs(SMALL, LARGE, QUESTIONS))
    yield compare_with_kbert(ROUNDS)


def make_blocks(triples: int) -> Iterator[Triple]:
    """Yield the facts of people and of the cities where they were born."""
    rng, words = random.Random(11), WORDS.split()
    for number in range(triples // FACTS_EACH):
        person, city = (make_subject(2 * number + place, rng, words) for place in (0, 1))
        yield person, "place_of_birth", city
        yield person, "date_of_birth", str(rng.randrange(1800, 2000))
        for relation in ("occupation", "height", "religion", "nickname", "salary", "eye_colour"):
            yield person, relation, f"{rng.choice(words)} {rng.randrange(10_000)}"
        yield city, "country", f"{rng.choice(words).title()}land {rng.randrange(COUNTRIES)}"
        yield city, "population", str(rng.randrange(1_000, 1_000_000))


async def compare_graphs(small: int, large: int, count: int) -> Row:
    """Answer questions one by one about people who were not asked for before, in turns on the two graphs."""
    system = load(torch.device("cpu"), torch.float32).system
    assert isinstance(system, RelationalSystem)
    with tempfile.TemporaryDirectory(prefix="errata-bench-") as name:
        folder = Path(name)
        with EmbeddedValkey(folder / "small") as first, EmbeddedValkey(folder / "large") as second:
            urls = {small: first.url, large: second.url}
            for size, url in urls.items():
                await fill(url, folder, make_blocks(size), "relational")
            lookups = {size: await open_lookup(url) for size, url in urls.items()}
            try:
                seconds = await _time_answers(system, lookups, count)
            finally:
                for _, _, ledger in lookups.values():
                    await ledger.aclose()
    medians = {size: statistics.median(times) for size, times in seconds.items()}
    note = f"{1e3 * medians[large]:.1f} ms against {1e3 * medians[small]:.1f} ms, {count} questions of each"
    return Row(
        f"p50 of an answer over two facts, {large:,} triples in Redis against {small:,}",
        medians[large] / medians[small],
        "<= 1.5",
        note,
    )


async def _time_answers(
    system: RelationalSystem, lookups: dict[int, tuple[Lookup, GraphView, object]], count: int
) -> dict[int, list[float]]:
    """Return the seconds of each answer, by the size of the graph."""
    rng, seconds = random.Random(3), {size: list[float]() for size in lookups}
    facts = {size: draw_people(size, count + 1, rng) for size in lookups}
    n_right = 0
    for number in range(count + 1):
        for size, (lookup, view, _) in lookups.items():
            person, country = facts[size][number]
            start = time.perf_counter()
            reply = await _answer(system, lookup, view, QUESTION.format(subject=person))
            if number:  # the first question of each graph warms the system
                seconds[size].append(time.perf_counter() - start)
                n_right += reply.best == country
    share = n_right / (count * len(lookups))
    assert share >= LEAST_RIGHT, f"only {100 * share:.0f} % of the answers are right: nothing is measured"
    return seconds


def draw_people(triples: int, count: int, rng: random.Random) -> Sequence[tuple[str, str]]:
    """Draw people of a graph, each with the country of the city where they were born."""
    city_of = {s: o for s, relation, o in make_blocks(triples) if relation == "place_of_birth"}
    country_of = {s: o for s, relation, o in make_blocks(triples) if relation == "country"}
    return [(person, country_of[city_of[person]]) for person in rng.sample(list(city_of), count)]


async def _answer(system: RelationalSystem, lookup: Lookup, view: GraphView, question: str) -> Reply:
    [ask] = (await lookup.inform([Ask(question)], [view], system.reach)).asks
    assert isinstance(ask, Ask), ask
    views: Views = {GRAPH: view}
    [reply] = system.answer([ask], [views])
    return reply


def compare_with_kbert(rounds: int) -> Row:
    """Ask both systems of one server the same questions over HTTP, in turns."""
    options = [option for name in SERVICES for option in ("--system", name)]
    rates: dict[str, list[float]] = {name: [] for name in SERVICES}
    with (
        tempfile.TemporaryDirectory(prefix="errata-bench-") as name,
        run_errata(Path(name), 1, *options) as server,
    ):
        for _ in range(rounds):
            for model in SERVICES:
                run = measure_load(f"{server.url}/v1/answers", CALLERS, fields={"model": model})
                rates[model].append(run["per_second"])
    kbert, relational = (statistics.median(rates[model]) for model in SERVICES)
    note = f"{relational:.0f} against {kbert:.0f} per s; questions about one fact"
    return Row(f"relational over HTTP, {CALLERS} callers, against kbert", relational / kbert, ">= 0.5", note)
