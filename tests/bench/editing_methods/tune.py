"""Each peer over a grid of settings, on the tuning facts: what settings.py holds was read off this table.

Half of the tuning facts are edited one after the other, the rest are bystanders. The choice is the largest mean of
reliability, generalisation and locality (the mean of the three kinds).
"""

import argparse
from collections.abc import Iterator

import torch

from models.nkb.reader import Reader
from models.packs.pack import Pack
from tests.bench.editing_methods import draw, material
from tests.bench.editing_methods.methods.alphaedit import AlphaEdit
from tests.bench.editing_methods.methods.codebook import Grace
from tests.bench.editing_methods.methods.decoder_slots import DecoderSlots
from tests.bench.editing_methods.methods.fine_tuning import FineTuning
from tests.bench.editing_methods.methods.least_squares import LeastSquares
from tests.bench.editing_methods.methods.memit import Memit
from tests.bench.editing_methods.methods.method import Method
from tests.bench.editing_methods.model import Model
from tests.bench.editing_methods.peers import Edits, Peer
from tests.bench.editing_methods.score import Counts, count_answers

SEED, HALF = 1, draw.TUNING // 2


def grid() -> Iterator[Method]:
    for weight in (1.0, 10.0, 30.0, 100.0, 300.0, 1_000.0):
        yield Memit("memit", weight, remember=False)
        yield Memit("previous keys", weight, remember=True)
    for theta in (2e-3, 2e-2, 1e-1):
        for ridge in (10.0, 1.0, 0.1):
            yield AlphaEdit(theta, ridge)
    yield from (LeastSquares(lam) for lam in (10.0, 100.0, 300.0, 1_000.0))
    for tau_min in (0.5, 0.65, 0.7, 0.75, 0.8):
        yield from (DecoderSlots(tau_min, q) for q in (0.05, 0.1, 0.2, 0.3))
    yield from (Grace(radius) for radius in (4.0, 8.0, 10.0, 12.0, 14.0, 17.0))
    for rate in (1e-4, 1e-3, 5e-3):
        for steps in (5, 20):
            yield FineTuning(rate, steps)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--methods", nargs="+")
    names = parser.parse_args().methods
    torch.set_num_threads(1)
    model, pack = Model(Reader.load()), Pack.load()
    facts = draw.split_facts(pack, SEED)
    (stream,) = draw.draw_streams(facts.tuning, HALF, SEED, model.base, draw.Answers(list(pack.items())))
    bank, edits = material.build_bank(model, facts.reference), Edits(model)
    for method in grid():
        if names is None or method.name in names:
            counts = Counts()
            count_answers(Peer(model, bank, method, edits).apply(stream.requests), stream, model.base, counts)
            print(f"{_summarise(counts)}  {method}", flush=True)


def _summarise(counts: Counts) -> str:
    reliability, generalisation = _share(counts, "reliability"), _share(counts, "generalisation")
    kinds = [_share(counts, kind) for kind in draw.KINDS]
    locality = sum(kinds) / len(kinds)
    shares = " ".join(f"{share:5.1f}" for share in (reliability, generalisation, *kinds))
    return f"{(reliability + generalisation + locality) / 3:5.1f} = {shares}"


def _share(counts: Counts, name: str) -> float:
    pairs = [counts[key] for key in counts if key == name or key.startswith(f"{name}, ")]
    return 100 * sum(right for right, _ in pairs) / sum(n_asked for _, n_asked in pairs)


if __name__ == "__main__":
    main()
