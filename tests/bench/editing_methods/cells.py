"""The cells of the scoreboard: each is one method, one workload, one number of edits and one seed.

A cell is keyed by a digest of what answers: the code of the method, of the model below it and of what hands edits to
both, and their weights. What has another digest is measured again.
"""

import hashlib
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import torch

from models.checkpoint import CONFIG, WEIGHTS, read_verified
from models.nkb.reader import DEFAULT, TOKENIZER
from models.packs.pack import Item, Pack
from tests.bench.editing_methods import draw, paper
from tests.bench.editing_methods.digests import digest_code
from tests.bench.editing_methods.editors import Editor, Product
from tests.bench.editing_methods.lookups import LookupEditor
from tests.bench.editing_methods.methods import nearest
from tests.bench.editing_methods.model import Model
from tests.bench.editing_methods.score import score
from tests.bench.editing_methods.sets import READERS, SETS, read_set
from tests.bench.editing_methods.settings import LOOKUPS

PRODUCT, SURGERY = "gated", "surgery"
METHODS = (PRODUCT, *(lookup.name for lookup in LOOKUPS))
FACTS, UNSEEN_NAMES = "facts", "unseen names"
WORKLOADS = (FACTS, UNSEEN_NAMES, *READERS)
MODEL_CODE = (
    "models.encoder.minilm",
    "models.nkb.backbone",
    "models.nkb.decode",
    "models.nkb.trace",
)
READER = "models.nkb.reader"  # it imports the judge, which only the product reads
HARNESS = "tests.bench.editing_methods"
METHOD_CODE = {
    PRODUCT: ("models.nkb.system", "models.nkb.memory", f"{HARNESS}.model", f"{HARNESS}.editors"),
    SURGERY: ("models.nkb.surgery", f"{HARNESS}.model", f"{HARNESS}.paper"),
    **{
        method.name: (type(method).__module__, f"{HARNESS}.model", f"{HARNESS}.lookups") for method in LOOKUPS
    },
}
# Modules that import what answers in other methods too: they count without it
NOT_FOLLOWED = {f"{HARNESS}.{name}" for name in ("model", "lookups", "editors")}
Cell = dict[str, Any]


class Cells:
    """All methods on one model and one pack.

    Args:
        model: The model.
        pack: The pack, whose facts are edited.
        sample: How much a cell scores.
        sets: The folder of the editing sets.
    """

    def __init__(self, model: Model, pack: Pack, sample: draw.Sample = draw.FULL, sets: Path = SETS) -> None:
        self._model, self._pack, self._sample, self._sets = model, pack, sample, sets
        self._answers = draw.Answers(list(pack.items()))
        self._streams: tuple[tuple[str, int, int], list[draw.Stream]] | None = None
        self._decoder_digest = read_verified(DEFAULT, (CONFIG, WEIGHTS, TOKENIZER)).digest

    def score(self, name: str, workload: str, n: int, seed: int) -> Cell:
        start = time.perf_counter()
        streams, editor = self._streams_of(workload, n, seed), self._editor(name)
        scores = score(editor, streams, self._model.base, self._sample)
        figures = {key: round(value, 4) for key, value in scores.figures.items()}
        seconds = round(time.perf_counter() - start, 1)
        about = {"counts": scores.counts, "figures": figures, "seconds": seconds}
        return self._cell(name, workload, str(n), seed, **about)

    def paper(self, seed: int) -> Iterator[Cell]:
        trials = paper.draw_trials(self._model, self._test(seed), self._answers, seed)
        for place, (name, counts) in enumerate(paper.count_cells(self._model, trials)):
            yield self._cell(name, FACTS, "paper", seed, counts=counts, place=place)

    @property
    def sample(self) -> draw.Sample:
        """How much a cell scores."""
        return self._sample

    def rests_on(self, name: str) -> str:
        """Return the digest of what answers in a cell, "" of a method whose code is gone; peers read no judge."""
        method = name.partition(",")[0]
        if method not in METHOD_CODE:
            return ""
        weights = self._model.reader.digest_with_judge if method == PRODUCT else self._decoder_digest
        if method == "serac":
            weights += hashlib.sha256(nearest.WEIGHTS.read_bytes()).hexdigest()
        parts = f"{_digest_method(method)} {weights}"
        return "sha256:" + hashlib.sha256(parts.encode()).hexdigest()

    def _cell(self, name: str, workload: str, n: str, seed: int, **figures: Any) -> Cell:
        about = {
            "method": name,
            "workload": workload,
            "n": n,
            "seed": seed,
            "settings": settings(name),
            "rests_on": self.rests_on(name),
            "sample": self._sample.name,
        }
        at = datetime.now(UTC).isoformat(timespec="seconds")
        return {**about, **figures, "threads": torch.get_num_threads(), "at": at}

    def _editor(self, name: str) -> Editor:
        lookups = {lookup.name: lookup for lookup in LOOKUPS}
        return Product(self._model) if name == PRODUCT else LookupEditor(self._model, lookups[name])

    def _streams_of(self, workload: str, n: int, seed: int) -> Sequence[draw.Stream]:
        """Return the streams of a cell; those of the last one stay: the next method makes the same edits."""
        if self._streams is None or self._streams[0] != (workload, n, seed):
            self._streams = (workload, n, seed), list(self._draw_streams(workload, n, seed))
        return self._streams[1]

    def _draw_streams(self, workload: str, n: int, seed: int) -> Iterator[draw.Stream]:
        if workload in READERS:
            yield read_set(workload, n, seed, self._sets)
            return
        is_unseen = workload == UNSEEN_NAMES
        items = draw.draw_unseen_items(self._pack, seed) if is_unseen else self._test(seed)
        yield from draw.draw_streams(items, n, seed, self._model.base, self._answers, self._sample)

    def _test(self, seed: int) -> Sequence[Item]:
        return draw.split_facts(self._pack, seed).test


@cache
def _digest_method(name: str) -> str:
    return digest_code(
        [*MODEL_CODE, *METHOD_CODE[name]], NOT_FOLLOWED | (set() if name == PRODUCT else {READER})
    )


def settings(name: str) -> dict[str, Any]:
    """Return the settings of a method, as they are recorded with each result; none for what takes none."""
    return next((vars(method) for method in LOOKUPS if method.name == name), {})
