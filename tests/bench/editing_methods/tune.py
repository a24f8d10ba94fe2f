"""Each peer over its grid of settings, on the tuning facts: what a method is run with is the best of grids.jsonl.

Half of the tuning facts are edited one after the other, the rest are bystanders. The best has the largest mean of
reliability, generalisation and locality (the mean of the three kinds). What is known of the present code and weights
is not measured again.
"""

import argparse
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch

from models.nkb.reader import Reader
from models.packs.pack import Pack
from tests.bench.editing_methods import draw, grids, material, results
from tests.bench.editing_methods.cells import Cells
from tests.bench.editing_methods.editors import Editor
from tests.bench.editing_methods.lookups import LookupEditor
from tests.bench.editing_methods.model import Model
from tests.bench.editing_methods.peers import Edits, Peer
from tests.bench.editing_methods.score import Counts, count_answers

SEED, HALF = 1, draw.TUNING // 2
SAMPLE = replace(draw.SMALL, all_forms=0)  # one paraphrase of each edit


def remaining_settings(cells: Cells, names: list[str]) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield the settings of each grid without a result of the present code and weights."""
    last_results = grids.read_results()
    for name in names:
        for settings in grids.GRIDS[name].settings():
            result = last_results.get((name, grids.key(settings)))
            if result is None or result["rests_on"] != cells.rests_on(name):
                yield name, settings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--methods", nargs="+", choices=grids.GRIDS, default=list(grids.GRIDS))
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    model, pack = Model(Reader.load()), Pack.load()
    facts, cells = draw.split_facts(pack, SEED), Cells(model, pack, SAMPLE)
    answers = draw.Answers(list(pack.items()))
    (stream,) = draw.draw_streams(facts.tuning, HALF, SEED, model.base, answers, SAMPLE)
    settings_left = list(remaining_settings(cells, args.methods))
    bank, edits = None, Edits(model)
    for name, settings in settings_left:
        start = time.perf_counter()
        method = grids.GRIDS[name].make(**settings)
        if name in grids.LOOKUP_GRIDS:
            editor: Editor = LookupEditor(model, method)
        else:
            bank = bank or material.build_bank(model, facts.reference)
            editor = Peer(model, bank, method, edits)
        counts = Counts()
        count_answers(editor.apply(stream.requests), stream, model.base, counts, SAMPLE)
        result = {"method": name, "settings": settings, "rests_on": cells.rests_on(name), **summarise(counts)}
        results.append(grids.FILE, result)
        print(f"{time.perf_counter() - start:.0f} s: {result}", flush=True)


def summarise(counts: Counts) -> dict[str, Any]:
    """Return the score of a setting, and the shares that it is the mean of, in per cent."""
    names = ("reliability", "generalisation", *draw.KINDS)
    shares = {name: round(_share(counts, name), 1) for name in names}
    locality = sum(shares[kind] for kind in draw.KINDS) / len(draw.KINDS)
    score = (shares["reliability"] + shares["generalisation"] + locality) / 3
    return {"score": round(score, 2), "shares": shares}


def _share(counts: Counts, name: str) -> float:
    pairs = [counts[key] for key in counts if key == name or key.startswith(f"{name}, ")]
    return 100 * sum(right for right, _ in pairs) / sum(n_asked for _, n_asked in pairs)


if __name__ == "__main__":
    main()
