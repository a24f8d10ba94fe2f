"""Questions that no taught fact answers, over HTTP to `auto`: of each of sixty baths 23 things that are not given.

A third of the facts is imported, a third edited as questions and answers, a third given as facts. No weight, threshold
or rule follows from these names and wordings.
"""

import random
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import httpx
from errata import Errata
from errata.wire import EditItem, FactItem

from tests.bench.asking import AUTO, BATCH, TIMEOUT_S, Question, Reply, put, share_right
from tests.bench.processes import run_errata
from tests.bench.table import Row

SEED = 61
SYSTEMS = ("nkb", "kbert")
PLACES = (
    "Ardlow", "Bexmoor", "Calder Row", "Dunsop", "Ellerby", "Fosswick", "Garrowby", "Hesketh Lane", "Ingram",
    "Jarrow Green", "Kirkhaven", "Lythe", "Marrick", "Netherby", "Oswin Road", "Pentlow", "Quarrington", "Rushmere",
    "Saltby", "Thornholme", "Ulverdale", "Velland", "Wansford", "Yarrow", "Aldbeck", "Brampton Quay", "Corvedale",
    "Dalby", "Easby", "Fenwick",
)  # fmt: skip
KINDS = ("Baths", "Lido")
PEOPLE = "Ada Holm", "Bo Lind", "Cleo Marsh", "Dev Rao", "Elin Falk", "Finn Oduya", "Gwen Ito", "Hal Sorley"
TOWNS = "Ashcombe", "Birlow", "Crane Hill", "Dorvale", "Eskby", "Farrant"
FACTS = {  # question that a fact is taught by, and how visitors ask for it, by relation
    "town": ("In which town is {}?", "what town is {} in"),
    "Wednesday opening hours": (
        "When is {} open on Wednesday?",
        "What are the opening hours of {} on Wednesdays?",
    ),
    "Friday opening hours": ("When is {} open on Friday?", "{} opening times friday"),
    "Sunday opening hours": ("When is {} open on Sunday?", "Until when can I swim at {} on a Sunday?"),
    "adult admission fee": ("What does an adult pay at {}?", "How much is an adult ticket for {}?"),
    "child admission fee": ("What does a child pay at {}?", "How much do children pay to get into {}?"),
    "manager": ("Who is the manager of {}?", "Who manages {}?"),
    "year of opening": ("In which year did {} open?", "What year was {} opened?"),
    "phone number": ("What is the phone number of {}?", "How can I reach {} by phone?"),
}
MISSING_FACTS = {
    "a day": (
        "When is {} open on Monday?", "When is {} open on Tuesday?", "When is {} open on Thursday?",
        "When is {} open on Saturday?", "What time does {} close on Saturday?", "{} opening hours thursday",
        "is {} open mondays",
    ),
    "a price": (
        "What does a senior pay at {}?", "How much is a family ticket for {}?",
        "What does a student pay at {}?", "What does a yearly pass for {} cost?",
    ),
    "another fact": (
        "Who is the deputy manager of {}?", "Who was the previous manager of {}?", "Who built {}?",
        "What is the fax number of {}?", "What is the e-mail address of {}?", "In which year did {} close?",
        "How deep is the pool of {}?", "In which year was {} renovated?",
    ),
    "a name": (
        "Who is the manager of the {} Annex?", "When is the New {} open on Sunday?",
        "What is the phone number of the {} café?", "In which town is Old {}?",
    ),
}  # fmt: skip


def rows() -> Iterator[Row]:
    facts = draw_facts()
    questions = [
        Question("given", wording.format(name), facts[name][relation])
        for name in facts
        for relation, (_, wording) in FACTS.items()
    ]
    lacking = [
        Question(kind, wording.format(name), "")
        for name in facts
        for kind, wordings in MISSING_FACTS.items()
        for wording in wordings
    ]
    words = [word for name in SYSTEMS for word in ("--system", name)]
    with (
        tempfile.TemporaryDirectory(prefix="errata-bench-") as folder,
        run_errata(Path(folder), 1, *words) as server,
        httpx.Client(base_url=server.url, timeout=TIMEOUT_S) as http,
    ):
        key = (Path(folder) / "var" / "admin.key").read_text().strip()
        with Errata(server.url, key=key, timeout_s=TIMEOUT_S) as client:
            teach(client, facts)
        yield from _count_answered(put(http, AUTO, lacking))
        replies = put(http, AUTO, questions)
    n_wrong = sum(reply.answer is not None and not reply.is_right for reply in replies)
    note = f"%, of {len(questions)} single facts in other words than taught; {n_wrong} wrong"
    yield Row("given facts: right", share_right(replies), ">= 80", note)


def draw_facts() -> dict[str, dict[str, str]]:
    """Return the facts of each bath by relation, always the same."""
    rng = random.Random(SEED)
    names = [f"{place} {kind}" for place in PLACES for kind in KINDS]
    rng.shuffle(names)
    return {name: _draw_bath(rng) for name in names}


def _draw_bath(rng: random.Random) -> dict[str, str]:
    hours = [f"{rng.randrange(6, 12)}:00 to {rng.randrange(15, 22)}:30" for _ in range(3)]
    fees = f"{rng.randrange(6, 15)} euros", f"{rng.randrange(1, 6)} euros"
    phone = f"0{rng.randrange(10**8, 10**9)}"
    values = rng.choice(TOWNS), *hours, *fees, rng.choice(PEOPLE), str(rng.randrange(1870, 2015)), phone
    return dict(zip(FACTS, values, strict=True))


def teach(client: Errata, facts: dict[str, dict[str, str]]) -> None:
    """Teach a third of the baths by triples of the graph, a third by questions, a third by facts for all systems."""
    groups: list[list[EditItem | FactItem]] = [[], [], []]
    for place, (name, values) in enumerate(facts.items()):
        for relation, value in values.items():
            triple = {"subject": name, "relation": relation, "object": value, "create": True}
            question = FACTS[relation][0].format(name)
            items = (
                FactItem(**triple, only="graph"),
                EditItem(question=question, answer=value),
                FactItem(**triple),
            )
            groups[place % 3].append(items[place % 3])
    for group in groups:
        for start in range(0, len(group), BATCH):
            client.edit_many(group[start : start + BATCH])


def _count_answered(replies: Sequence[Reply]) -> Iterator[Row]:
    """Count the questions that are answered although no answer was given, all of them and by kind."""
    for kind in ("", *MISSING_FACTS):
        group = [reply for reply in replies if kind in ("", reply.question.kind)]
        share = 100 - share_right(group)
        name = f"not given, {kind}: answered" if kind else "not given: answered"
        yield Row(name, share, "" if kind else "<= 4", f"%, of {len(group)} questions about sixty things")
