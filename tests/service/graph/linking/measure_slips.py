"""How many right questions are said to misspell a name, and how many misspelt ones are found.

    python -m tests.service.graph.linking.measure_slips [FILE ...]

The pack's own questions, each with its first wording; the same with one slip in the subject; and the questions of
files of JSON lines (fields `question`, `prompt` or `wording`), whose subjects are mostly not in the pack.
"""

import json
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import process_time

from models.encoder import weights
from models.graph.base import Base
from models.packs.pack import WORLD, Item, Pack
from models.scope.spelling import MIN_LETTERS, resembling
from service.graph.linking.linker import Linker
from service.graph.lookup import _names_in

SEED = 34
FIELDS = ("question", "prompt", "wording")


def main() -> None:
    linker = Linker()
    linker.add(list(_names_in(Base.of(WORLD).statements)))
    tokenizer = weights.find().tokenizer()

    def report(name: str, questions: Sequence[str]) -> None:
        begin = process_time()
        slips = [
            linker.find_slips(question, lambda word: tokenizer.token_to_id(word) is not None)
            for question in questions
        ]
        each_ms = (process_time() - begin) / len(questions) * 1000
        hits = [(question, of[0].name) for question, of in zip(questions, slips, strict=True) if of]
        share = f"{100 * len(hits) / len(questions):.2f} %"
        print(f"{name}: {len(hits):,} of {len(questions):,} ({share}), {each_ms:.2f} ms each")
        for question, similar in random.Random(SEED).sample(hits, min(12, len(hits))):
            print(f"    {question} -> {similar}")

    items = list(Pack.load().items())
    report("the pack's questions", [item.relation.question(item.subject.label) for item in items])
    report("with one slip in a word of the subject", list(_misspell(items)))
    for file in map(Path, sys.argv[1:]):
        lines = map(json.loads, file.read_text().splitlines())
        report(file.name, [next(line[field] for field in FIELDS if field in line) for line in lines])


def _misspell(items: Sequence[Item]) -> Iterator[str]:
    chance = random.Random(SEED)
    for item in chance.sample(items, 2_000):
        words = item.subject.label.split()
        places = [place for place, word in enumerate(words) if word.isalpha() and len(word) >= MIN_LETTERS]
        if places:
            place = chance.choice(places)
            words[place] = chance.choice(list(resembling(words[place].lower())))
            yield item.relation.question(" ".join(words))


if __name__ == "__main__":
    main()
