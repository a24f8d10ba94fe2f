"""`make bench-editing`: how well edits hold, spread and spare others, cell by cell, smallest sizes first."""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate, product
from pathlib import Path
from typing import Any

import torch

from models.nkb.reader import Reader
from models.packs.pack import Pack
from models.scope.locality import Locality
from tests.bench.editing_methods import draw
from tests.bench.editing_methods.editors import edit_cache, edit_product
from tests.bench.editing_methods.score import Base, score
from tests.bench.editing_methods.sets import READERS, read_set

PRODUCT, CACHE = "gated", "cosine cache"
EDITORS = {PRODUCT: edit_product, CACHE: edit_cache}
FACTS, UNSEEN_NAMES = "facts", "unseen names"
SIZES, SEEDS = (1, 10, 100, 1_000, 10_000), (1, 2, 3)
Cell = dict[str, Any]
KEY = ("method", "workload", "n", "seed", "sample", "checkpoint")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--methods", nargs="+", choices=EDITORS, default=[PRODUCT])
    workloads = (FACTS, UNSEEN_NAMES, *READERS)
    parser.add_argument("--workloads", nargs="+", choices=workloads, default=workloads[:2])
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES)
    parser.add_argument("--seeds", nargs="+", type=int, default=SEEDS)
    parser.add_argument("--sample", choices=draw.SAMPLES, default="full", help="how much a cell scores")
    parser.add_argument("--sets", type=Path, default=Path(), help="the folder of sets of other people")
    parser.add_argument(
        "--results", type=Path, default=Path("build/editing.jsonl"), help="where cells are kept"
    )
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    reader, pack, sample = Reader.load(), Pack.load(), draw.SAMPLES[args.sample]
    args.results.parent.mkdir(parents=True, exist_ok=True)
    base = make_base(reader)
    for n, seed, workload, method in product(args.sizes, args.seeds, args.workloads, args.methods):
        cell = dict(zip(KEY, (method, workload, n, seed, sample.name, reader.digest_with_judge), strict=True))
        if not any(all(old[key] == cell[key] for key in KEY) for old in read_cells(args.results)):
            streams = list(draw_streams(workload, pack, n, seed, base, sample, args.sets))
            cell["counts"] = score(partial(EDITORS[method], reader), streams, base, sample)
            with args.results.open("a") as file:
                file.write(json.dumps(cell) + "\n")
            print(describe(cell), flush=True)
    locality = find_locality(read_cells(args.results), reader.digest_with_judge)
    if set(SIZES) <= {*locality.edits}:
        locality.save(reader.folder)


def make_base(reader: Reader) -> Base:
    """Return what the unedited model says, each question asked once."""
    model, answers = edit_product(reader, ()), dict[str, str]()

    def say(questions: Sequence[str]) -> list[str]:
        new = list(dict.fromkeys(question for question in questions if question not in answers))
        answers.update((q, reply.best) for q, reply in zip(new, model.say(new), strict=True))
        return [answers[question] for question in questions]

    return say


def draw_streams(
    workload: str, pack: Pack, n: int, seed: int, base: Base, sample: draw.Sample, sets: Path
) -> Iterator[draw.Stream]:
    if workload in READERS:
        yield read_set(workload, n, seed, sets)
        return
    is_unseen, answers = workload == UNSEEN_NAMES, draw.Answers(list(pack.items()))
    items = draw.draw_unseen_items(pack, seed) if is_unseen else draw.split_facts(pack, seed).test
    yield from draw.draw_streams(items, n, seed, base, answers, sample)


def read_cells(path: Path) -> list[Cell]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


def find_locality(cells: Sequence[Mapping[str, Any]], checkpoint: str) -> Locality:
    """Return the worst of near questions and seeds, up to each number of edits, of the product in full."""
    about = {"method": PRODUCT, "sample": draw.FULL.name, "checkpoint": checkpoint}
    worst: dict[int, float] = {}
    for cell in (cell for cell in cells if about.items() <= cell.items()):
        for right, n_asked in (cell["counts"].get(kind, (0, 0)) for kind in draw.KINDS[:2]):
            if n_asked:
                worst[cell["n"]] = min(round(100 * right / n_asked, 2), worst.get(cell["n"], 100.0))
    return Locality(checkpoint, sorted(worst), list(accumulate((worst[n] for n in sorted(worst)), min)))


def describe(cell: Mapping[str, Any]) -> str:
    """Describe a cell in one line."""
    shares = (
        f"{name} {100 * right / n_asked:.1f}" for name, (right, n_asked) in cell["counts"].items() if n_asked
    )
    return f"{', '.join(str(cell[key]) for key in KEY[:5])}: {', '.join(shares)}"


if __name__ == "__main__":
    main()
