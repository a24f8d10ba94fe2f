"""How much memory a process takes with a model in it, and how much each edit adds."""

import resource
from collections.abc import Iterator

from models.nkb.system import NkbSystem
from models.system import Correction
from tests.bench.questions import questions
from tests.bench.table import Row

EDITS = 64


def rows() -> Iterator[Row]:
    system = NkbSystem.load()
    yield Row(
        "memory of a process with one model",
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "",
        "MB",
    )
    corrections = [Correction(str(n), q, "Cusco") for n, q in enumerate(questions(EDITS))]
    sizes = [len(material.block.encoded) for material in system.edit(corrections, "gated")]
    yield Row("rows of one gated edit", sum(sizes) / len(sizes) / 1024, "", "kB, answer of two words")
