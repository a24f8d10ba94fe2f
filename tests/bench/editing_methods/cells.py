"""The cells of the scoreboard: each is one method, one number of edits and one seed."""

import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import torch

from models.checkpoint import CONFIG, WEIGHTS, verify_sums
from models.nkb.reader import DEFAULT, TOKENIZER
from models.packs.pack import Item, Pack
from tests.bench.bank import nkb_of
from tests.bench.editing_methods import draw, material, paper
from tests.bench.editing_methods.editors import Editor, Product
from tests.bench.editing_methods.methods.method import Bank
from tests.bench.editing_methods.model import Model
from tests.bench.editing_methods.peers import Edits, Peer, Surgery
from tests.bench.editing_methods.score import score
from tests.bench.editing_methods.settings import PEERS

PRODUCT, UNSEEN_NAMES, SURGERY = "gated", "gated, unseen names", "surgery"
PRODUCTS = (PRODUCT, UNSEEN_NAMES)
METHODS = (*PRODUCTS, SURGERY, *(method.name for method in PEERS))
Cell = dict[str, Any]


class Cells:
    """All methods on one model and one pack."""

    def __init__(self, model: Model, pack: Pack) -> None:
        self._model, self._pack = model, pack
        self._answers = draw.Answers(list(pack.items()))
        self._banks: dict[int, Bank] = {}
        self._streams: tuple[tuple[bool, int, int], list[draw.Stream]] | None = None
        self._edits = Edits(model)
        _, memory = nkb_of(model.reader)
        self._surgery = Surgery(memory)
        self._peers_rest_on = verify_sums(DEFAULT, (CONFIG, WEIGHTS, TOKENIZER))

    def score(self, name: str, n: int, seed: int) -> Cell:
        start = time.perf_counter()
        streams, editor = self._streams_of(name == UNSEEN_NAMES, n, seed), self._editor(name, seed)
        scores = score(editor, streams, self._model.base)
        figures = {key: round(value, 4) for key, value in scores.figures.items()}
        seconds = round(time.perf_counter() - start, 1)
        return self._cell(name, str(n), seed, counts=scores.counts, figures=figures, seconds=seconds)

    def paper(self, seed: int) -> Iterator[Cell]:
        trials = paper.draw_trials(self._model, self._test(seed), self._answers, seed)
        for place, (name, counts) in enumerate(paper.count_cells(self._model, trials)):
            yield self._cell(name, "paper", seed, counts=counts, place=place)

    def rests_on(self, name: str) -> str:
        """Return a digest of all that a cell depends on; the peers do not use the product's judge."""
        return self._model.reader.digest_with_judge if name in PRODUCTS else self._peers_rest_on

    def _cell(self, name: str, n: str, seed: int, **figures: Any) -> Cell:
        about = {
            "method": name,
            "n": n,
            "seed": seed,
            "settings": settings(name),
            "rests_on": self.rests_on(name),
        }
        at = datetime.now(UTC).isoformat(timespec="seconds")
        return {**about, **figures, "threads": torch.get_num_threads(), "at": at}

    def _editor(self, name: str, seed: int) -> Editor:
        if name in PRODUCTS:
            return Product(self._model)
        method = self._surgery if name == SURGERY else next(peer for peer in PEERS if peer.name == name)
        if seed not in self._banks:
            self._banks[seed] = material.build_bank(self._model, draw.split_facts(self._pack, seed).reference)
        return Peer(self._model, self._banks[seed], method, self._edits)

    def _streams_of(self, unseen_names: bool, n: int, seed: int) -> Sequence[draw.Stream]:
        """Return the streams of a cell; they are kept, because the next method makes the same edits."""
        if self._streams is None or self._streams[0] != (unseen_names, n, seed):
            items = draw.draw_unseen_items(self._pack, seed) if unseen_names else self._test(seed)
            streams = draw.draw_streams(items, n, seed, self._model.base, self._answers)
            self._streams = (unseen_names, n, seed), list(streams)
            self._edits.forget()
        return self._streams[1]

    def _test(self, seed: int) -> Sequence[Item]:
        return draw.split_facts(self._pack, seed).test


def settings(name: str) -> dict[str, Any]:
    """Return settings as they are stored with each result; none for a method without any."""
    return next((vars(peer) for peer in PEERS if peer.name == name), {})
